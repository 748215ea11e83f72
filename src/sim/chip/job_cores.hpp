// The NPU cores that a job's tiles are.
#pragma once

#include <string>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/config/document.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/npu/core/core.hpp"

namespace tessera::sim {

// Null after a complaint, which begins with `what`: that tiles are of several models, or of none of
// cores. It goes to the `tiles` of a `tenant`, or where there is none to the machine's section.
// Complains as well where cores have their operands in a memory that is not there.
const npu::CoreConfig* core_of_all(const machine::Machine& machine,
                                   const std::vector<EntityId>& nodes,
                                   const compute::ComputeModel& compute, const std::string& what,
                                   config::Section& machine_section, config::Section* tenant);

}  // namespace tessera::sim
