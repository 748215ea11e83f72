#include "grid_channels.hpp"

#include <cstddef>
#include <limits>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>

#include "topology/grid_links.hpp"

namespace tessera::machine {
namespace {

constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

class Sweeps {
 public:
  Sweeps(const Grid& grid, const MemoryChannels& channels)
      : grid_(grid),
        hops_(std::size_t{grid.rows} * grid.columns, unknown),
        channel_(hops_.size(), unknown) {
    for (std::uint32_t channel = 0; channel < channels.size(); ++channel) {
      const std::size_t node = channels[channel].node.value();
      hops_[node] = 0;
      channel_[node] = channel;
    }
  }

  std::vector<std::uint32_t> run() {
    const std::size_t width = grid_.columns;
    for (std::size_t row = 0; row < grid_.rows; ++row) {
      sweep(row * width, 1, width, 1);
    }
    // A whole row at a time: the nodes of a column are far apart in memory.
    sweep(0, width, grid_.rows, width);
    return std::move(channel_);
  }

 private:
  // Over `count` groups of `size` nodes that lie `step` apart, there and back; around a torus
  // twice, as what is nearest may lie behind the seam.
  void sweep(std::size_t first, std::size_t step, std::size_t count, std::size_t size) {
    const std::size_t last = first + (count - 1) * step;
    for (int round = 0; round < (grid_.wraps ? 2 : 1); ++round) {
      if (round > 0) {
        take_over(last, first, size);
      }
      for (std::size_t at = first; at < last; at += step) {
        take_over(at, at + step, size);
      }
    }
    for (int round = 0; round < (grid_.wraps ? 2 : 1); ++round) {
      if (round > 0) {
        take_over(first, last, size);
      }
      for (std::size_t at = last; at > first; at -= step) {
        take_over(at, at - step, size);
      }
    }
  }

  // What the nodes from `from` on have, for those from `to` on: what is nearer, of equals the
  // lower.
  void take_over(std::size_t from, std::size_t to, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (channel_[from + i] == unknown) {
        continue;
      }
      const std::uint32_t hops = hops_[from + i] + 1;
      if (hops < hops_[to + i] ||
          (hops == hops_[to + i] && channel_[from + i] < channel_[to + i])) {
        hops_[to + i] = hops;
        channel_[to + i] = channel_[from + i];
      }
    }
  }

  const Grid grid_;
  std::vector<std::uint32_t> hops_;
  std::vector<std::uint32_t> channel_;
};

// Nodes in rows and columns of a grid that have dead links, with their nearest channels along
// edges: Dijkstra by hops and number of the channel, which begins with what nodes beside those
// lines have.
class ChannelsPastDeadLinks {
 public:
  ChannelsPastDeadLinks(const Topology& topology, const EdgeChannels& edges)
      : topology_(topology), edges_(edges) {
    for (const DeadLink& link : topology.dead_links()) {
      add_line(link);
    }
  }

  std::unordered_map<std::uint32_t, std::uint32_t> run() {
    for (const auto& [number, nearest] : nearest_) {
      begin_at(EntityId(number));
    }
    while (!open_.empty()) {
      const auto [nearest, node] = open_.top();
      open_.pop();
      if (nearest == nearest_.at(node.value())) {
        for (unsigned port = 0; port < topology_.ports(node); ++port) {
          offer(topology_.link(node, port).to, {nearest.hops + 1, nearest.channel});
        }
      }
    }
    std::unordered_map<std::uint32_t, std::uint32_t> others;
    for (const auto& [number, nearest] : nearest_) {
      if (nearest.hops != unknown && nearest.channel != edges_.nearest(EntityId(number)).channel) {
        others.emplace(number, nearest.channel);
      }
    }
    return others;
  }

 private:
  using Nearest = EdgeChannels::Nearest;
  using Entry = std::pair<Nearest, EntityId>;

  void add_line(const DeadLink& link) {
    const Grid& grid = edges_.grid;
    const bool along_row = link.port == west || link.port == east;
    const EntityId first =
        along_row ? grid.node(grid.row_of(link.from), 0) : grid.node(0, grid.column_of(link.from));
    const std::uint32_t step = along_row ? 1 : grid.columns;
    const std::uint32_t size = along_row ? grid.columns : grid.rows;
    if (lines_.emplace(first, along_row).second) {
      for (std::uint32_t at = 0; at < size; ++at) {
        nearest_.try_emplace(first.value() + at * step, Nearest{unknown, unknown});
      }
    }
  }

  void begin_at(EntityId node) {
    const Nearest own = edges_.nearest(node);
    if (own.hops == 0) {
      offer(node, own);
    }
    visit_links_into(topology_, node, [&](EntityId from, const Link&) {
      if (!nearest_.contains(from.value())) {
        const Nearest nearest = edges_.nearest(from);
        offer(node, {nearest.hops + 1, nearest.channel});
      }
    });
  }

  void offer(EntityId node, const Nearest& nearest) {
    const auto found = node.valid() ? nearest_.find(node.value()) : nearest_.end();
    if (found != nearest_.end() && nearest < found->second) {
      found->second = nearest;
      open_.emplace(nearest, node);
    }
  }

  const Topology& topology_;
  const EdgeChannels& edges_;
  std::set<std::pair<EntityId, bool>> lines_;  // first nodes; whether they are rows
  std::unordered_map<std::uint32_t, Nearest> nearest_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

}  // namespace

ChannelOfNodes nearest_past_dead_links(const Topology& topology, const EdgeChannels& edges) {
  return ChannelOfNodes::along(edges, ChannelsPastDeadLinks(topology, edges).run());
}

std::vector<std::uint32_t> nearest_on_grid(const Grid& grid, const MemoryChannels& channels) {
  return Sweeps(grid, channels).run();
}

}  // namespace tessera::machine
