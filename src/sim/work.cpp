#include "tessera/sim/work.hpp"

namespace tessera::sim {

std::unique_ptr<compute::Compute> make_model_cores(const Platform& platform,
                                                   std::span<const workload::Operation> operations,
                                                   std::span<const EntityId> members) {
  return platform.compute->build(
      {platform.machine, members, operations, compute_slot, memory_slot});
}

double sum_of_peaks(const machine::Machine& machine, std::span<const EntityId> tiles,
                    DataType type) {
  const auto peak_of = [type](const machine::Tile& tile) {
    const auto found = tile.peak.find(type);
    return found == tile.peak.end() ? 0 : static_cast<double>(found->second.flops_per_second());
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

}  // namespace tessera::sim
