// What a host has to do with an operation of a program, for compute models with hosts.
#pragma once

#include <cstddef>

#include "tessera/plan/program.hpp"
#include "tessera/workload/issue.hpp"

namespace tessera::plan {

// Of the operation at `place` of what the schedule has at `entry`. The host issues collectives and
// messages like operations, those at the end of a pass before the first operation of the next. It
// waits for what is received from another stage, as Megatron-LM and DeepSpeed do before they
// compute with it, and where an iteration begins (the first entry), whose loss it has read, and
// where the instruction says so (`host_waits`); it is ahead of everything else. What a pass before
// one that waits has at its end is issued in the time that it waits.
workload::Issue issue_of(const Program& program, std::size_t entry, std::size_t place);

}  // namespace tessera::plan
