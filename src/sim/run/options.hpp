// The section `run` of an experiment.
#pragma once

#include <string_view>

#include "tessera/config/document.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

RunOptions read_run_options(config::Section section, const machine::Topology& topology);

// Notes lengths of time bins that are given, where nothing is told by time.
void note_unused_bins(config::Section& section, const RunOptions& options, std::string_view with);

}  // namespace tessera::sim
