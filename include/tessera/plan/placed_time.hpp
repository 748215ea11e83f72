// How long an iteration of a placed plan takes, roughly.
#pragma once

#include "tessera/plan/sharing.hpp"

namespace tessera::plan {

// To choose among placements of one plan without aggregation, with programs and groups as they
// stand: the schedule, with the arithmetic of the slowest tiles of each stage, its collectives as
// if all groups of the stage began them together, and boundary tensors likewise (CollectiveClock).
// What stages do to each other's messages, accesses to memory and the sums of tied weights are left
// out.
SimTime placed_time(const machine::Machine& machine, const Plan& plan,
                    const OperationTime& operation_time, const Transfers& transfers,
                    Sharing sharing = Sharing::links);

}  // namespace tessera::plan
