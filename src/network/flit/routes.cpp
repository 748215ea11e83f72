#include "flit/routes.hpp"

#include <algorithm>
#include <utility>

#include "flit/own_routes.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::network {
namespace {

using machine::Grid;

class DimensionOrder final : public FlitRoutes {
 public:
  DimensionOrder(const Grid& grid, bool rows_first, unsigned vcs)
      : order_(grid, rows_first), all_(lowest_vcs(vcs)) {}
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
        all_(lowest_vcs(vcs)),
        before_(lowest_vcs(vcs / 2)),
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
  Adaptive(const Grid& grid, unsigned vcs) : grid_(grid), all_(lowest_vcs(vcs)) {}
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
  return make_own_routes(topology, routing, vcs, problem);
}

}  // namespace tessera::network
