// Segments: the parts of a run that was stopped and went on, each one start of the program.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {

// What one segment did, and what it cost.
struct SegmentCost {
  int ranks = 1;
  std::string communicator;
  std::string partition;
  std::int64_t begin_ps = 0;  // simulated time from which it went on
  std::int64_t end_ps = 0;    // and to which it came, as far as it counts
  double wall_s = 0;          // of the simulation itself
  double cpu_s = 0;           // of all ranks, whole process
  double waiting_s = 0;       // mean over ranks
  std::uint64_t windows = 0;  // of the rank with most
  std::uint64_t rounds = 0;
  std::uint64_t waits = 0;  // of the rank with most
  std::uint64_t remote_events = 0;
};

// Good rows by table.
using RowCounts = std::map<std::string, std::uint64_t, std::less<>>;

struct Segment {
  std::uint32_t number = 0;  // names its files
  SegmentCost cost;
  std::vector<RowCounts> rows;  // [ranks] of its traces; empty: all committed rows are good
};

// One trace of a run.
struct TracePart {
  std::string name;  // relative to the run folder
  std::uint32_t segment = 0;
  int rank = 0;
  std::optional<RowCounts> rows;  // none: all committed rows are good

  // Good rows of a table that has `committed` rows. Zero for a table the counts do not know.
  std::uint64_t good_rows(std::string_view table, std::uint64_t committed) const;
};

// Traces of a run, segment after segment and rank after rank.
std::vector<TracePart> trace_parts(const std::vector<Segment>& segments);
// Those of a run of one segment.
std::vector<TracePart> trace_parts(int ranks);

// segments.json: there once a run has gone on, so that its traces can be read before it ends. Of
// the last segment all committed rows count. Throws IoError.
void write_segments(const std::string& folder, const std::vector<Segment>& segments);
// None where the run has not gone on. Throws IoError when the file is damaged.
std::vector<Segment> read_segments(const std::string& folder);

// A trace does not hold the rows that it should, or cannot be read.
class DamagedTrace : public IoError {
 public:
  using IoError::IoError;
};

enum class Losses { refused, accepted };

struct SettledTrace {
  RowCounts rows;    // good rows by table
  std::string loss;  // "trace.00001.h5: table 'operators' has 120 good rows instead of 4000"; or ""
};

// Makes a trace that its writer did not close readable without its writer's marks, and gives what
// is there to keep: copies the good rows to a new file under the same name. Nothing for a trace
// that was closed. When it holds fewer rows than `part` says, or cannot be read, throws
// DamagedTrace, or keeps of each table the rows up to its first damaged chunk in a new file (with
// these attributes and no rows, if nothing can be read) and the damaged one as NAME.damaged. Throws
// IoError.
SettledTrace settle_trace(const std::string& folder, const TracePart& part,
                          Losses losses = Losses::refused, const Attributes& otherwise = {});

}  // namespace tessera::trace
