// Experiments whose workload is cut into programs by a strategy.
#pragma once

#include "tessera/config/document.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// Reads workload, strategy and run, and makes the plan. Throws what was complained about.
void read_programs(Experiment& experiment, config::Section& section, const config::TextLoader& load,
                   config::Diagnostics& diagnostics);

}  // namespace tessera::sim
