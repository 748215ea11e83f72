#include "chip/job_cores.hpp"

#include <algorithm>

#include "jobs/tiles.hpp"
#include "tessera/npu/core/cores.hpp"

namespace tessera::sim {

const npu::CoreConfig* core_of_all(const machine::Machine& machine,
                                   const std::vector<EntityId>& nodes,
                                   const compute::ComputeModel& compute, const std::string& what,
                                   config::Section& machine_section, config::Section* tenant) {
  const std::vector<const machine::Tile*> kinds = kinds_of(machine, nodes);
  const npu::CoreConfig* const core = npu::core_of(compute.of(*kinds.front()));
  const bool alike = std::all_of(kinds.begin(), kinds.end(), [&](const machine::Tile* tile) {
    return npu::core_of(compute.of(*tile)) == core;
  });
  if (core != nullptr && alike) {
    if (core->operands == npu::Operands::memory && machine.channels.empty()) {
      machine_section.error("dram", "missing; the cores have their operands in memory");
    }
    return core;
  }
  const auto is_core = [&](const machine::Tile* tile) {
    return npu::core_of(compute.of(*tile)) != nullptr;
  };
  if (tenant == nullptr && std::ranges::all_of(kinds, is_core)) {
    machine_section.error(
        "types", what + "; cores that differ by type ('compute' of a type) are not supported");
  } else if (tenant != nullptr) {
    tenant->error("tiles", what + "; these tiles must have one compute model, npu");
  } else {
    machine_section.error("compute", what + "; 'model' must be npu");
  }
  return nullptr;
}

}  // namespace tessera::sim
