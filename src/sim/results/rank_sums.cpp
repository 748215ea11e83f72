#include "results/rank_sums.hpp"

#include <algorithm>
#include <array>

#include "tessera/sim/simulation.hpp"

namespace tessera::sim {
namespace {

SimTime latest(const RankModels& models, SimTime own) {
  std::array<std::uint64_t, 1> last{static_cast<std::uint64_t>(own.ps())};
  models.communicator.reduce_max(last);
  return SimTime::from_ps(static_cast<std::int64_t>(last[0]));
}

}  // namespace

// Sums over all ranks of numbers that may exceed 64 bits together.
std::vector<Wide> sums_over_ranks(comm::Communicator& communicator,
                                  const std::vector<Wide>& values) {
  constexpr std::uint64_t low = 0xFFFFFFFFULL;
  std::vector<std::uint64_t> limbs;
  for (const Wide value : values) {
    for (unsigned limb = 0; limb < 4; ++limb) {
      limbs.push_back(static_cast<std::uint64_t>(value >> (32 * limb)) & low);
    }
  }
  communicator.reduce_sum(limbs);
  std::vector<Wide> sums(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (unsigned limb = 0; limb < 4; ++limb) {
      sums[i] += static_cast<Wide>(limbs[i * 4 + limb]) << (32 * limb);
    }
  }
  return sums;
}

SimTime last_event(const RankModels& models) {
  return latest(models, models.engine.last_event_time());
}

SimTime end_of_bins(const RankModels& models) {
  return latest(models, std::max(models.engine.last_handled_time(), models.network->busy_until()));
}

void gather_memory(comm::Communicator& communicator, trace::Summary& summary) {
  std::vector<std::uint64_t> peaks(static_cast<std::size_t>(communicator.size()));
  peaks[static_cast<std::size_t>(communicator.rank())] = peak_resident_bytes();
  communicator.reduce_sum(peaks);
  summary.peak_rss_bytes = peaks;
}

std::vector<trace::FileSum> gather_sums(comm::Communicator& communicator,
                                        const trace::FileSum& own) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  std::vector<std::uint64_t> numbers(2 * ranks);
  numbers[2 * rank] = own.bytes;
  numbers[2 * rank + 1] = own.crc;
  communicator.reduce_sum(numbers);
  std::vector<trace::FileSum> sums;
  for (std::size_t i = 0; i < ranks; ++i) {
    sums.push_back({numbers[2 * i], static_cast<std::uint32_t>(numbers[2 * i + 1])});
  }
  return sums;
}

void gather_events(const RankModels& models, trace::Summary& summary) {
  std::vector<std::uint64_t> events(static_cast<std::size_t>(models.communicator.size()));
  events[static_cast<std::size_t>(models.communicator.rank())] = models.engine.statistics().events;
  models.communicator.reduce_sum(events);
  summary.rank_events = events;
}

std::vector<std::uint64_t> gather_node_events(const RankModels& models) {
  std::vector<std::uint64_t> events(models.experiment.machine.topology->nodes());
  for (std::uint32_t index = 0; index < models.engine.local_entities(); ++index) {
    events[models.engine.entity_of(index).value()] = models.engine.events_sent(index);
  }
  models.communicator.reduce_sum(events);
  return events;
}

}  // namespace tessera::sim
