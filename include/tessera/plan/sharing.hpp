// What messages that go at the same time share, and plans and estimates for networks in which that
// is not every link.
#pragma once

#include <cstdint>

#include "tessera/plan/plan.hpp"

namespace tessera::plan {

enum class Sharing : std::uint8_t {
  links,    // the bandwidth of every link
  ports,    // the links by which they leave and come in; closed forms count the first alone
  nothing,  // each goes as if it was alone
};

// As make_plan of plan.hpp, which takes messages to share links.
Plan make_plan(const machine::Machine& machine, const workload::Workload& workload,
               const Strategy& strategy, const OperationTime& operation_time,
               const Transfers& transfers, Sharing sharing);

}  // namespace tessera::plan
