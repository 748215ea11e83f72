// Cores in motion on a machine: the component behind the compute model `npu`, and behind a chip
// whose cores share operators.
//
// What a core loads and stores are accesses to the memory that serves its node. With
// `dma.access: block` an instruction is one access, from the first byte on; with `row` each row of
// a block is an access of its own, at its address. Where operands lie says the source of operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/npu/core/core.hpp"
#include "tessera/npu/operator_source.hpp"

namespace tessera::npu {

struct CoresSetup {
  const machine::Machine& machine;
  std::span<const EntityId> members;
  const CoreConfig& core;
  std::shared_ptr<const OperatorSource> operators;
  // A core's operands are its own, each at other addresses; else all cores share them.
  bool own_operands = true;
  unsigned slot = 0;
  unsigned memory_slot = 0;
};

// Takes ShareRequest events (messages.hpp) and, as compute models do, ExecuteRequest events. The
// machine, the core and the operators must outlive it.
std::unique_ptr<compute::Compute> make_cores(const CoresSetup& setup);

// Memory from the first operand to the end of the last, as laid out above.
std::uint64_t bytes_of_operands(const std::vector<const TiledOperator*>& operators);

// The core of a model that is `npu`; null: it is another.
const CoreConfig* core_of(const compute::ComputeModel& model);

}  // namespace tessera::npu
