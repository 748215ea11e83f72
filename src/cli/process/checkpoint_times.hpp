// The option --checkpoint-every.
#pragma once

#include <string>
#include <vector>

#include "tessera/sim/simulation.hpp"

namespace tessera::cli {

// Each text is a wall time ("30s", "10min", "1.5 h") or a simulated time after "sim:" ("sim:5ms").
// Throws ConfigError when one is neither, or a kind is given twice.
void read_checkpoint_times(const std::vector<std::string>& texts, sim::CheckpointTimes& times);

}  // namespace tessera::cli
