#include "tessera/machine/topology/node_order.hpp"

#include <algorithm>

namespace tessera::machine {

NodeOrder NodeOrder::up_to(std::uint32_t nodes) {
  NodeOrder order;
  order.size_ = nodes;
  return order;
}

NodeOrder NodeOrder::in_blocks(const Grid& grid) {
  NodeOrder order;
  order.blocks_ = grid;
  order.size_ = std::size_t{grid.rows} * grid.columns;
  return order;
}

NodeOrder NodeOrder::of_part(std::shared_ptr<const GridParts> parts, std::uint32_t part,
                             std::size_t size) {
  NodeOrder order;
  order.parts_ = std::move(parts);
  order.part_ = part;
  order.size_ = size;
  return order;
}

EntityId NodeOrder::in_block(std::size_t place) const {
  constexpr std::uint32_t side = 16;
  const Grid& grid = *blocks_;
  const std::size_t band = place / (std::size_t{side} * grid.columns);  // of rows
  const std::uint32_t top = number(band) * side;
  const std::uint32_t height = std::min(side, grid.rows - top);
  const std::uint32_t in_band = number(place - band * side * grid.columns);
  const std::uint32_t left = in_band / (height * side) * side;
  const std::uint32_t width = std::min(side, grid.columns - left);
  const std::uint32_t rest = in_band - left * height;
  return grid.node(top + rest / width, left + rest % width);
}

std::vector<EntityId> NodeOrder::listed() const {
  if (!parts_) {
    return is_list_ ? list_ : first(size_);
  }
  std::vector<EntityId> list;
  list.reserve(size_);
  for (const EntityId node : in_blocks(parts_->grid())) {
    if (parts_->of(node) == part_) {
      list.push_back(node);
    }
  }
  return list;
}

std::vector<EntityId> NodeOrder::first(std::size_t nodes) const {
  std::vector<EntityId> list;
  list.reserve(nodes);
  for (std::size_t place = 0; place < nodes; ++place) {
    list.push_back((*this)[place]);
  }
  return list;
}

const std::vector<EntityId>& NodeOrder::spell_out() {
  if (!is_list_) {
    *this = NodeOrder(listed());
  }
  return list_;
}

bool operator==(const NodeOrder& a, const NodeOrder& b) {
  const auto counts = [](const NodeOrder& order) {
    return !order.is_list_ && !order.blocks_ && !order.parts_;
  };
  return a.size_ == b.size_ && ((counts(a) && counts(b)) || a.listed() == b.listed());
}

}  // namespace tessera::machine
