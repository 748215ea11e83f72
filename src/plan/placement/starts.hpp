// Placements to begin an optimisation from.
#pragma once

#include <functional>
#include <vector>

#include "tessera/plan/placement/placement.hpp"

namespace tessera::plan {

// Names of what `placement.start` can be.
std::vector<std::string> start_names();

// Calls `visit` with the node of each role, [degrees.tiles()], for each start: the layout of that
// name, or, for "best", every one that fits of
//   linear, line and s-shape (near and far), replicas (in each order);
//   bands, on grids: tensor groups of every shape laid one after the other along bands of the grid,
//   back and forth, horizontally or vertically; a band is as wide as some of the replicas, so that
//   a stage is a rectangle where it does not turn, but need not match tiles.
// Throws ConfigError when the named one does not fit, or none does.
void visit_starts(const machine::Machine& machine, const PlacementRequest& request,
                  const std::function<void(const std::vector<EntityId>&)>& visit);

}  // namespace tessera::plan
