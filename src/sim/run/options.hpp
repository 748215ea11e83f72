// The section `run` of an experiment.
#pragma once

#include "tessera/config/document.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

RunOptions read_run_options(config::Section section, const machine::Topology& topology);

}  // namespace tessera::sim
