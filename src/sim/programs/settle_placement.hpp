// Which placement of several is the fastest, found by running them.
#pragma once

#include <string>

#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// Of `placement.layout: optimized`: what is optimised is traffic, not time, and a named layout may
// be faster. The run with each is simulated, every rank for itself, and the fastest taken; the
// first of those that are equally fast, the optimised one before all. Where that would take long,
// they are put in order by one iteration; by two with few micro-batches, as which the others go on;
// by those with a tile for each tensor group, or stage; or by an estimate; and as many of the first
// as there is time for are simulated whole. PlannedWork::placed_by says which. From then on the
// placement stands, so that plans made again, with fewer micro-batches, lie alike. Leaves other
// work as it is. Of one of several jobs, as if it had the machine to itself, on its own tiles.
void settle_placement(Experiment& experiment, PlacedJob& placed);

// For notes of a run, of PlannedWork::placed_by; "": nothing.
std::string note_of_placement(const std::string& placed_by);

}  // namespace tessera::sim
