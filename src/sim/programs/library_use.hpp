// What is said of a plan whose collectives are not all timed by the library that is named.
#pragma once

#include <string>
#include <vector>

#include "tessera/plan/plan.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

// To notes of a plan with aggregation: collectives on which machine.network.library has no effect,
// as they are simulated or no rings. Nothing where note_unshared_links says that it has none.
void note_library_use(const Platform& platform, const plan::Plan& plan,
                      std::vector<std::string>& notes);

bool has_collectives(const plan::Plan& plan);

// To notes of a plan: that it has no collectives, where something is given of these, or none of
// groups whose algorithm is given.
void note_unused_collectives(const Platform& platform, const plan::Plan& plan,
                             std::vector<std::string>& notes);

// Whether collectives of a plan go on beside its operations.
bool overlaps_collectives(const plan::Plan& plan);

}  // namespace tessera::sim
