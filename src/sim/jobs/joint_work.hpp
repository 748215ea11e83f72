// What all tiles of an experiment do.
#pragma once

#include <memory>

#include "tessera/sim/experiment.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {

// Of its only job, or of all that share the machine, each in its place. Refers to the experiment.
std::unique_ptr<Work> work_of(const Experiment& experiment);

}  // namespace tessera::sim
