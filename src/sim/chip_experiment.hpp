// Experiments whose workload is operators on a chip of NPU cores.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/config/document.hpp"
#include "tessera/executor/chip.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

inline constexpr const char* operators_kind = "operators";
inline constexpr const char* model_kind = "onnx";

// Whether the workload section is of such a kind: operators, or a model (`onnx`).
bool is_chip(const config::Value& workload);

// Machine and core, as all such workloads have them, and the key `message`; without operators.
struct ChipStart {
  std::unique_ptr<executor::ChipWork> work;
  bool is_complete = false;
};
// Complaints about the cores go to the `tiles` of a `tenant`, or where there is none to the
// machine's section.
ChipStart begin_chip(config::Section& workload, const machine::Machine& machine,
                     const std::vector<EntityId>& cores, const compute::ComputeModel& compute,
                     config::Section& machine_section, config::Section* tenant);
// Numbers the names of all operators, for traces.
void number_names(executor::ChipWork& work);

// Reads the section of such a workload; null after complaints.
std::unique_ptr<executor::ChipWork> read_operators(config::Section& workload, ChipStart start);
std::unique_ptr<executor::ChipWork> read_model(config::Section& workload, ChipStart start,
                                               std::optional<ModelLook>& look);

// Of one iteration: all arrays full, or every operand moved once over all channels, whichever is
// longer.
SimTime ideal_time(const executor::ChipWork& work, const machine::Machine& machine);

}  // namespace tessera::sim
