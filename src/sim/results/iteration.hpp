// What follows from the time of an iteration.
#pragma once

#include "tessera/sim/experiment.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

// That time, throughput, what is achieved and energy, given the simulated time of all.
void note_iteration(const Experiment& experiment, trace::Summary& summary);

// Throws DurationTooLong where what the work accesses takes memories longer than simulated time
// goes, each at its best and all evenly used, as far as that is known before a run.
void refuse_endless_accesses(const Experiment& experiment);

// Says so where energy leaves out what memories draw, as their bytes are not known.
void note_unknown_energy(const Experiment& experiment, trace::Summary& summary);

}  // namespace tessera::sim
