#include "work.hpp"

namespace tessera::sim {

std::unique_ptr<compute::Compute> make_model_cores(const Experiment& experiment,
                                                   std::span<const workload::Operation> operations,
                                                   std::span<const EntityId> members) {
  return experiment.compute->build(
      {experiment.machine, members, operations, compute_slot, memory_slot});
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

std::unique_ptr<Work> work_of(const Experiment& experiment, const Job& job) {
  if (job.chip) {
    return work_of_chip(experiment, job);
  }
  if (job.serving) {
    return work_of_serving(experiment, job);
  }
  return job.graph ? work_of_graphs(experiment, job) : work_of_programs(experiment, job);
}

std::unique_ptr<Work> work_of(const Experiment& experiment) {
  return experiment.tenants.empty() ? work_of(experiment, experiment) : work_of_tenants(experiment);
}

}  // namespace tessera::sim
