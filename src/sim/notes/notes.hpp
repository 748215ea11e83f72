// What users are told of a run before it begins.
#pragma once

#include <string>
#include <vector>

#include "tessera/sim/experiment.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {

// Keys without effect, and what the levels of work and models leave out; `work` is the
// experiment's.
std::vector<std::string> notes_before(const Experiment& experiment, const Work& work);

}  // namespace tessera::sim
