// Parts of a machine whose flows never meet, and the node that solves for each: its hub.
//
// Method: two routes that share a link belong to one part, and so do all that such routes join:
// connected components of links, by union-find (R. Tarjan, "Efficiency of a good but not linear set
// union algorithm", J. ACM 22(2), 1975, doi:10.1145/321879.321884) over the routes of all pairs
// that exchange messages in a run. A link that nobody uses belongs to none. The hub is the lowest
// node that sends over the part: it depends on the work, and not on how the machine is cut; a cut
// that keeps those together who talk puts it with them.
//
// Where each message has links of its own, as in rings around switches, every sender would be a hub
// and share out at each instant what one hub shares out for many. So parts whose lowest senders are
// in one domain of the machine (Topology::domain: a server) have one hub, the lowest of these,
// which solves them side by side; where there are more than `most_hubs` domains, those of a run of
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flow/link_numbers.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {

class FlowParts {
 public:
  static constexpr std::uint32_t most_hubs = 4096;

  // One part, of all links, whose hub is node 0. The topology outlives it.
  explicit FlowParts(const machine::Topology& topology);

  // Finds the parts of what these pairs send each other. `with_nodes`: all that one node sends or
  // receives is of one part, as rings need (rings.cpp), whose members pass on what they receive.
  void learn(const machine::Routing& routing, const PairVisit& pairs, bool with_nodes);

  const LinkNumbers& numbers() const { return numbers_; }
  // None: it belongs to no part.
  EntityId hub(std::uint32_t link) const {
    return hub_of_.empty() ? first_node : EntityId(hub_of_[link]);
  }
  // Among the links of its hub.
  std::uint32_t place(std::uint32_t link) const {
    return place_of_.empty() ? link : place_of_[link];
  }
  // Of all that the node sends and receives, where parts were found with nodes.
  EntityId hub_at(EntityId node) const {
    return hub_at_.empty() ? first_node : EntityId(hub_at_[node.value()]);
  }
  // Lowest first.
  std::span<const EntityId> hubs() const { return hubs_; }
  bool is_hub(EntityId node) const;
  // Those that a hub solves for, in order of places.
  std::vector<std::uint32_t> links_of(EntityId hub) const;

  // On every rank, for each link of the machine.
  static constexpr std::size_t bytes_a_link() { return 3 * sizeof(std::uint32_t); }

 private:
  static constexpr EntityId first_node = EntityId(0);

  void give_places();

  const machine::Topology& topology_;
  LinkNumbers numbers_;
  // Empty while there is one part of all.
  std::vector<std::uint32_t> hub_of_;    // [links] node, or none
  std::vector<std::uint32_t> place_of_;  // [links]
  std::vector<std::uint32_t> hub_at_;    // [nodes]
  std::vector<std::uint32_t> links_;     // those of a hub in order, hubs one after the other
  std::vector<std::uint32_t> first_;     // [hubs + 1] in links_
  std::vector<EntityId> hubs_{first_node};
};

}  // namespace tessera::network
