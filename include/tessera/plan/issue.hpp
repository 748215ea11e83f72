// What a host has to do with an operation of a program, for compute models with hosts.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/plan/program.hpp"
#include "tessera/workload/issue.hpp"

namespace tessera::plan {

// Of the operation at `place` of a phase. The host issues collectives and messages like operations.
// It waits for what is received from another stage, as Megatron-LM and DeepSpeed do before they
// compute with it, and where an iteration begins (`first`: the phase is the first one), whose loss
// it has read, and where the instruction says so (`host_waits`); it is ahead of everything else.
workload::Issue issue_of(std::span<const Instruction> phase, std::size_t place, bool first);

}  // namespace tessera::plan
