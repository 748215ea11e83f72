// Results of a sweep: one row a point. docs/trace-format.md describes the files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/trace/summary.hpp"

namespace tessera::explore {

// A number of each point, with its unit.
struct SweepColumn {
  std::string name;
  std::string unit;
  std::string description;
};

// A key that varies. Keys of one axis step together.
struct SweepKey {
  std::string key;
  std::uint32_t axis = 0;
  std::vector<std::string> values;  // as the sweep file has them
};

struct SweepObjective {
  std::string column;
  bool maximize = true;
};

// What became of one point.
struct SweepRow {
  std::uint64_t point = 0;
  std::vector<std::uint32_t> places;  // [axes] which value of each axis
  std::string status;                 // finished, refused, deadlock, limit, failed
  std::string message;                // why, when it is not finished
  std::string digest;                 // of the results
  std::vector<std::string> numbers;   // [columns] exact decimals; "" for none
  std::vector<std::string> notes;     // of the run: what bends its results
};

struct SweepTable {
  std::string name;
  std::string experiment;
  std::vector<SweepKey> keys;
  std::vector<SweepColumn> columns;
  SweepObjective objective;
  std::vector<SweepRow> rows;  // ascending points
};

// Every number of summary.json by its path, as in "breakdown.total.bubble.share" or
// "breakdown.stages.0.compute.mean_ps"; exact decimals.
std::map<std::string, std::string> numbers_of(const trace::Summary& summary);
// "ps", "s", "B", "FLOP/s", … from the end of a number's name; "" for a count or a share.
std::string unit_of_number(const std::string& name);

// Something that was tried in vain.
struct Failure {
  std::string what;  // "point 12"
  std::string status;
  std::string message;
};
// How many failed for which reason, reasons that differ in numbers counted together, with the first
// of each as example; "" without failures. For a terminal.
std::string failure_table(const std::string& title, const std::vector<Failure>& failures);

// The table as comma-separated values: point, the keys, status, the columns, result_digest,
// message, notes (all in one cell, with semicolons between them); texts with a comma or a quote
// stand in quotes (RFC 4180).
std::string to_csv(const SweepTable& table);
// The best `top` finished points by the objective, how many failed for which reason, and how many
// have which note. For a terminal.
std::string to_table(const SweepTable& table, std::size_t top);
// One object with all rows, whether they finished or not, and the points of the ranking; for
// programs. `folder` is that of the sweep; `complete`: false if it was stopped.
std::string to_json(const SweepTable& table, const std::string& folder, bool complete);
// Finished points with a number in the objective, best first; ties by point.
std::vector<const SweepRow*> ranking(const SweepTable& table);
// Writes sweep.h5: tables `points` and `keys`. Throws IoError.
void write_sweep_file(const std::string& path, const SweepTable& table,
                      const std::string& program_version);

// Rows of one rank as they come: a line of JSON each, with its CRC-32C. A killed writer leaves at
// most one broken line, which readers skip.
class SweepLog {
 public:
  // Appends to `path`, or creates it. Throws IoError.
  explicit SweepLog(const std::string& path);
  ~SweepLog();
  SweepLog(const SweepLog&) = delete;
  SweepLog& operator=(const SweepLog&) = delete;
  // Hands the line to the system, which a kill of this process does not undo; forces it to the disk
  // about once a second. Throws IoError.
  void append(const SweepRow& row);
  // Forces all lines to the disk. Throws IoError.
  void sync();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string to_json_line(const SweepRow& row);
// The whole, undamaged lines of a text.
std::vector<SweepRow> rows_from_lines(const std::string& text);

// What the folder of a sweep remembers, in sweep.json.
struct SweepState {
  std::string sweep;                   // path of the sweep file
  std::vector<std::string> overrides;  // of the command line
  std::string hash;                    // of all that was read
  std::uint64_t points = 0;            // that are to be run
  std::vector<std::string> columns{};  // of its rows; none: not known, of an earlier build
};

// Creates `folder`, or empties one of an earlier sweep of its own files (a folder `plots` and files
// *.png stay); one that holds anything else is refused with ConfigError. Then writes the state and
// the resolved sweep. Throws IoError.
void prepare_sweep_folder(const std::string& folder, const SweepState& state,
                          const std::string& resolved);
// Throws ConfigError when the folder is of no sweep; IoError when its state cannot be read.
SweepState read_sweep_state(const std::string& folder);
// Whether a sweep has written there.
bool holds_sweep(const std::string& folder);
// Rows of all ranks' logs in the folder, each point once. Throws IoError.
std::vector<SweepRow> read_sweep_logs(const std::string& folder);
std::string sweep_log_path(const std::string& folder, int rank);
// Writes sweep.csv and sweep.h5 of the table. Throws IoError.
void write_sweep_results(const std::string& folder, const SweepTable& table);

}  // namespace tessera::explore
