// What a host has to do with an operation of a program, for compute models with hosts.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/compute/messages.hpp"
#include "tessera/plan/program.hpp"

namespace tessera::executor {

// Of the operation at `place` of a phase. The host issues collectives and messages like operations.
// It waits for what is received from another stage, as Megatron-LM and DeepSpeed do before they
// compute with it, and where an iteration begins (`first`: the phase is the first one), whose loss
// it has read, and where the instruction says so (`host_waits`); it is ahead of everything else.
compute::Issue issue_of(std::span<const plan::Instruction> phase, std::size_t place, bool first);

}  // namespace tessera::executor
