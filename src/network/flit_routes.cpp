#include "flit_routes.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/machine/routing.hpp"

namespace tessera::network {
namespace {

using machine::Grid;

std::uint32_t lowest(unsigned count) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
}

class DimensionOrder final : public FlitRoutes {
 public:
  DimensionOrder(const Grid& grid, bool rows_first, unsigned vcs)
      : order_(grid, rows_first), all_(lowest(vcs)) {}
  FlitChoice next(const FlitStep& step) const override {
    return {static_cast<std::uint16_t>(order_.next_port(step.here, step.target)), no_port, all_};
  }

 private:
  machine::DimensionOrderRouting order_;
  std::uint32_t all_;
};

class Dateline final : public FlitRoutes {
 public:
  Dateline(const Grid& grid, bool rows_first, unsigned vcs)
      : grid_(grid),
        order_(grid, rows_first),
        all_(lowest(vcs)),
        before_(lowest(vcs / 2)),
        after_(all_ & ~before_) {}
  FlitChoice next(const FlitStep& step) const override {
    unsigned port = order_.next_port(step.here, step.target);
    const bool along_row = port == machine::west || port == machine::east;
    const auto place = [&](EntityId node) {
      return along_row ? grid_.column_of(node) : grid_.row_of(node);
    };
    const std::uint32_t size = along_row ? grid_.columns : grid_.rows;
    const std::uint32_t here = place(step.here);
    const std::uint32_t source = place(step.source);
    const std::uint32_t target = place(step.target);
    // Half of a ring is as far either way: every other node goes the other one.
    const std::uint32_t apart = std::max(here, target) - std::min(here, target);
    if (2 * apart == size && here % 2 == 1) {
      port ^= 1U;
    }
    const bool upward = port == machine::east || port == machine::south;
    const bool crosses = upward ? target < source : target > source;
    const bool at_line = here == (upward ? size - 1 : 0);
    const bool is_behind = upward ? here < source : here > source;
    std::uint32_t vcs = all_;
    if (crosses) {
      vcs = is_behind ? after_ : at_line ? all_ : before_;
    } else if (step.in_port == (port ^ 1U) && (after_ >> step.in_vc & 1) != 0) {
      vcs = after_;
    }
    return {static_cast<std::uint16_t>(port), no_port, vcs};
  }

 private:
  Grid grid_;
  machine::DimensionOrderRouting order_;
  std::uint32_t all_;
  std::uint32_t before_;
  std::uint32_t after_;
};

// Which ways are open to a packet whose target lies this far off.
struct Ways {
  bool along_row = false;
  bool along_column = false;
};

class Adaptive : public FlitRoutes {
 public:
  Adaptive(const Grid& grid, unsigned vcs) : grid_(grid), all_(lowest(vcs)) {}
  FlitChoice next(const FlitStep& step) const final {
    const std::int64_t east = column(step.target) - column(step.here);
    const std::int64_t south = row(step.target) - row(step.here);
    const auto row_port = static_cast<std::uint16_t>(east > 0 ? machine::east : machine::west);
    const auto column_port =
        static_cast<std::uint16_t>(south > 0 ? machine::south : machine::north);
    const Ways ways = open(step, east, south);
    if (!ways.along_row) {
      return {column_port, no_port, all_};
    }
    return {row_port, ways.along_column ? column_port : no_port, all_};
  }

 protected:
  std::int64_t column(EntityId node) const { return grid_.column_of(node); }
  std::int64_t row(EntityId node) const { return grid_.row_of(node); }

 private:
  // At least one is open.
  virtual Ways open(const FlitStep& step, std::int64_t east, std::int64_t south) const = 0;

  Grid grid_;
  std::uint32_t all_;
};

class WestFirst final : public Adaptive {
 public:
  using Adaptive::Adaptive;

 private:
  Ways open(const FlitStep&, std::int64_t east, std::int64_t south) const override {
    return {east != 0, east >= 0 && south != 0};
  }
};

class OddEven final : public Adaptive {
 public:
  using Adaptive::Adaptive;

 private:
  Ways open(const FlitStep& step, std::int64_t east, std::int64_t south) const override {
    if (east == 0 || south == 0) {
      return {east != 0, south != 0};
    }
    const std::int64_t here = column(step.here);
    if (east < 0) {
      return {true, here % 2 == 0};
    }
    return {column(step.target) % 2 == 1 || east != 1,
            here % 2 == 1 || here == column(step.source)};
  }
};

// The machine's own routes.
class OwnRoutes final : public FlitRoutes {
 public:
  OwnRoutes(const machine::Topology& topology, const std::string& routing)
      : topology_(topology), routing_(machine::make_routing(routing, topology)), order_(order()) {}

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
    needed = topology_.nodes() <= most_checked_nodes ? shares_needed() : std::min(vcs, 2U);
    if (needed > vcs) {
      return false;
    }
    for (unsigned share = 0; share < needed; ++share) {
      const unsigned first = vcs * share / needed;
      const unsigned last = vcs * (share + 1) / needed;
      shares_.push_back(lowest(last) & ~lowest(first));
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

  // Walks all routes: one share when no circle of links can wait for each other (W. Dally, C.
  // Seitz, as above, theorem 1), else as often as the worst route goes up after going down.
  unsigned shares_needed() const {
    std::vector<std::uint32_t> first_link{0};
    for (std::uint32_t node = 0; node < topology_.nodes(); ++node) {
      first_link.push_back(first_link.back() + topology_.ports(EntityId(node)));
    }
    std::vector<std::set<std::uint32_t>> waits_for(first_link.back());
    unsigned most = 1;
    for (std::uint32_t from = 0; from < topology_.nodes(); ++from) {
      for (std::uint32_t to = 0; to < topology_.nodes(); ++to) {
        if (from != to && is_end(EntityId(from)) && is_end(EntityId(to))) {
          most = std::max(most, walk(EntityId(from), EntityId(to), first_link, waits_for));
        }
      }
    }
    return has_circle(waits_for) ? most : 1;
  }

  unsigned walk(EntityId from, EntityId to, const std::vector<std::uint32_t>& first_link,
                std::vector<std::set<std::uint32_t>>& waits_for) const {
    unsigned shares = 1;
    bool down = false;
    std::optional<std::uint32_t> before;
    while (from != to) {
      const unsigned port = routing_->next_port(from, to);
      const std::uint32_t link = first_link[from.value()] + port;
      const EntityId next = neighbour(from, port);
      if (before) {
        waits_for[*before].insert(link);
        shares += down && !goes_down(from, next) ? 1 : 0;
      }
      before = link;
      down = goes_down(from, next);
      from = next;
    }
    return shares;
  }

  // Takes away links that nobody waits for, until none is left or only circles are.
  static bool has_circle(const std::vector<std::set<std::uint32_t>>& waits_for) {
    std::vector<std::uint32_t> waiting(waits_for.size(), 0);
    for (const auto& others : waits_for) {
      for (const std::uint32_t other : others) {
        ++waiting[other];
      }
    }
    std::vector<std::uint32_t> free;
    for (std::uint32_t link = 0; link < waiting.size(); ++link) {
      if (waiting[link] == 0) {
        free.push_back(link);
      }
    }
    for (std::size_t at = 0; at < free.size(); ++at) {
      for (const std::uint32_t other : waits_for[free[at]]) {
        if (--waiting[other] == 0) {
          free.push_back(other);
        }
      }
    }
    return free.size() < waits_for.size();
  }

  const machine::Topology& topology_;
  std::unique_ptr<machine::Routing> routing_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> shares_;  // of the virtual channels
};

}  // namespace

std::optional<unsigned> port_back(const machine::Topology& topology, EntityId node, unsigned port) {
  const EntityId to = topology.link(node, port).to;
  if (topology.grid()) {  // rings of two have two links each way, where east meets west
    const unsigned back = port ^ 1U;
    return topology.link(to, back).to == node ? std::optional(back) : std::nullopt;
  }
  unsigned turn = 0;
  for (unsigned other = 0; other < port; ++other) {
    turn += topology.link(node, other).to == to ? 1 : 0;
  }
  for (unsigned back = 0; back < topology.ports(to); ++back) {
    if (topology.link(to, back).to == node && turn-- == 0) {
      return back;
    }
  }
  return std::nullopt;
}

std::vector<std::string> adaptive_routings() {
  return {"west-first", "odd-even"};
}

std::unique_ptr<FlitRoutes> make_flit_routes(const machine::Topology& topology,
                                             const std::string& routing, unsigned vcs,
                                             std::string& problem) {
  const std::optional<Grid> grid = topology.grid();
  const bool mesh = grid && !grid->wraps && !topology.has_dead_links();
  if (routing == "west-first" || routing == "odd-even") {
    if (!mesh) {
      problem = "'" + routing + "' is for meshes without faults";
      return nullptr;
    }
    if (routing == "odd-even") {
      return std::make_unique<OddEven>(*grid, vcs);
    }
    return std::make_unique<WestFirst>(*grid, vcs);
  }
  if (grid && (routing == "xy" || routing == "yx")) {
    if (!grid->wraps) {
      return std::make_unique<DimensionOrder>(*grid, routing == "xy", vcs);
    }
    if (vcs < 2) {
      problem = "the rings of a torus need 2 virtual channels against deadlock";
      return nullptr;
    }
    return std::make_unique<Dateline>(*grid, routing == "xy", vcs);
  }
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
