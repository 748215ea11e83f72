// Experiments whose workload is operators on a chip of NPU cores.
#pragma once

#include <memory>

#include "tessera/compute/compute.hpp"
#include "tessera/config/document.hpp"
#include "tessera/executor/chip.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::sim {

inline constexpr const char* chip_kind = "operators";

// Whether the workload section is of that kind.
bool is_chip(const config::Value& workload);

// Reads the section of such a workload; null after complaints.
std::unique_ptr<executor::ChipWork> read_chip(config::Section& workload,
                                              const machine::Machine& machine,
                                              const compute::ComputeModel& compute,
                                              config::Section machine_section);

// Of one iteration: all arrays full, or every operand moved once over all channels, whichever is
// longer.
SimTime ideal_time(const executor::ChipWork& work, const machine::Machine& machine);

}  // namespace tessera::sim
