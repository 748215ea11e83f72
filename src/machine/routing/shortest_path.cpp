#include <algorithm>
#include <bit>
#include <queue>
#include <vector>

#include "graph/reverse_links.hpp"
#include "routing/shortest_ports.hpp"
#include "tessera/machine/routing/distance.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine {
namespace {

// Distance of every node to `target`, by Dijkstra over the reversed links.
std::vector<Distance> distances_to(EntityId target, const Topology& topology,
                                   const Distances& measure, const ReverseLinks& reverse) {
  struct Entry {
    Distance distance;
    EntityId node;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Distance> distances(topology.nodes());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  distances[target.value()] = Distance::none();
  open.push({distances[target.value()], target});
  while (!open.empty()) {
    const Entry nearest = open.top();
    open.pop();
    if (nearest.distance != distances[nearest.node.value()]) {
      continue;  // reached on a shorter way since
    }
    for (const ReverseLinks::Source& source : reverse.into(nearest.node)) {
      const Distance distance =
          beyond(measure, measure.of_class(source.link_class), nearest.node, nearest.distance);
      if (distance < distances[source.from.value()]) {
        distances[source.from.value()] = distance;
        open.push({distance, source.from});
      }
    }
  }
  return distances;
}

constexpr unsigned word_bits = 64;

void put(std::vector<std::uint64_t>& words, std::uint64_t bit, unsigned width,
         std::uint64_t value) {
  const std::uint64_t word = bit / word_bits;
  const unsigned shift = static_cast<unsigned>(bit % word_bits);
  words[word] |= value << shift;
  if (shift + width > word_bits) {
    words[word + 1] |= value >> (word_bits - shift);
  }
}

std::uint64_t take(const std::vector<std::uint64_t>& words, std::uint64_t bit, unsigned width) {
  const std::uint64_t word = bit / word_bits;
  const unsigned shift = static_cast<unsigned>(bit % word_bits);
  std::uint64_t value = words[word] >> shift;
  if (shift + width > word_bits) {
    value |= words[word + 1] << (word_bits - shift);
  }
  return value & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

// A node's field in a column is wide enough for its ports and one value more, which says that the
// target is out of reach.
ShortestPathRouting::ShortestPathRouting(const Topology& topology, bool spread)
    : topology_(&topology),
      spread_(spread),
      measure_(std::make_shared<Distances>(topology)),
      reverse_(std::make_shared<ReverseLinks>(topology)),
      columns_(topology.nodes()) {
  first_bit_.reserve(std::size_t{topology.nodes()} + 1);
  first_bit_.push_back(0);
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    const unsigned width = static_cast<unsigned>(std::bit_width(topology.ports(EntityId(n))));
    first_bit_.push_back(first_bit_.back() + width);
  }
}

ShortestPathRouting::Column ShortestPathRouting::make_column(EntityId target) const {
  const std::vector<Distance> distances = distances_to(target, *topology_, *measure_, *reverse_);
  Column column(first_bit_.back() / word_bits + 1);
  ShortestPorts ports(*topology_, *measure_, spread_);
  for (std::uint32_t n = 0; n < topology_->nodes(); ++n) {
    const unsigned best = ports.port(EntityId(n), target, [&](EntityId node) -> const Distance& {
      return distances[node.value()];
    });
    put(column, first_bit_[n], static_cast<unsigned>(first_bit_[n + 1] - first_bit_[n]), best);
  }
  return column;
}

const ShortestPathRouting::Column& ShortestPathRouting::column_for(EntityId target) const {
  Column& column = columns_[target.value()];
  if (column.empty()) {
    column = make_column(target);
  }
  return column;
}

unsigned ShortestPathRouting::next_port(EntityId here, EntityId target) const {
  const std::uint64_t bit = first_bit_[here.value()];
  const unsigned width = static_cast<unsigned>(first_bit_[here.value() + 1] - bit);
  const std::uint64_t port = take(column_for(target), bit, width);
  if (port == topology_->ports(here)) [[unlikely]] {
    throw no_way(*topology_, here, target);
  }
  return static_cast<unsigned>(port);
}

}  // namespace tessera::machine
