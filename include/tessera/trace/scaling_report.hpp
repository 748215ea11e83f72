// What a run would cost on other numbers of ranks, predicted from one run: see sim/scaling.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::trace {

// The costs a prediction is made with.
struct ScalingCosts {
  double event_s = 0;            // of one event, all it does included
  double remote_event_s = 0;     // more, of an event that goes to another rank or comes from one
  double message_latency_s = 0;  // of a batch of events for another rank
  double bandwidth = 0;          // of a rank, in one direction [B/s]
  double reduction_s = 0;        // of a reduction over P ranks: this,
  double reduction_step_s = 0;   // this for each of log2 P steps, rounded up,
  double reduction_entry_s = 0;  // and this for each of its P + 6 entries
  std::vector<std::pair<std::string, std::string>> sources;  // name of a member, where it is from
};

// A run cut into regions: counts are exact but for rounds and batches, see sim/scaling.hpp.
struct ScalingCounts {
  int ranks = 1;
  std::uint64_t events = 0;
  std::uint64_t largest_events = 0;  // of the region with most
  std::uint64_t windows = 0;         // that held an event, of the region with most
  std::uint64_t rounds = 0;
  std::uint64_t remote_events = 0;
  std::uint64_t batches = 0;
  // Sums over the rounds of what the region with most of it had in that round.
  std::uint64_t path_events = 0;
  std::uint64_t path_remote_events = 0;  // sent or received, whichever is more
  std::uint64_t path_batches = 0;        // the same
};

// Wall time of the simulation itself on so many ranks, and where it goes.
struct ScalingPrediction {
  ScalingCounts counts;
  std::uint64_t cut_links = 0;
  double imbalance = 1;             // of events over the whole run: largest region over the mean
  std::uint64_t largest_bytes = 0;  // predicted memory of the largest rank
  double wall_s = 0;                // the sum of these four:
  double work_s = 0;                // events, were they spread evenly in every round
  double waiting_s = 0;  // more, because the region with most events in a round is waited for
  double reductions_s = 0;
  double messages_s = 0;
  double speed_up = 1;  // over one rank
  double efficiency() const { return speed_up / counts.ranks; }
};

struct ScalingReport {
  std::string experiment;
  std::string machine;
  std::string workload;
  std::string partition;
  std::string weights;
  std::uint64_t nodes = 0;
  std::int64_t simulated_time_ps = 0;
  double measured_wall_s = 0;  // of the run that was watched, observer included
  double observer_factor = 1;  // how much longer it took for being watched
  ScalingCosts costs;
  std::vector<ScalingPrediction> predictions;  // ascending ranks, the first is 1
  std::string version;
  std::string git_hash;
};

// Fills in times and speed-ups from the counts. The first prediction must be that of one rank.
void predict_times(ScalingReport& report);

// The members above under their names, before them "file_type" and "format_version".
std::string to_json(const ScalingReport& report);
// Whether a text begins as that of `to_json` does.
bool begins_as_scaling_report(std::string_view text);
// For a terminal.
std::string to_table(const ScalingReport& report);

}  // namespace tessera::trace
