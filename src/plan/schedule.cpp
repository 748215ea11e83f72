#include "tessera/plan/schedule.hpp"

#include <algorithm>

namespace tessera::plan {
namespace {

std::vector<ScheduleEntry> gpipe(std::uint32_t, std::uint32_t, std::uint32_t micro_batches) {
  std::vector<ScheduleEntry> entries;
  for (std::uint32_t m = 0; m < micro_batches; ++m) {
    entries.push_back({Phase::forward, m});
  }
  for (std::uint32_t m = micro_batches; m > 0; --m) {
    entries.push_back({Phase::backward, m - 1});
  }
  return entries;
}

std::vector<ScheduleEntry> one_forward_one_backward(std::uint32_t stage, std::uint32_t stages,
                                                    std::uint32_t micro_batches) {
  const std::uint32_t ahead = std::min(stages - stage - 1, micro_batches);
  std::vector<ScheduleEntry> entries;
  for (std::uint32_t m = 0; m < ahead; ++m) {
    entries.push_back({Phase::forward, m});
  }
  for (std::uint32_t m = 0; m < micro_batches; ++m) {
    if (m + ahead < micro_batches) {
      entries.push_back({Phase::forward, m + ahead});
    }
    entries.push_back({Phase::backward, m});
  }
  return entries;
}

const Registration registered_gpipe(schedules(),
                                    {"gpipe", "all forward passes, then all backward passes", {}},
                                    Schedule{gpipe});
const Registration registered_1f1b(
    schedules(), {"1f1b", "one forward, one backward after a warm-up (the default)", {}},
    Schedule{one_forward_one_backward});

}  // namespace

Registry<Schedule>& schedules() {
  static Registry<Schedule> registry("schedule");
  return registry;
}

std::uint32_t micro_batches_in_flight(const std::vector<ScheduleEntry>& entries) {
  std::uint32_t in_flight = 0;
  std::uint32_t most = 0;
  for (const ScheduleEntry& entry : entries) {
    if (entry.phase == Phase::forward) {
      most = std::max(most, ++in_flight);
    } else if (entry.phase != Phase::update) {
      --in_flight;
    }
  }
  return most;
}

}  // namespace tessera::plan
