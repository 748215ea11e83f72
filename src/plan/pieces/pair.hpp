// Two passes that take turns on a tile.
#pragma once

#include <vector>

#include "tessera/plan/program.hpp"

namespace tessera::plan {

// Instructions of both: what comes in for either first; then each in turn up to its next exchange
// over experts, which goes on in the background while the other computes; what goes out for other
// stages last. Those of the second are marked (Instruction::beside). Throws ConfigError where a
// pass streams operands, whose slots cannot be shared.
//
// DeepSeek-AI, DeepSeek-V3, arXiv:2412.19437, section 3.2.1 and figure 4.
std::vector<Instruction> in_turns(std::vector<Instruction> one, std::vector<Instruction> other);

}  // namespace tessera::plan
