// Hop-weighted traffic of placements that differ in a few roles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/machine/machine.hpp"
#include "tessera/plan/placement/route_costs.hpp"
#include "tessera/plan/traffic.hpp"

namespace tessera::plan {

// The cost of a placement is the sum of RouteCost::of over all messages, and over all accesses
// along the route between the tile and its DRAM channel [2^-20 ps]. Exact integers.
class PlacementCost {
 public:
  // Of all roles that a role sends to or receives from, one entry.
  struct Partner {
    std::uint32_t role = 0;
    std::uint64_t sent = 0;      // [B]
    std::uint64_t received = 0;  // [B]
  };

  PlacementCost(const machine::Machine& machine, const RoleTrafficList& traffic,
                std::uint32_t roles);

  // `tiles`: [roles] node of each role. O(messages).
  Wide total(const std::vector<EntityId>& tiles) const;
  // The part of the total that depends on where these roles are, each message once. What a move of
  // them changes here it changes in the total. O(their messages); the roles are all different.
  Wide of(const std::vector<EntityId>& tiles, std::span<const std::uint32_t> roles);
  std::span<const Partner> partners(std::uint32_t role) const {
    return {partners_.data() + first_[role], first_[role + 1] - first_[role]};
  }

 private:
  struct Access {
    std::uint64_t read = 0;     // [B]
    std::uint64_t written = 0;  // [B]
  };
  Wide message_cost(const std::vector<EntityId>& tiles, EntityId here,
                    const Partner& partner) const;
  Wide access_cost(std::uint32_t role, EntityId here) const;
  void add_messages(const std::vector<RoleTraffic>& messages);

  RouteCosts routes_;
  std::vector<std::uint64_t> first_;  // [roles + 1] place of a role's partners
  std::vector<Partner> partners_;
  std::vector<Access> accesses_;          // [roles]; empty without DRAM
  std::vector<std::uint64_t> read_cost_;  // [nodes] of the route from the channel [ps / MiB]
  std::vector<std::uint64_t> write_cost_;
  std::vector<std::uint64_t> stamp_;  // [roles] last query in which the role was moved
  std::uint64_t query_ = 0;
};

}  // namespace tessera::plan
