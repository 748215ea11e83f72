#include "flit/own_routes.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::network {
namespace {

// Of all targets, a search over the machine for each where routes are found so.
bool can_be_checked(const machine::Topology& topology, const std::string& routing) {
  const bool searches = routing == "shortest" || routing == "ecmp";
  return topology.nodes() <= (searches ? most_searched_nodes : most_checked_nodes);
}

// Which links of a machine wait for which: those that packets take next.
class LinkGraph {
 public:
  explicit LinkGraph(const machine::Topology& topology) : topology_(topology) {
    first_link_.push_back(0);
    std::size_t bits = 0;
    for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
      const EntityId from(node);
      for (unsigned port = 0; port < topology.ports(from); ++port) {
        const EntityId to = topology.link(from, port).to;
        ends_.push_back(to);
        first_bit_.push_back(bits);
        bits += to.valid() ? topology.ports(to) : 0;
      }
      first_link_.push_back(static_cast<std::uint32_t>(ends_.size()));
    }
    waits_.resize(bits);
  }

  // The link behind `port` of `node` waits for that behind port `then` at its end.
  void add(EntityId node, unsigned port, unsigned then) {
    waits_[first_bit_[first_link_[node.value()] + port] + then] = true;
  }

  // Takes away links that nobody waits for, until none is left or only circles are.
  bool has_circle() const {
    std::vector<std::uint32_t> waiting(ends_.size());
    for (std::uint32_t link = 0; link < ends_.size(); ++link) {
      visit(link, [&](std::uint32_t other) { ++waiting[other]; });
    }
    std::vector<std::uint32_t> free;
    for (std::uint32_t link = 0; link < ends_.size(); ++link) {
      if (waiting[link] == 0) {
        free.push_back(link);
      }
    }
    for (std::size_t at = 0; at < free.size(); ++at) {
      visit(free[at], [&](std::uint32_t other) {
        if (--waiting[other] == 0) {
          free.push_back(other);
        }
      });
    }
    return free.size() < ends_.size();
  }

 private:
  // Links that this one waits for.
  template <class Visit>
  void visit(std::uint32_t link, const Visit& visit) const {
    const EntityId end = ends_[link];
    const unsigned ports = end.valid() ? topology_.ports(end) : 0;
    for (unsigned port = 0; port < ports; ++port) {
      if (waits_[first_bit_[link] + port]) {
        visit(first_link_[end.value()] + port);
      }
    }
  }

  const machine::Topology& topology_;
  std::vector<std::uint32_t> first_link_;  // [nodes + 1]
  std::vector<EntityId> ends_;             // [links]
  std::vector<std::size_t> first_bit_;     // [links] in waits_
  std::vector<bool> waits_;                // [links, ports of the end]
};

// The machine's own routes.
class OwnRoutes final : public FlitRoutes {
 public:
  OwnRoutes(const machine::Topology& topology, const std::string& routing)
      : topology_(topology),
        name_(routing),
        routing_(machine::make_routing(routing, topology)),
        order_(order()) {}

  FlitChoice next(const FlitStep& step) const override {
    const auto port = static_cast<std::uint16_t>(routing_->next_port(step.here, step.target));
    if (shares_.size() == 1) {
      return {port, no_port, shares_.front()};
    }
    unsigned share = 0;
    if (step.in_port < topology_.ports(step.here)) {
      share = share_of(step.in_vc);
      const EntityId before = topology_.link(step.here, step.in_port).to;
      if (goes_down(before, step.here) && !goes_down(step.here, neighbour(step.here, port))) {
        ++share;
      }
    }
    if (share >= shares_.size()) {
      throw ModelError("flit network: a packet from " + topology_.node_name(step.source) + " to " +
                       topology_.node_name(step.target) +
                       " goes up after it went down too often for these virtual channels");
    }
    return {port, no_port, shares_[share]};
  }

  // Divides the channels; false when there are too few, `needed` says how many it takes.
  bool share_out(unsigned vcs, unsigned& needed) {
    needed = can_be_checked(topology_, name_) ? shares_needed() : std::min(vcs, 2U);
    if (needed > vcs) {
      return false;
    }
    for (unsigned share = 0; share < needed; ++share) {
      const unsigned first = vcs * share / needed;
      const unsigned last = vcs * (share + 1) / needed;
      shares_.push_back(lowest_vcs(last) & ~lowest_vcs(first));
    }
    return true;
  }

 private:
  EntityId neighbour(EntityId node, unsigned port) const { return topology_.link(node, port).to; }
  bool goes_down(EntityId from, EntityId to) const {
    return order_[to.value()] < order_[from.value()];
  }
  unsigned share_of(unsigned vc) const {
    unsigned share = 0;
    while ((shares_[share] >> vc & 1) == 0) {
      ++share;
    }
    return share;
  }

  bool is_end(EntityId node) const { return topology_.role(node) != machine::NodeRole::switching; }

  // Place of each node in the order: by the hops from the nearest end, then by number.
  std::vector<std::uint32_t> order() const {
    const std::uint32_t nodes = topology_.nodes();
    std::vector<std::uint32_t> hops(nodes, nodes);
    std::vector<EntityId> found;
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if (is_end(EntityId(node))) {
        hops[node] = 0;
        found.push_back(EntityId(node));
      }
    }
    for (std::size_t at = 0; at < found.size(); ++at) {
      for (unsigned port = 0; port < topology_.ports(found[at]); ++port) {
        const EntityId next = neighbour(found[at], port);
        if (next.valid() && hops[next.value()] == nodes) {
          hops[next.value()] = hops[found[at].value()] + 1;
          found.push_back(next);
        }
      }
    }
    std::vector<std::uint32_t> sorted(nodes);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return hops[a] < hops[b]; });
    std::vector<std::uint32_t> place(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) {
      place[sorted[i]] = i;
    }
    return place;
  }

  // Looks at all routes: one share when no circle of links can wait for each other (W. Dally, C.
  // Seitz, as above, theorem 1), else as often as the worst route goes up after going down.
  unsigned shares_needed() const {
    LinkGraph waits_for(topology_);
    unsigned most = 0;
    RoutesTo routes(topology_.nodes());
    for (std::uint32_t to = 0; to < topology_.nodes(); ++to) {
      if (is_end(EntityId(to))) {
        most = std::max(most, look_at(EntityId(to), routes, waits_for));
      }
    }
    return waits_for.has_circle() ? most + 1 : 1;
  }

  // What is known of the routes to one target, which meet on their way.
  struct RoutesTo {
    explicit RoutesTo(std::uint32_t nodes)
        : seen_for(nodes, nodes), next_port(nodes), turns(nodes) {}
    std::vector<std::uint32_t> seen_for;   // [nodes] the target that the others are for
    std::vector<std::uint16_t> next_port;  // [nodes]
    std::vector<std::uint16_t> turns;      // [nodes] from there on, from down to up
    std::vector<EntityId> way;
  };

  // The most turns from down to up of a route to `to`.
  unsigned look_at(EntityId to, RoutesTo& routes, LinkGraph& waits_for) const {
    unsigned most = 0;
    for (std::uint32_t from = 0; from < topology_.nodes(); ++from) {
      if (from == to.value() || !is_end(EntityId(from))) {
        continue;
      }
      routes.way.clear();
      EntityId here(from);
      for (; here != to && routes.seen_for[here.value()] != to.value();
           here = neighbour(here, routes.next_port[here.value()])) {
        routes.seen_for[here.value()] = to.value();
        routes.next_port[here.value()] = static_cast<std::uint16_t>(routing_->next_port(here, to));
        routes.way.push_back(here);
      }
      for (; !routes.way.empty(); routes.way.pop_back()) {
        add_step(routes.way.back(), to, routes, waits_for);
      }
      most = std::max<unsigned>(most, routes.turns[from]);
    }
    return most;
  }

  // The step from `node`, behind which all is known.
  void add_step(EntityId node, EntityId to, RoutesTo& routes, LinkGraph& waits_for) const {
    const unsigned port = routes.next_port[node.value()];
    const EntityId next = neighbour(node, port);
    routes.turns[node.value()] = 0;
    if (next == to) {
      return;
    }
    const unsigned then = routes.next_port[next.value()];
    waits_for.add(node, port, then);
    const bool turns = goes_down(node, next) && !goes_down(next, neighbour(next, then));
    routes.turns[node.value()] =
        static_cast<std::uint16_t>(routes.turns[next.value()] + (turns ? 1 : 0));
  }

  const machine::Topology& topology_;
  std::string name_;
  std::unique_ptr<machine::Routing> routing_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> shares_;  // of the virtual channels
};

}  // namespace

std::unique_ptr<FlitRoutes> make_own_routes(const machine::Topology& topology,
                                            const std::string& routing, unsigned vcs,
                                            std::string& problem) {
  auto routes = std::make_unique<OwnRoutes>(topology, routing);
  unsigned needed = 0;
  if (!routes->share_out(vcs, needed)) {
    problem = "'" + routing + "' on this machine needs " + std::to_string(needed) +
              " virtual channels against deadlock";
    return nullptr;
  }
  return routes;
}

}  // namespace tessera::network
