// What a run would cost on other numbers of ranks, predicted from one run: see
// sim/scaling/scaling.hpp.
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
  double promise_s = 0;          // processor time of an exchange between two ranks, at each
  double wait_messages = 2;      // from asking a rank to having its answer
  double exchange_events = 256;  // of work, after which a rank sends what nobody asked for
  std::vector<std::pair<std::string, std::string>> sources;  // name of a member, where it is from
};

// Virtual wall clocks of a cut's regions, see sim/scaling/clocks.hpp.
struct ScalingClock {
  double path = 0;              // the latest at the end, in the time that an event takes
  double path_messages = 0;     // of that, what events between regions and exchanges took
  std::uint64_t waits = 0;      // of the region with most
  std::uint64_t all_waits = 0;  // of all regions together
  std::uint64_t exchanges = 0;  // received, by the region with most
};

// A run cut into regions: counts are exact but for rounds and batches, see sim/scaling/scaling.hpp.
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
  ScalingClock perfect;                  // lookahead
  ScalingClock promised;                 // the protocol of promises
};

// Wall time of the simulation itself on so many ranks cut in one way, and where it goes under the
// run's policy.
struct ScalingPrediction {
  std::string partition;
  int ranks = 1;         // there are
  ScalingCounts counts;  // of those at work
  std::uint64_t cut_links = 0;
  double imbalance = 1;             // of events over the whole run: largest region over the mean
  std::uint64_t largest_bytes = 0;  // predicted memory of the largest rank
  double wall_s = 0;                // the sum of these four:
  double work_s = 0;                // events, were they spread evenly in every round
  double waiting_s = 0;  // more: for the slowest region of a round, or for events of others
  double reductions_s = 0;
  double messages_s = 0;
  double speed_up = 1;  // over one rank
  // The same by policies that go by rounds, by one of promises, and the bound of perfect lookahead.
  double rounds_speed_up = 1;
  double promises_speed_up = 1;
  double bound = 1;
  double efficiency() const { return speed_up / ranks; }
};

struct ScalingReport {
  std::string experiment;
  std::string machine;
  std::string workload;
  std::string partition;  // several with commas between
  std::string weights;
  std::string synchronization;
  bool by_rounds = true;  // that policy
  std::uint64_t nodes = 0;
  std::int64_t simulated_time_ps = 0;
  double measured_wall_s = 0;  // of the run that was watched, observer included
  double observer_factor = 1;  // how much longer it took for being watched
  double clock_event_s = 0;    // time of an event that the clocks of regions were run with
  ScalingCosts costs;
  // The first is one rank; then those of each partition in ascending order of ranks.
  std::vector<ScalingPrediction> predictions;
  std::vector<std::string> notes;  // of what a real run does otherwise
  std::string version;
  std::string git_hash;
};

// More time, at each end, for an event that goes to another rank [s].
double crossing_s(const ScalingCosts& costs);
// Fills in times and speed-ups from the counts. The first prediction must be that of one rank.
void predict_times(ScalingReport& report);

// The members above under their names, before them "file_type" and "format_version".
std::string to_json(const ScalingReport& report);
// Whether a text begins as that of `to_json` does.
bool begins_as_scaling_report(std::string_view text);
// For a terminal.
std::string to_table(const ScalingReport& report);

}  // namespace tessera::trace
