// Nodes in an order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/index_iterator.hpp"
#include "tessera/machine/topology/grid_parts.hpp"

namespace tessera::machine {

// All nodes up to a number, or of a grid, follow from arithmetic: a description of a machine then
// stores nothing for nodes that nobody uses. Any others are listed.
class NodeOrder {
 public:
  using value_type = EntityId;
  using const_iterator = IndexIterator<NodeOrder>;
  using iterator = const_iterator;

  NodeOrder() = default;
  NodeOrder(std::vector<EntityId> nodes)  // NOLINT(google-explicit-constructor): a list is one
      : list_(std::move(nodes)), size_(list_.size()), is_list_(true) {}
  // 0, 1, 2, ...
  static NodeOrder up_to(std::uint32_t nodes);
  // All of a grid in small blocks, row after row of these, so that neighbours lie close together.
  static NodeOrder in_blocks(const Grid& grid);
  // Those of one part, of which there are `size`, in the same order. They are found by a look at
  // all: spell them out before asking for one after the other.
  static NodeOrder of_part(std::shared_ptr<const GridParts> parts, std::uint32_t part,
                           std::size_t size);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  EntityId operator[](std::size_t place) const {
    return is_list_  ? list_[place]
           : parts_  ? listed()[place]
           : blocks_ ? in_block(place)
                     : EntityId(number(place));
  }
  EntityId front() const { return (*this)[0]; }
  EntityId back() const { return (*this)[size_ - 1]; }
  const_iterator begin() const { return {*this, 0}; }
  const_iterator end() const { return {*this, size_}; }

  std::vector<EntityId> listed() const;
  // The first ones.
  std::vector<EntityId> first(std::size_t nodes) const;
  // Becomes a list, for those who need one.
  const std::vector<EntityId>& spell_out();
  std::size_t resident_bytes() const { return list_.capacity() * sizeof(EntityId); }
  friend bool operator==(const NodeOrder& a, const NodeOrder& b);

 private:
  static std::uint32_t number(std::size_t place) { return static_cast<std::uint32_t>(place); }
  EntityId in_block(std::size_t place) const;

  std::vector<EntityId> list_;
  std::optional<Grid> blocks_;
  std::shared_ptr<const GridParts> parts_;
  std::uint32_t part_ = 0;
  std::size_t size_ = 0;
  bool is_list_ = false;
};

}  // namespace tessera::machine
