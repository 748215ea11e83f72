// The composition root: builds the logical processes of one rank, runs them, writes what they did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

// How a run is going; made on rank 0.
struct Progress {
  SimTime simulated;
  double fraction = 0;  // of the instructions of all tiles
  std::uint64_t events = 0;
  double events_per_s = 0;           // since the last report
  std::uint64_t resident_bytes = 0;  // of this rank
  double wall_s = 0;
  double left_s = 0;  // negative: not known yet
};

struct RunHooks {
  // Asked on every rank between rounds; true ends the run on all ranks.
  std::function<bool()> stop_requested;
  // Called on rank 0, at most every `progress_period_s` of wall time.
  std::function<void(const Progress&)> on_progress;
  double progress_period_s = 1;
  // Called on every rank each time its engine goes on; for a watchdog.
  std::function<void(const Progress&)> on_round;
  // Called on every rank before (true) and after (false) a checkpoint is written or read, which
  // may take longer than any round.
  std::function<void(bool)> on_checkpoint;
  // Called on rank 0: what was done, in more detail, and what went wrong without ending the run.
  std::function<void(const std::string&)> on_note;
  std::function<void(const std::string&)> on_detail;
  std::function<void(const std::string&)> on_warning;
};

// When checkpoints are written besides the one at a requested stop; both may be set.
struct CheckpointTimes {
  double wall_s = 0;                     // 0: never
  SimTime simulated = SimTime::never();  // each time so much was simulated
  // A checkpoint that cannot be written is warned of; else it ends the run. At a stop it always
  // does.
  bool keep_going = false;
};

struct CutChoice;

struct RunRequest {
  std::string folder;  // empty: nothing is written, whatever the trace level
  RunHooks hooks;
  // Goes on from the newest valid checkpoint in `folder`; `experiment` is what
  // config.resolved.yaml there describes, but for the partition.
  bool resume = false;
  // The caller has taken the folder (trace/folder_lock.hpp); else each run takes it for itself.
  bool holds_lock = false;
  // Traces of the run that goes on may have lost rows: what can be read of them is kept, what is
  // lost is said in Summary::notes. Else that is an IoError.
  bool accept_loss = false;
  // Begins although more memory is predicted than there is; else that is a ConfigError.
  bool ignore_memory = false;
  // A stop leaves a checkpoint to go on from; it does not where a run replays micro-batches.
  bool resumable = true;
  // False: the folder gets no trace, whatever the trace level.
  bool traced = true;
  CheckpointTimes checkpoints = {};
  // How often run_with_replay may try whether fewer micro-batches repeat before it simulates all.
  std::uint32_t replay_trials = std::numeric_limits<std::uint32_t>::max();
  // What choose_cut gave for as many ranks; null: cut_for (cuts.hpp).
  std::shared_ptr<const CutChoice> cut = {};
  // Called on every rank when the run has finished, before its summary is written. False: another
  // run will take its place; the folder stays that of a run under way.
  std::function<bool(trace::Summary&)> complete_summary = {};
};

// Throws TimeTooLong where arithmetic alone, or accesses to memory alone, take longer than
// simulated time goes.
void refuse_endless(const Experiment& experiment);

// Runs the experiment on all ranks of `communicator` and gives the summary, the same on every rank
// but for peaks of memory and times. Writes the run folder unless `request.folder` is empty. A
// deadlock and a requested stop are outcomes, not errors: see Summary::status and
// Summary::message; the folder is complete then too, and after a stop it holds a checkpoint. Throws
// ConfigError or IoError when the folder cannot be used, another run is writing there
// (trace/folder_lock.hpp), or it holds nothing to go on from (Aborted
// with its code on the other ranks, where only rank 0 knows); other errors concern one rank, and
// the caller must abort the rest.
trace::Summary run(const Experiment& experiment, comm::Communicator& communicator,
                   const RunRequest& request);

// What a run on `ranks` ranks would look like.
struct Forecast {
  machine::Partition partition;
  SimTime lookahead;
  std::uint64_t links = 0;
  std::uint64_t instructions = 0;
  std::size_t shared_bytes = 0;   // descriptions that every rank holds whole
  std::size_t largest_bytes = 0;  // peak resident memory of the largest rank, predicted
  // What its summary says in `notes` before the run has found out more.
  std::vector<std::string> notes;
};

// Tiles that have something to do.
std::uint64_t tiles_at_work(const Experiment& experiment);

Forecast forecast(const Experiment& experiment, int ranks);
Forecast forecast(const Experiment& experiment, machine::Partition partition);

// What to say when there was no memory left: how much this process held, what was predicted for the
// largest rank (0: nothing), and what there is.
std::string out_of_memory(std::uint64_t predicted_bytes);

// Peak and present resident memory of this process [B].
std::uint64_t peak_resident_bytes();
std::uint64_t resident_bytes();

}  // namespace tessera::sim
