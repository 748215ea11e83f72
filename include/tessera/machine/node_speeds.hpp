// Nodes that compute more slowly than the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "tessera/core/ids.hpp"
#include "tessera/core/units.hpp"

namespace tessera::machine {

// Nodes of a machine, each drawn for itself by its number, so that which ones are slow follows from
// the seed alone, on any number of ranks and without a list.
struct SlowNodes {
  std::uint64_t seed = 1;
  Fraction share;
  Fraction speed;

  bool has(EntityId node) const;
  friend bool operator==(const SlowNodes&, const SlowNodes&) = default;
};

// Of nodes that are slower than the others, as a share of their speed: those that are listed, and
// of the others those that are drawn. Meant for nodes that compute.
class NodeSpeeds {
 public:
  // As of a map: of a node that is as fast as others, `end()`.
  class const_iterator {
   public:
    const_iterator() = default;
    const_iterator(EntityId node, Fraction speed) : found_(std::in_place, node, speed) {}
    const std::pair<EntityId, Fraction>* operator->() const { return &*found_; }
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    std::optional<std::pair<EntityId, Fraction>> found_;
  };

  void draw(const SlowNodes& slow) { drawn_ = slow; }
  Fraction& operator[](EntityId node) { return listed_[node]; }
  const_iterator find(EntityId node) const {
    const auto found = listed_.find(node);
    return found != listed_.end()        ? const_iterator(node, found->second)
           : drawn_ && drawn_->has(node) ? const_iterator(node, drawn_->speed)
                                         : const_iterator();
  }
  static const_iterator end() { return {}; }
  bool contains(EntityId node) const { return find(node) != end(); }
  Fraction at(EntityId node) const { return find(node)->second; }
  // Whether none is slow; false where some may be drawn.
  bool empty() const { return listed_.empty() && !drawn_; }
  // Of the list.
  std::size_t size() const { return listed_.size(); }
  friend bool operator==(const NodeSpeeds&, const NodeSpeeds&) = default;

 private:
  std::map<EntityId, Fraction> listed_;
  std::optional<SlowNodes> drawn_;
};

}  // namespace tessera::machine
