#include "tessera/machine/channels.hpp"

#include <algorithm>
#include <tuple>

namespace tessera::machine {

MemoryChannels MemoryChannels::alike(const MemoryChannel& usual, std::uint32_t nodes) {
  MemoryChannels channels;
  channels.usual_ = usual;
  channels.size_ = nodes;
  return channels;
}

MemoryChannels MemoryChannels::of_types(std::vector<MemoryChannel> types,
                                        SparseTableOf<std::uint16_t> type_of) const {
  MemoryChannels channels;
  channels.types_ = std::move(types);
  channels.type_of_ = std::move(type_of);
  channels.size_ = size_;
  return channels;
}

std::vector<MemoryChannels::Kind> MemoryChannels::kinds() const {
  std::vector<Kind> kinds;
  if (!are_at_first_nodes()) {
    for (const MemoryChannel& channel : list_) {
      kinds.push_back({channel, 1});
    }
    return kinds;
  }
  kinds.resize(std::max<std::size_t>(types_.size(), 1));
  const auto add = [&](std::size_t type, std::size_t channel, std::size_t count) {
    kinds[type].channel = kinds[type].count == 0 ? (*this)[channel] : kinds[type].channel;
    kinds[type].count += count;
  };
  std::size_t usual = 0;  // the first channel of this type
  std::size_t others = 0;
  type_of_.visit([&](std::size_t node, std::uint16_t type) {
    if (node < size_) {
      usual += node == usual ? 1 : 0;
      ++others;
      add(type, node, 1);
    }
  });
  if (others < size_) {
    add(types_.empty() ? 0 : type_of_.usual(), usual, size_ - others);
  }
  std::erase_if(kinds, [](const Kind& kind) { return kind.count == 0; });
  return kinds;
}

std::vector<EntityId> EdgeChannels::nodes() const {
  std::vector<EntityId> nodes;
  const std::uint32_t last = grid.columns - 1;
  for (std::uint32_t row = 0; row < grid.rows; ++row) {
    const bool is_whole = (north && row == 0) || (south && row + 1 == grid.rows);
    for (std::uint32_t column = 0; is_whole && column <= last; ++column) {
      nodes.push_back(grid.node(row, column));
    }
    if (!is_whole && west) {
      nodes.push_back(grid.node(row, 0));
    }
    if (!is_whole && east && !(west && last == 0)) {
      nodes.push_back(grid.node(row, last));
    }
  }
  return nodes;
}

// Along each side the nearest one is straight ahead.
EdgeChannels::Nearest EdgeChannels::nearest(EntityId node) const {
  const std::uint32_t row = grid.row_of(node);
  const std::uint32_t column = grid.column_of(node);
  const auto distance = [&](std::uint32_t from, std::uint32_t to, std::uint32_t size) {
    const std::uint32_t straight = std::max(from, to) - std::min(from, to);
    return grid.wraps ? std::min(straight, size - straight) : straight;
  };
  std::pair best(node_limit, EntityId());
  const auto look = [&](bool there, std::uint32_t hops, EntityId at) {
    best = there ? std::min(best, std::pair(hops, at)) : best;
  };
  const std::uint32_t last_row = grid.rows - 1;
  const std::uint32_t last_column = grid.columns - 1;
  look(west, distance(column, 0, grid.columns), grid.node(row, 0));
  look(east, distance(column, last_column, grid.columns), grid.node(row, last_column));
  look(north, distance(row, 0, grid.rows), grid.node(0, column));
  look(south, distance(row, last_row, grid.rows), grid.node(last_row, column));
  return {best.first, number_of(best.second)};
}

// Those before it, row by row: rows on a side have one in each column, others one on each side.
std::uint32_t EdgeChannels::number_of(EntityId node) const {
  const std::uint32_t row = grid.row_of(node);
  const std::uint32_t column = grid.column_of(node);
  const bool is_whole = (north && row == 0) || (south && row + 1 == grid.rows);
  const bool is_narrow = grid.columns == 1 && west;
  const std::uint32_t sides = (west ? 1U : 0U) + (east && !is_narrow ? 1U : 0U);
  const std::uint32_t first = row == 0 ? 0 : (north ? grid.columns : sides) + (row - 1) * sides;
  return first + (is_whole ? column : column > 0 && west ? 1 : 0);
}

ChannelOfNodes ChannelOfNodes::own(const Topology& topology, std::uint32_t tiles) {
  ChannelOfNodes channels;
  channels.form_ = Form::own;
  channels.topology_ = &topology;
  channels.tiles_ = tiles;
  channels.size_ = topology.nodes();
  return channels;
}

ChannelOfNodes ChannelOfNodes::along(const EdgeChannels& edges,
                                     std::unordered_map<std::uint32_t, std::uint32_t> others) {
  ChannelOfNodes channels;
  channels.form_ = Form::edges;
  channels.edges_ = edges;
  channels.others_ = std::move(others);
  channels.size_ = std::size_t{edges.grid.rows} * edges.grid.columns;
  return channels;
}

std::uint32_t ChannelOfNodes::past_dead_links(std::uint32_t node) const {
  const auto other = others_.find(node);
  return other == others_.end() ? edges_.nearest(EntityId(node)).channel : other->second;
}

std::uint32_t ChannelOfNodes::of_switch(std::size_t node) const {
  return topology_->nearest_tile(EntityId(static_cast<std::uint32_t>(node))).value();
}

}  // namespace tessera::machine
