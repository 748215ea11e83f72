#include "tessera/machine/routing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/core/text.hpp"
#include "tessera/machine/hierarchy.hpp"

namespace tessera::machine {
namespace {

template <class Algorithm>
class RoutingBy final : public Routing {
 public:
  explicit RoutingBy(Algorithm algorithm) : algorithm_(std::move(algorithm)) {}
  unsigned next_port(EntityId here, EntityId target) const override {
    return algorithm_.next_port(here, target);
  }

 private:
  Algorithm algorithm_;
};

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

}  // namespace

DimensionOrderRouting::DimensionOrderRouting(const Grid& grid, bool rows_first)
    : grid_(grid), columns_(grid.columns), rows_first_(rows_first) {}

std::vector<std::string> routing_names() {
  return {"xy", "yx", "cluster", "stack", "hierarchy", "given", "ecmp", "shortest"};
}

std::string routing_problem(const std::string& name, const Topology& topology) {
  const std::vector<std::string> names = routing_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return unknown_name("routing", name, names);
  }
  if (topology.has_dead_links() && name != "shortest" && name != "ecmp") {
    return "'" + name + "' would cross dead links; use 'shortest'";
  }
  if ((name == "xy" || name == "yx") && !topology.grid()) {
    return "'" + name + "' needs a mesh, torus or wafer; use '" + topology.default_routing() + "'";
  }
  if (name == "cluster" && !topology.cluster()) {
    return "'cluster' needs a cluster; use '" + topology.default_routing() + "'";
  }
  if (name == "stack" && topology.stack() == nullptr) {
    return "'stack' needs a stack; use '" + topology.default_routing() + "'";
  }
  if (name == "hierarchy" && topology.hierarchy() == nullptr) {
    return "'hierarchy' needs a graph of templates that are alike and whose shortest ways stay "
           "inside; use '" +
           topology.default_routing() + "'";
  }
  if (name == "given" && topology.given_routes() == nullptr) {
    return "'given' needs a graph with 'routes'; use '" + topology.default_routing() + "'";
  }
  return "";
}

std::unique_ptr<Routing> make_routing(const std::string& name, const Topology& topology) {
  const std::string problem = routing_problem(name, topology);
  if (!problem.empty()) {
    throw ConfigError(problem);
  }
  if (name == "shortest" || name == "ecmp") {
    return std::make_unique<RoutingBy<ShortestPathRouting>>(
        ShortestPathRouting(topology, name == "ecmp"));
  }
  if (name == "hierarchy") {
    return std::make_unique<RoutingBy<HierarchyRouting>>(HierarchyRouting(topology));
  }
  if (name == "given") {
    const GivenRoutes& given = *topology.given_routes();
    const bool is_usable = routing_problem(given.otherwise, topology).empty();
    return std::make_unique<GivenRouting>(
        given, make_routing(is_usable ? given.otherwise : "shortest", topology));
  }
  if (name == "cluster") {
    return std::make_unique<RoutingBy<ClusterRouting>>(ClusterRouting(*topology.cluster()));
  }
  if (name == "stack") {
    return std::make_unique<RoutingBy<StackRouting>>(StackRouting(*topology.stack()));
  }
  return std::make_unique<RoutingBy<DimensionOrderRouting>>(
      DimensionOrderRouting(*topology.grid(), name == "xy"));
}

namespace {

// Calls visit(node, port, link) for each link from `from` to `to`.
template <class Visit>
void walk(const Topology& topology, const Routing& routing, EntityId from, EntityId to,
          const Visit& visit) {
  std::uint32_t hops = 0;
  for (EntityId here = from; here != to; ++hops) {
    const unsigned port = routing.next_port(here, to);
    const Link link = topology.link(here, port);
    if (!link.to.valid() || hops >= topology.nodes()) {
      throw ModelError("the route from " + topology.node_name(from) + " to " +
                       topology.node_name(to) +
                       (link.to.valid() ? " is a loop" : " leads off the machine"));
    }
    visit(here, port, link);
    here = link.to;
  }
}

}  // namespace

std::vector<Hop> hops_between(const Topology& topology, const Routing& routing, EntityId from,
                              EntityId to) {
  std::vector<Hop> hops;
  walk(topology, routing, from, to, [&](EntityId node, unsigned port, const Link&) {
    hops.push_back({node, port});
  });
  return hops;
}

Path path_between(const Topology& topology, const Routing& routing, EntityId from, EntityId to) {
  Path path{.hops = 0,
            .latency = SimTime::zero(),
            .bottleneck = Bandwidth::bytes_per_second(std::numeric_limits<std::uint64_t>::max())};
  walk(topology, routing, from, to, [&](EntityId, unsigned, const Link& link) {
    const LinkClass& link_class = topology.link_classes()[link.link_class];
    ++path.hops;
    path.latency += link_class.latency;
    path.bottleneck = std::min(path.bottleneck, link_class.bandwidth);
  });
  return path;
}

}  // namespace tessera::machine
