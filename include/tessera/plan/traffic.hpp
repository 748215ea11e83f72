// What the tiles of a plan send each other and their memory in one iteration, and how far.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/core/units.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/plan/program.hpp"

namespace tessera::plan {

class Placement;
struct Plan;

// Bytes from one role to another, for one purpose, in one iteration; roles as Placement numbers
// them.
struct RoleTraffic {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Bytes bytes;
  Traffic traffic = Traffic::activation;
};

// Bytes of one role from and to the DRAM channel that serves its tile, in one iteration.
struct RoleAccess {
  std::uint32_t role = 0;
  Bytes read;
  Bytes written;
};

struct TrafficVisitor {
  std::function<void(const RoleTraffic&)> message;
  std::function<void(const RoleAccess&)> access;
};

// Everything the programs of the stages send and access; where the tiles are does not matter. One
// call for each role, peer, purpose and size; O(roles), and O(members * steps) for each different
// collective.
void visit_traffic(const Plan& plan, const TrafficVisitor& visitor);

struct RoleTrafficList {
  std::vector<RoleTraffic> messages;
  std::vector<RoleAccess> accesses;
};
RoleTrafficList traffic_of(const Plan& plan);

// Traffic of one kind on a placement.
struct HopTraffic {
  Wide bytes = 0;
  Wide byte_hops = 0;              // each byte as often as it crosses a link
  Wide cost = 0;                   // sum of RouteCost::of [2^-20 ps]
  std::uint32_t longest_hops = 0;  // of any message of the kind
  HopTraffic& operator+=(const HopTraffic& other);
  // Hops of a byte, on average; 0 without bytes.
  double mean_hops() const;
  // What all links together are busy with it, were no time lost [s].
  double link_seconds() const;
};

struct PlacementTraffic {
  std::array<HopTraffic, program_traffic_kinds> messages;  // by Traffic
  HopTraffic memory;
  HopTraffic total() const;
};

// Hop-weighted traffic of one iteration, to compare placements by: along default routes (see
// RouteCosts), DRAM at the channel that serves the tile. What memory models add (requests,
// acknowledgements) is left out. Throws ConfigError when the routes are not affordable.
PlacementTraffic hop_weighted_traffic(const machine::Machine& machine, const Plan& plan,
                                      const Placement& placement);

}  // namespace tessera::plan
