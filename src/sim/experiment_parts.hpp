// The parts of an experiment, each in a file of its own or inline.
#pragma once

#include <array>

namespace tessera::sim {

inline constexpr std::array<const char*, 3> experiment_parts{"machine", "workload", "strategy"};

}  // namespace tessera::sim
