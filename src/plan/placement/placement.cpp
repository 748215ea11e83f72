#include "tessera/plan/placement/placement.hpp"

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

Placement place_linear(const machine::Machine& machine, const PlacementRequest& request,
                       const TrafficSource&) {
  const machine::Topology& topology = *machine.topology;
  const machine::NodeOrder usable = usable_nodes(topology, request);
  const std::uint64_t wanted = request.degrees.tiles();
  if (usable.size() < wanted) {
    throw ConfigError("pipeline * data * tensor = " + std::to_string(wanted) + " tiles, but " +
                      (request.nodes.empty() ? "the machine has " : "there are ") +
                      std::to_string(usable.size()));
  }
  return Placement(request.degrees, usable.first(wanted), topology.nodes());
}

Placement place_as_given(const machine::Machine& machine, const PlacementRequest& request,
                         const TrafficSource&) {
  ensure(request.tiles.size() == request.degrees.tiles(), "a given tile for each role");
  return Placement(request.degrees, request.tiles, machine.topology->nodes());
}

const Registration linear(placements(),
                          {"linear",
                           "roles on computing nodes in the order of their numbers; any topology",
                           {}},
                          place_linear);
const Registration given(placements(), {"given", "as given by placement.tiles; any topology", {}},
                         place_as_given);

}  // namespace

Registry<Placer>& placements() {
  static Registry<Placer> registry("layout");
  return registry;
}

machine::NodeOrder usable_nodes(const machine::Topology& topology,
                                const PlacementRequest& request) {
  return request.nodes.empty() ? topology.computing_node_ids() : machine::NodeOrder(request.nodes);
}

Placement::Placement(const Degrees& degrees, std::vector<EntityId> tiles, std::uint32_t nodes)
    : degrees_(degrees),
      tensor_(degrees.tensor),
      data_(degrees.data),
      stage_(degrees.data * degrees.tensor),
      tiles_(std::move(tiles)),
      role_of_(nodes, unused) {
  ensure(tiles_.size() == degrees_.tiles(), "a tile for each role");
  for (std::uint32_t number = 0; number < tiles_.size(); ++number) {
    const std::uint32_t node = tiles_[number].value();
    ensure(role_of_[node] == unused, "a tile plays one role");
    role_of_.set(node, number);
  }
}

std::size_t Placement::resident_bytes() const {
  return tiles_.capacity() * sizeof(EntityId) + role_of_.resident_bytes();
}

}  // namespace tessera::plan
