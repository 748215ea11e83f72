// Experiments whose workload is operators on a chip of NPU cores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/units.hpp"
#include "tessera/executor/chip.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/memory/memory.hpp"

namespace tessera::sim {

// A model that the operators of a chip were lowered from.
struct ModelSurvey {
  std::string path;
  std::string level;  // of optimisation
  std::uint64_t file_nodes = 0;
  std::uint64_t nodes = 0;  // of the optimised graph
  std::uint64_t views = 0;  // of those, that nothing has to be done for
  std::uint64_t parameters = 0;
  Flops matrix;
  Flops vector;
  Bytes traffic;                     // each tensor once for each node that reads or writes it
  std::vector<std::string> unknown;  // nodes that cost memory traffic alone
};

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
                                               std::optional<ModelSurvey>& survey);

// Of one iteration: all arrays full, or what operators need of their operands moved once, all
// channels at their best, whichever is longer. Memory without a bound (`bandwidth`) takes no time.
SimTime ideal_time(const executor::ChipWork& work, const machine::Machine& machine,
                   const memory::MemoryModel& memory);

}  // namespace tessera::sim
