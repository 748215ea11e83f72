#include "cuts/idle_nodes.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::sim {
namespace {

// Nodes that are looked at, numbered from 0: a rectangle of a grid, or all.
class Window {
 public:
  // A grid of one row.
  explicit Window(std::uint32_t nodes) : grid_{.rows = 1, .columns = nodes}, columns_(nodes) {}
  // Around all that have an owner; of none, the first node.
  Window(const machine::Grid& grid, const SparseTable& owner)
      : grid_(grid), top_(grid.rows), left_(grid.columns) {
    std::uint32_t bottom = 0;
    std::uint32_t right = 0;
    owner.visit([&](std::size_t number, std::uint32_t) {
      const EntityId node(static_cast<std::uint32_t>(number));
      top_ = std::min(top_, grid.row_of(node));
      left_ = std::min(left_, grid.column_of(node));
      bottom = std::max(bottom, grid.row_of(node));
      right = std::max(right, grid.column_of(node));
    });
    top_ = std::min(top_, bottom);
    left_ = std::min(left_, right);
    rows_ = bottom - top_ + 1;
    columns_ = right - left_ + 1;
  }

  std::size_t size() const { return std::size_t{rows_} * columns_; }
  EntityId node(std::size_t number) const {
    return grid_.node(top_ + static_cast<std::uint32_t>(number / columns_),
                      left_ + static_cast<std::uint32_t>(number % columns_));
  }
  // `size()` or more: not in it.
  std::size_t number(EntityId node) const {
    const std::uint32_t row = grid_.row_of(node) - top_;
    const std::uint32_t column = grid_.column_of(node) - left_;
    return row < rows_ && column < columns_ ? std::size_t{row} * columns_ + column : size();
  }
  // What lies beside the rectangle goes with its border.
  std::shared_ptr<const machine::GridParts> extended(std::vector<std::uint32_t> owner) const {
    return std::make_shared<machine::GridParts>(grid_, bands(top_, rows_), bands(left_, columns_),
                                                std::move(owner));
  }

 private:
  static std::vector<std::uint32_t> bands(std::uint32_t first, std::uint32_t size) {
    std::vector<std::uint32_t> begins{0};
    for (std::uint32_t place = 1; place < size; ++place) {
      begins.push_back(first + place);
    }
    return begins;
  }

  machine::Grid grid_;
  std::uint32_t top_ = 0;
  std::uint32_t left_ = 0;
  std::uint32_t rows_ = 1;
  std::uint32_t columns_ = 1;
};

// [nodes of the window]
std::vector<std::uint32_t> spread(const machine::Topology& topology, const SparseTable& given,
                                  const Window& window) {
  std::vector<std::uint32_t> owner(window.size(), no_owner);
  std::vector<std::size_t> known;
  given.visit([&](std::size_t node, std::uint32_t rank) {
    known.push_back(window.number(EntityId(static_cast<std::uint32_t>(node))));
    owner[known.back()] = rank;
  });
  const bool is_complete = known.size() == owner.size();
  for (std::size_t at = 0; at < known.size() && !is_complete; ++at) {
    const EntityId node = window.node(known[at]);
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      const machine::Link link = topology.link(node, port);
      const std::size_t next = link.to.valid() ? window.number(link.to) : window.size();
      if (next < window.size() && owner[next] == no_owner) {
        owner[next] = owner[known[at]];
        known.push_back(next);
      }
    }
  }
  std::replace(owner.begin(), owner.end(), no_owner, std::uint32_t{0});
  return owner;
}

}  // namespace

machine::Owners give_idle_nodes(const machine::Topology& topology, const SparseTable& owner) {
  if (machine::is_vast(topology)) {
    const Window window(*topology.grid(), owner);
    return window.extended(spread(topology, owner, window));
  }
  return spread(topology, owner, Window(topology.nodes()));
}

}  // namespace tessera::sim
