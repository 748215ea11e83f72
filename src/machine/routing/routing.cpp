#include "tessera/machine/routing/routing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "routing/shortest_on_grid.hpp"
#include "routing_by.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/routings.hpp"

namespace tessera::machine {
namespace {

// Ports that the file gives, and another routing for everything else. A port is given for every
// node from the first one of a route on, so that whoever comes upon a route stays on it.
class GivenRouting final : public Routing {
 public:
  GivenRouting(const GivenRoutes& given, std::unique_ptr<Routing> otherwise)
      : given_(given), otherwise_(std::move(otherwise)) {}
  unsigned next_port(EntityId here, EntityId target) const override {
    const auto found = given_.ports.find(GivenRoutes::key(here, target));
    return found == given_.ports.end() ? otherwise_->next_port(here, target) : found->second;
  }

 private:
  const GivenRoutes& given_;
  std::unique_ptr<Routing> otherwise_;
};

std::unique_ptr<Routing> make_given(const Topology& topology) {
  const GivenRoutes& given = *topology.given_routes();
  const bool is_usable = routing_problem(given.otherwise, topology).empty();
  return std::make_unique<GivenRouting>(
      given, make_routing(is_usable ? given.otherwise : "shortest", topology));
}

RoutingKind dimension_order(bool rows_first) {
  return {.make =
              [rows_first](const Topology& topology) {
                return make_routing_by(DimensionOrderRouting(*topology.grid(), rows_first));
              },
          .fits = [](const Topology& topology) { return topology.grid().has_value(); },
          .needs = "a mesh, torus or wafer"};
}

// On large grids the same ways are found without a search over all nodes.
RoutingKind shortest(bool spread) {
  return {.make =
              [spread](const Topology& topology) {
                return ShortestOnGrid::fits(topology) && ShortestOnGrid::pays(topology)
                           ? make_routing_by(ShortestOnGrid(topology, spread))
                           : make_routing_by(ShortestPathRouting(topology, spread));
              },
          .fits = {},
          .avoids_dead_links = true};
}

const Registration xy(routings(), {"xy", "along the row first; grids", {}}, dimension_order(true));
const Registration yx(routings(), {"yx", "along the column first; grids", {}},
                      dimension_order(false));
const Registration the_shortest(routings(), {"shortest", "smallest latency", {}}, shortest(false));
const Registration ecmp(routings(), {"ecmp", "shortest, spread over equal routes", {}},
                        shortest(true));
const Registration given(
    routings(), {"given", "routes of the file; graphs with such", {}},
    RoutingKind{.make = make_given,
                .fits = [](const Topology& topology) { return topology.given_routes() != nullptr; },
                .needs = "a graph with 'routes'"});

constexpr Path no_path{
    .hops = 0,
    .latency = SimTime::zero(),
    .bottleneck = Bandwidth::bytes_per_second(std::numeric_limits<std::uint64_t>::max())};

void add_link(const LinkClass& link_class, Path& path) {
  ++path.hops;
  path.latency += link_class.latency;
  path.bottleneck = std::min(path.bottleneck, link_class.bandwidth);
  path.longest = std::max(path.longest, link_class.latency);
}

}  // namespace

Registry<RoutingKind>& routings() {
  static Registry<RoutingKind> registry("routing");
  return registry;
}

DimensionOrderRouting::DimensionOrderRouting(const Grid& grid, bool rows_first)
    : grid_(grid), columns_(grid.columns), rows_first_(rows_first) {}

std::vector<std::string> routing_names() {
  return routings().names();
}

std::string routing_problem(const std::string& name, const Topology& topology) {
  if (!routings().contains(name)) {
    return unknown_name("routing", name, routing_names());
  }
  const RoutingKind& kind = routings().at(name);
  if (topology.has_dead_links() && !kind.avoids_dead_links) {
    return "'" + name + "' would cross dead links; use '" + topology.default_routing() + "'";
  }
  if (kind.fits && !kind.fits(topology)) {
    return "'" + name + "' needs " + kind.needs + "; use '" + topology.default_routing() + "'";
  }
  return "";
}

std::unique_ptr<Routing> make_routing(const std::string& name, const Topology& topology) {
  const std::string problem = routing_problem(name, topology);
  if (!problem.empty()) {
    throw ConfigError(problem);
  }
  return routings().at(name).make(topology);
}

void refuse_route(const Topology& topology, EntityId from, EntityId to, bool is_loop) {
  throw ModelError("the route from " + topology.node_name(from) + " to " + topology.node_name(to) +
                   (is_loop ? " is a loop" : " leads off the machine"));
}

std::vector<Hop> hops_between(const Topology& topology, const Routing& routing, EntityId from,
                              EntityId to) {
  std::vector<Hop> hops;
  walk_route(topology, routing, from, to, [&](EntityId node, unsigned port, const Link&) {
    hops.push_back({node, port});
  });
  return hops;
}

Path path_between(const Topology& topology, const Routing& routing, EntityId from, EntityId to) {
  Path path = no_path;
  walk_route(topology, routing, from, to, [&](EntityId, unsigned, const Link& link) {
    add_link(topology.link_classes()[link.link_class], path);
  });
  return path;
}

Path path_between(const Topology& topology, const Routing& routing, EntityId from, EntityId to,
                  std::vector<Hop>& hops) {
  Path path = no_path;
  hops.clear();
  walk_route(topology, routing, from, to, [&](EntityId node, unsigned port, const Link& link) {
    add_link(topology.link_classes()[link.link_class], path);
    hops.push_back({node, port});
  });
  return path;
}

}  // namespace tessera::machine
