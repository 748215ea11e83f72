#include "tessera/sim/work.hpp"

namespace tessera::sim {

std::unique_ptr<compute::Compute> make_model_cores(const Platform& platform,
                                                   std::span<const workload::Operation> operations,
                                                   std::span<const EntityId> members) {
  return platform.compute->build(
      {platform.machine, members, operations, compute_slot, memory_slot});
}

double sum_of_peaks(const Platform& platform, std::span<const EntityId> tiles, DataType type) {
  const machine::Machine& machine = platform.machine;
  const auto peak_of = [&](const machine::Tile& tile) {
    if (const FlopRate* const stated = tile.stated_peak(type)) {
      return static_cast<double>(stated->flops_per_second());
    }
    const auto clocked = platform.compute && tile.peak.empty()
                             ? platform.compute->of(tile).clocked_rate(type)
                             : std::nullopt;
    return clocked ? static_cast<double>(clocked->flops_per_second()) : 0.0;
  };
  if (machine.types.empty()) {
    return static_cast<double>(tiles.size()) * peak_of(machine.tile);
  }
  double sum = 0;
  for (const EntityId tile : tiles) {
    sum += peak_of(machine.tile_of(tile));
  }
  return sum;
}

double mixed_peak(const Platform& platform, std::span<const EntityId> tiles,
                  const std::map<DataType, double>& flops, DataType usual) {
  double all = 0;
  double seconds = 0;
  for (const auto& [type, count] : flops) {
    if (type != usual && count > 0) {
      all += count;
      seconds += count / sum_of_peaks(platform, tiles, type);
    }
  }
  if (all == 0) {
    return sum_of_peaks(platform, tiles, usual);  // to the bit
  }
  const auto own = flops.find(usual);
  if (own == flops.end() || own->second == 0) {
    return all / seconds;  // of the usual type there may be no peak
  }
  return (all + own->second) / (seconds + own->second / sum_of_peaks(platform, tiles, usual));
}

}  // namespace tessera::sim
