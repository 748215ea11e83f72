// Where a stage's tensors live, and whether they fit.
#pragma once

#include "tessera/machine/machine.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan {

// Bytes of a stage's layers on one tile and what of them SRAM holds. `in_flight`: passes through
// one chunk whose activations are kept at a time.
StageMemory decide_memory(const machine::Tile& tile, bool has_dram,
                          const workload::Workload& workload, const Sharder& sharder,
                          const std::vector<LayerRange>& chunks, std::uint32_t in_flight);

// Finds when stages hold most.
class PeakFinder {
 public:
  // All must outlive it.
  PeakFinder(const machine::Framework& framework, const workload::Workload& workload,
             const Strategy& strategy);
  // Of the chunks of a stage.
  TurnMemory passes_of(const std::vector<LayerRange>& chunks) const;
  // `memory`: all but the peak.
  MemoryUse peak(std::uint32_t stage, const StageMemory& memory, const TurnMemory& passes) const;

 private:
  const machine::Framework& framework_;
  const workload::Workload& workload_;
  const Strategy& strategy_;
  std::vector<std::size_t> kind_of_;  // [layers]
  std::vector<LayerMemory> kinds_;
  bool ties_ = false;
};

// Throws ConfigError when something is not held by SRAM and the machine has no DRAM, or a channel
// is asked to hold more than its capacity; says which stage, how much, and what there is.
void check_capacity(const machine::Machine& machine, const Plan& plan);

}  // namespace tessera::plan
