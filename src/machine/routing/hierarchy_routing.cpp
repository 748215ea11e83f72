#include "routing_by.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/graph/hierarchy.hpp"
#include "tessera/machine/routings.hpp"

namespace tessera::machine {

HierarchyRouting::HierarchyRouting(const Topology& topology)
    : topology_(&topology), measure_(topology), known_(topology.nodes()) {
  ensure(topology.hierarchy() != nullptr, "a hierarchy to route by");
}

unsigned HierarchyRouting::next_port(EntityId here, EntityId target) const {
  return known_.port(here, target, [&] { return find_port(here, target); });
}

unsigned HierarchyRouting::find_port(EntityId here, EntityId target) const {
  const NodeTree& tree = *topology_->tree();
  const Hierarchy& hierarchy = *topology_->hierarchy();
  const Distance distance = hierarchy.between(tree, here, target, scratch_);
  ways_.clear();
  for (unsigned port = 0; port < topology_->ports(here); ++port) {
    const Link link = topology_->link(here, port);
    const Distance& length = measure_.of(link);
    // The link alone tells that most ports are not on the way.
    if (length.latency <= distance.latency && length.cost <= distance.cost &&
        joined(length, hierarchy.between(tree, link.to, target, scratch_),
               measure_.is_end(link.to)) == distance) {
      ways_.push_back(port);
    }
  }
  ensure(!ways_.empty(), "a way to every node of a hierarchy");
  return ways_[target.value() % ways_.size()];
}

namespace {

const Registration hierarchy_registration(
    routings(), {"hierarchy", "shortest, instance by instance; graphs of templates", {}},
    RoutingKind{
        .make =
            [](const Topology& topology) { return make_routing_by(HierarchyRouting(topology)); },
        .fits = [](const Topology& topology) { return topology.hierarchy() != nullptr; },
        .needs = "a graph of templates that are alike and whose shortest ways stay inside"});

}  // namespace
}  // namespace tessera::machine
