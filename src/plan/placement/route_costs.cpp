#include "tessera/plan/placement/route_costs.hpp"

#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

constexpr std::uint32_t most_columns = 4096;
// Of more, routes are walked and costs not kept.
constexpr std::uint32_t most_kept = 1U << 20;
constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

}  // namespace

bool RouteCosts::affordable(const machine::Topology& topology) {
  return topology.grid() || topology.nodes() <= most_columns;
}

RouteCosts::RouteCosts(const machine::Topology& topology) : topology_(&topology) {
  if (!affordable(topology)) {
    throw ConfigError("routes are compared on grids and on other machines of at most " +
                      std::to_string(most_columns) + " nodes; this one has " +
                      std::to_string(topology.nodes()));
  }
  for (const machine::LinkClass& link_class : topology.link_classes()) {
    class_cost_.push_back(static_cast<std::uint64_t>(
        serialization_time(Bytes(RouteCost::unit), link_class.bandwidth).ps()));
  }
  const std::optional<machine::Grid> grid = topology.grid();
  if (grid && try_axes(*grid)) {
    return;
  }
  routing_ = machine::make_routing(topology.default_routing(), topology);
  if (topology.nodes() <= most_kept) {
    by_target_.resize(topology.nodes());
  }
}

std::uint64_t RouteCosts::link_cost(EntityId node, unsigned port) const {
  const machine::Link link = topology_->link(node, port);
  return link.to.valid() ? class_cost_[link.link_class] : 0;
}

// Sums along the first row and the first column stand for all where no link differs from them.
bool RouteCosts::try_axes(const machine::Grid& grid) {
  const bool is_too_large = !topology_->has_even_axes() && topology_->nodes() > most_kept;
  if (topology_->default_routing() == "shortest" || is_too_large) {
    return false;
  }
  const auto sums = [&](std::uint32_t size, unsigned upward, unsigned downward, auto node_at) {
    Axis axis{{0}, {0}, size, grid.wraps};
    for (std::uint32_t at = 0; at < size; ++at) {
      axis.up.push_back(axis.up.back() + link_cost(node_at(at), upward));
      axis.down.push_back(axis.down.back() + link_cost(node_at((at + 1) % size), downward));
    }
    return axis;
  };
  columns_ = sums(grid.columns, machine::east, machine::west,
                  [&](std::uint32_t at) { return grid.node(0, at); });
  rows_ = sums(grid.rows, machine::south, machine::north,
               [&](std::uint32_t at) { return grid.node(at, 0); });
  columns_a_row_ = Divisor(grid.columns);
  for (std::uint32_t node = 0; !topology_->has_even_axes() && node < topology_->nodes(); ++node) {
    const EntityId here(node);
    const auto [row, column] = cell_of(here);
    if (link_cost(here, machine::east) != columns_.up[column + 1] - columns_.up[column] ||
        link_cost(here, machine::south) != rows_.up[row + 1] - rows_.up[row]) {
      rows_ = {};
      return false;
    }
  }
  return true;
}

std::uint32_t RouteCosts::number_of(const RouteCost& cost) const {
  const auto [place, is_new] = numbers_.emplace(std::pair(cost.ps_per_mib, cost.hops),
                                                static_cast<std::uint32_t>(distinct_.size()));
  if (is_new) {
    distinct_.push_back(cost);
  }
  return place->second;
}

std::uint32_t RouteCosts::known(EntityId from, EntityId target) const {
  std::vector<std::uint32_t>& column = by_target_[target.value()];
  if (column.empty()) {
    column.assign(topology_->nodes(), unknown);
    column[target.value()] = number_of({});
  }
  if (column[from.value()] == unknown) {
    walk_into(column, from, target);
  }
  return column[from.value()];
}

// As far as the part of the route that is known; then back over what was passed.
void RouteCosts::walk_into(std::vector<std::uint32_t>& column, EntityId from,
                           EntityId target) const {
  EntityId here = from;
  std::vector<EntityId> way;
  while (column[here.value()] == unknown && way.size() <= column.size()) {
    way.push_back(here);
    here = topology_->link(here, routing_->next_port(here, target)).to;
  }
  ensure(column[here.value()] != unknown, "a route that ends");
  for (; !way.empty(); way.pop_back()) {
    RouteCost cost = distinct_[column[here.value()]];
    here = way.back();
    cost.ps_per_mib += link_cost(here, routing_->next_port(here, target));
    ++cost.hops;
    column[here.value()] = number_of(cost);
  }
}

RouteCost RouteCosts::walked(EntityId from, EntityId to) const {
  RouteCost cost;
  for (EntityId here = from; here != to; ++cost.hops) {
    ensure(cost.hops < topology_->nodes(), "a route that ends");
    const unsigned port = routing_->next_port(here, to);
    cost.ps_per_mib += link_cost(here, port);
    here = topology_->link(here, port).to;
  }
  return cost;
}

}  // namespace tessera::plan
