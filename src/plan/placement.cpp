#include "tessera/plan/placement.hpp"

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

Placement place_linear(const machine::Machine& machine, const PlacementRequest& request,
                       const TrafficSource&) {
  const machine::Topology& topology = *machine.topology;
  std::vector<EntityId> tiles;
  const std::uint64_t wanted = request.degrees.tiles();
  for (std::uint32_t node = 0; node < topology.nodes() && tiles.size() < wanted; ++node) {
    if (topology.computes(EntityId(node))) {
      tiles.emplace_back(node);
    }
  }
  if (tiles.size() < wanted) {
    throw ConfigError("pipeline * data * tensor = " + std::to_string(wanted) +
                      " tiles, but the machine has " + std::to_string(tiles.size()));
  }
  return Placement(request.degrees, std::move(tiles), topology.nodes());
}

Placement place_as_given(const machine::Machine& machine, const PlacementRequest& request,
                         const TrafficSource&) {
  ensure(request.tiles.size() == request.degrees.tiles(), "a given tile for each role");
  return Placement(request.degrees, request.tiles, machine.topology->nodes());
}

const Registration linear(placements(),
                          {"linear", "roles on computing nodes in number order, any topology", {}},
                          place_linear);
const Registration given(placements(), {"given", "as placement.tiles says, any topology", {}},
                         place_as_given);

}  // namespace

Registry<Placer>& placements() {
  static Registry<Placer> registry("layout");
  return registry;
}

Placement::Placement(const Degrees& degrees, std::vector<EntityId> tiles, std::uint32_t nodes)
    : degrees_(degrees), tiles_(std::move(tiles)), role_of_(nodes, unused) {
  ensure(tiles_.size() == degrees_.tiles(), "a tile for each role");
  for (std::uint32_t number = 0; number < tiles_.size(); ++number) {
    std::uint32_t& role = role_of_[tiles_[number].value()];
    ensure(role == unused, "a tile plays one role");
    role = number;
  }
}

std::size_t Placement::resident_bytes() const {
  return tiles_.capacity() * sizeof(EntityId) + role_of_.capacity() * sizeof(std::uint32_t);
}

}  // namespace tessera::plan
