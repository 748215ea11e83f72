// A sweep: one experiment simulated at many points of a space of its keys.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/explore/axes.hpp"
#include "tessera/explore/expression/expression.hpp"
#include "tessera/explore/table/table.hpp"

namespace tessera::explore {

// What a sweep file says. Immutable after reading.
// Paths among the values of `machine`, `workload` and `strategy` are relative to the sweep file.
struct Sweep {
  std::string name;
  std::string experiment;              // path
  std::vector<std::string> overrides;  // "key=value", for every point
  Axes axes;
  std::vector<Expression> constraints;
  std::uint64_t sample_points = 0;  // 0: all of the grid
  std::uint64_t seed = 0;
  SweepObjective objective;
  std::vector<std::string> columns;  // numbers of a point, in the order of the results
  double wall_limit_s = 0;           // 0: none
  std::string resolved;              // the file with all defaults, as YAML
};

// The keys of a sweep file, for `tessera list`.
std::vector<ParameterInfo> sweep_parameters();

// Reads a sweep file; `overrides` are added to its `set`. Throws ConfigError with every complaint
// found, also that it cannot be read.
Sweep read_sweep(const std::string& path, const std::vector<std::string>& overrides,
                 const config::TextLoader& load);

// Texts of files, each read once: points are read from memory. Not for concurrent use.
class TextCache {
 public:
  explicit TextCache(config::TextLoader load) : load_(std::move(load)) {}
  // Throws what the loader throws, each time.
  std::string text(const std::string& path);
  config::TextLoader loader() {
    return [this](const std::string& path) { return text(path); };
  }
  // From now on a file that was not read before is one that cannot be read.
  void close() { closed_ = true; }
  // Hash of all texts read, of `others`, and of what is in `files`, whatever their paths. A file
  // may be what names of files begin with: all of these then.
  std::string hash(const std::vector<std::string>& others,
                   const std::vector<std::string>& files = {}) const;

 private:
  config::TextLoader load_;
  std::map<std::string, std::string> texts_;
  bool closed_ = false;
};

// The points that are run, ascending: those of the grid that meet all constraints, or a random
// sample of them, drawn without repetition from the seed alone. Constraints know the axes' keys,
// other keys of the experiment (in full, or as short as nothing else has that name; an axis goes
// before a fact, a fact before other keys), and three facts: `devices`, nodes that compute;
// `layers`, which stages are made of, embedding and head included; `batch`, samples. Where an axis
// makes machine or workload impossible, constraints over facts are taken to hold, and the point
// fails with its reason. Throws ConfigError when a constraint makes no sense, or none is left.
std::vector<PointNumber> choose_points(const Sweep& sweep, const config::TextLoader& load);

struct SweepHooks {
  std::function<bool()> stop_requested;
  // Of this rank's points: done, all, and those that failed; after each.
  std::function<void(std::size_t, std::size_t, std::size_t)> on_point;
  // On rank 0.
  std::function<void(const std::string&)> on_note;
};

// Simulates one point, alone and without a trace. A point that cannot be simulated is a row with
// its reason. Nothing when a stop was requested meanwhile.
std::optional<SweepRow> run_point(const Sweep& sweep, PointNumber point,
                                  const config::TextLoader& load,
                                  const std::function<bool()>& stop_requested);

// The table without rows: names, units and meanings of what `run_point` gives.
SweepTable empty_table(const Sweep& sweep);

// Runs a sweep on all ranks; each point on one rank, dealt out by a hash of its number, so that the
// results are the same on any number of ranks. Writes them to `folder`, each as soon as it is
// there; the tables when the sweep ends. The table has its rows on rank 0 alone. Throws
// ConfigError, and IoError when the folder cannot be written (Aborted with its code on the other
// ranks where only rank 0 knows).
struct SweepOutcome {
  SweepTable table;
  std::uint64_t points = 0;    // that are to be run in all
  std::uint64_t finished = 0;  // of them, without a fault
  bool complete = false;       // false: a stop was requested
  std::string folder;
};
// An empty `folder` is "out/" and the sweep's name.
SweepOutcome run_sweep(const std::string& path, const std::vector<std::string>& overrides,
                       const std::string& folder, comm::Communicator& communicator,
                       const config::TextLoader& load, const SweepHooks& hooks);
// Goes on with the sweep in `folder`: runs what is missing. Throws ConfigError when there is none,
// or when the sweep file or a file it leads to has changed.
SweepOutcome resume_sweep(const std::string& folder, comm::Communicator& communicator,
                          const config::TextLoader& load, const SweepHooks& hooks);

}  // namespace tessera::explore
