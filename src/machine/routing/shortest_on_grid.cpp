#include "routing/shortest_on_grid.hpp"

#include <algorithm>
#include <queue>
#include <unordered_set>
#include <utility>

#include "tessera/core/error.hpp"
#include "topology/grid_links.hpp"

namespace tessera::machine {
namespace {

constexpr std::uint32_t most_searched = 1U << 16;  // nodes

// Distances to one target of all nodes that dead links put further away from it.
class DetourSearch {
 public:
  DetourSearch(const Topology& topology, const Distances& measure, const GridDistances& sound,
               EntityId target)
      : topology_(topology), measure_(measure), sound_(sound), target_(target) {}

  std::vector<std::pair<std::uint32_t, Distance>> run(const std::vector<DeadLink>& dead) {
    find_further(dead);
    measure_further();
    std::vector<std::pair<std::uint32_t, Distance>> further(further_.begin(), further_.end());
    std::ranges::sort(further, {}, &std::pair<std::uint32_t, Distance>::first);
    return further;
  }

 private:
  struct Entry {
    Distance distance;
    EntityId node;
    auto operator<=>(const Entry&) const = default;
  };
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  // The nearest ones first, so that what a way goes on over is known.
  void find_further(const std::vector<DeadLink>& dead) {
    Queue open;
    const auto look_at = [&](EntityId node, const Link& link) {
      if (is_on_the_way(node, link)) {
        open.push({sound_.between(node, target_), node});
      }
    };
    for (const DeadLink& link : dead) {
      look_at(link.from, topology_.sound().link(link.from, link.port));
    }
    std::unordered_set<std::uint32_t> seen;
    while (!open.empty()) {
      const EntityId node = open.top().node;
      open.pop();
      if (seen.insert(node.value()).second && !has_way(node)) {
        further_.emplace(node.value(), Distance());
        visit_links_into(topology_.sound(), node, look_at);
      }
    }
  }

  // Dijkstra over the links, from the nodes around on.
  void measure_further() {
    Queue open;
    for (auto& [number, distance] : further_) {
      const EntityId node(number);
      for (unsigned port = 0; port < topology_.ports(node); ++port) {
        const Link link = topology_.link(node, port);
        if (link.to.valid() && !is_further(link.to)) {
          distance = std::min(distance, over(link, sound_.between(link.to, target_)));
        }
      }
      if (distance.is_finite()) {
        open.push({distance, node});
      }
    }
    while (!open.empty()) {
      const Entry nearest = open.top();
      open.pop();
      if (nearest.distance != further_.at(nearest.node.value())) {
        continue;  // reached on a shorter way since
      }
      visit_links_into(topology_, nearest.node, [&](EntityId from, const Link& link) {
        const auto found = further_.find(from.value());
        const Distance distance = over(link, nearest.distance);
        if (found != further_.end() && distance < found->second) {
          found->second = distance;
          open.push({distance, from});
        }
      });
    }
  }

  Distance over(const Link& link, const Distance& rest) const {
    return beyond(measure_, measure_.of(link), link.to, rest);
  }
  bool is_further(EntityId node) const { return further_.contains(node.value()); }
  // As without dead links.
  bool is_on_the_way(EntityId node, const Link& link) const {
    return over(link, sound_.between(link.to, target_)) == sound_.between(node, target_);
  }
  // Whether one that is no longer than without dead links is left.
  bool has_way(EntityId node) const {
    for (unsigned port = 0; port < topology_.ports(node); ++port) {
      const Link link = topology_.link(node, port);
      if (link.to.valid() && is_on_the_way(node, link) && !is_further(link.to)) {
        return true;
      }
    }
    return false;
  }

  const Topology& topology_;
  const Distances& measure_;
  const GridDistances& sound_;
  EntityId target_;
  std::unordered_map<std::uint32_t, Distance> further_;
};

}  // namespace

GridDistances::GridDistances(const Topology& sound) {
  const Grid grid = *sound.grid();
  const auto axis = [&](std::uint32_t size, unsigned upward, const auto& node_at) {
    Axis along{{SimTime::zero()}, grid.wraps};
    for (std::uint32_t at = 0; at < size; ++at) {
      const Link link = sound.link(node_at(at), upward);
      along.sums.push_back(along.sums.back() + (link.to.valid()
                                                    ? sound.link_classes()[link.link_class].latency
                                                    : SimTime::zero()));
    }
    return along;
  };
  rows_ = axis(grid.rows, south, [&](std::uint32_t at) { return grid.node(at, 0); });
  columns_ = axis(grid.columns, east, [&](std::uint32_t at) { return grid.node(0, at); });
  columns_a_row_ = Divisor(grid.columns);
}

Distance GridDistances::Axis::between(std::uint32_t from, std::uint32_t to) const {
  const auto [low, high] = std::minmax(from, to);
  const Distance straight{0, high - low, SimTime::zero(), sums[high] - sums[low]};
  if (!wraps || low == high) {
    return straight;
  }
  const std::uint32_t size = static_cast<std::uint32_t>(sums.size()) - 1;
  const Distance around{0, size - straight.hops, SimTime::zero(), sums[size] - straight.latency};
  return std::min(straight, around);
}

Distance GridDistances::between(EntityId from, EntityId to) const {
  const std::uint32_t from_row = columns_a_row_.quotient(from.value());
  const std::uint32_t to_row = columns_a_row_.quotient(to.value());
  const std::uint32_t columns = columns_a_row_.value();
  return joined(rows_.between(from_row, to_row),
                columns_.between(from.value() - from_row * columns, to.value() - to_row * columns),
                false);
}

bool ShortestOnGrid::fits(const Topology& topology) {
  const RouteRule rule = topology.route_rule();
  return topology.grid() && topology.sound().has_even_axes() && rule.by == RouteLength::latency &&
         rule.through_ends;
}

bool ShortestOnGrid::pays(const Topology& topology) {
  return topology.nodes() > most_searched;
}

ShortestOnGrid::ShortestOnGrid(const Topology& topology, bool spread)
    : topology_(&topology),
      measure_(std::make_shared<Distances>(topology)),
      sound_(topology.sound()),
      dead_(topology.dead_links()),
      ports_(topology, *measure_, spread),
      known_(topology.nodes()) {}

unsigned ShortestOnGrid::next_port(EntityId here, EntityId target) const {
  return known_.port(here, target, [&] { return find_port(here, target); });
}

unsigned ShortestOnGrid::find_port(EntityId here, EntityId target) const {
  const Detours& detours = detours_to(target);
  const unsigned port = ports_.port(here, target, [&](EntityId node) {
    const auto found =
        std::ranges::lower_bound(detours, node.value(), {}, &Detours::value_type::first);
    const bool is_further = found != detours.end() && found->first == node.value();
    return is_further ? found->second : sound_.between(node, target);
  });
  if (port == topology_->ports(here)) {
    throw no_way(*topology_, here, target);
  }
  return port;
}

const ShortestOnGrid::Detours& ShortestOnGrid::detours_to(EntityId target) const {
  static const Detours none;
  if (dead_.empty()) {
    return none;
  }
  if (const auto found = detours_.find(target.value()); found != detours_.end()) {
    return found->second;
  }
  Detours made = DetourSearch(*topology_, *measure_, sound_, target).run(dead_);
  if (kept_ + made.size() > most_kept) {
    detours_.clear();
    kept_ = 0;
  }
  kept_ += made.size();
  return detours_.emplace(target.value(), std::move(made)).first->second;
}

}  // namespace tessera::machine
