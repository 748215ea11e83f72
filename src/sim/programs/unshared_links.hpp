// What is said where collectives and boundary tensors of a plan share no links.
#pragma once

#include <string>
#include <vector>

#include "tessera/plan/plan.hpp"
#include "tessera/sim/platform.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

// To notes of a plan on a network whose messages do not share every link of their way
// (network/sharing.hpp): how much longer an iteration would take if they did, from 1 % on. It is
// the difference of two estimates (plan::placed_time) of the plan with one tile a stage, whose
// times of collectives and boundaries have links shared or not, and costs two such plans. Also that
// a library has no effect where nothing is shared.
void note_unshared_links(const Platform& platform, const workload::Workload& workload,
                         const plan::Plan& plan, std::vector<std::string>& notes);

}  // namespace tessera::sim
