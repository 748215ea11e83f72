#include "run/costs.hpp"

#include <array>
#include <ctime>

#include "tessera/sim/simulation.hpp"

namespace tessera::sim {
namespace {

constexpr double microseconds = 1e6;

}  // namespace

trace::EngineRow engine_row(const RankModels& models, double wall_s) {
  const pdes::EngineStatistics statistics = models.engine.statistics();
  trace::EngineRow row;
  row.simulated_ps = models.engine.last_event_time().ps();
  row.wall_s = wall_s;
  row.waiting_s = statistics.waiting_s;
  row.events = statistics.events;
  row.windows = statistics.windows;
  row.rounds = statistics.rounds;
  row.remote_events = statistics.remote_events;
  row.batches = statistics.batches;
  row.pending = statistics.largest_pending;
  row.resident_bytes = resident_bytes();
  return row;
}

trace::SegmentCost cost_so_far(const RankModels& models, SimTime begin, SimTime end,
                               double wall_s) {
  const pdes::EngineStatistics statistics = models.engine.statistics();
  std::array<std::uint64_t, 3> largest{statistics.windows, statistics.rounds, statistics.waits};
  models.communicator.reduce_max(largest);
  std::array<std::uint64_t, 3> sums{statistics.remote_events,
                                    static_cast<std::uint64_t>(statistics.waiting_s * microseconds),
                                    static_cast<std::uint64_t>(static_cast<double>(std::clock()) /
                                                               CLOCKS_PER_SEC * microseconds)};
  models.communicator.reduce_sum(sums);
  trace::SegmentCost cost;
  cost.ranks = models.communicator.size();
  cost.communicator = models.communicator.description();
  cost.partition = models.cut.name;
  cost.begin_ps = begin.ps();
  cost.end_ps = end.ps();
  cost.wall_s = wall_s;
  cost.cpu_s = static_cast<double>(sums[2]) / microseconds;
  cost.waiting_s = static_cast<double>(sums[1]) / microseconds / cost.ranks;
  cost.windows = largest[0];
  cost.rounds = largest[1];
  cost.waits = largest[2];
  cost.remote_events = sums[0];
  return cost;
}

}  // namespace tessera::sim
