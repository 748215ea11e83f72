// What `tessera check` finds out, as JSON.
#pragma once

#include <string>

#include "tessera/sim/experiment.hpp"

namespace tessera::cli {

// One object; docs/json-output.md has its keys. For a run on `ranks` ranks.
std::string check_json(const sim::Experiment& experiment, int ranks);

}  // namespace tessera::cli
