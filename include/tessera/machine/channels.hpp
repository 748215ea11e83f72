// DRAM channels of a machine, and whom they serve. Where a machine has one at every tile, or along
// the edges of a grid, both follow from arithmetic, so that nothing is stored per node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/index_iterator.hpp"
#include "tessera/core/sparse_table.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// One DRAM channel (or memory stack, or off-wafer port), attached to the router of a node.
struct MemoryChannel {
  EntityId node;
  Bandwidth bandwidth;  // peak, shared by reads and writes
  SimTime latency;      // response time of an idle channel
  Bytes capacity;       // 0: not stated
};

class MemoryChannels {
 public:
  using value_type = MemoryChannel;
  using const_iterator = IndexIterator<MemoryChannels>;
  using iterator = const_iterator;

  MemoryChannels() = default;
  MemoryChannels(std::vector<MemoryChannel> channels)  // NOLINT(google-explicit-constructor)
      : list_(std::move(channels)), size_(list_.size()) {}
  // Channel n at node n, each as `usual`.
  static MemoryChannels alike(const MemoryChannel& usual, std::uint32_t nodes);
  // Those at the first nodes again, of several types; `type_of`: [nodes] of each.
  MemoryChannels of_types(std::vector<MemoryChannel> types,
                          SparseTableOf<std::uint16_t> type_of) const;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  MemoryChannel operator[](std::size_t channel) const {
    if (!list_.empty()) {
      return list_[channel];
    }
    MemoryChannel of = types_.empty() ? usual_ : types_[type_of_[channel]];
    of.node = EntityId(static_cast<std::uint32_t>(channel));
    return of;
  }
  MemoryChannel front() const { return (*this)[0]; }
  const_iterator begin() const { return {*this, 0}; }
  const_iterator end() const { return {*this, size_}; }

  bool are_alike() const { return list_.empty() && types_.empty(); }
  // Channel n at node n.
  bool are_at_first_nodes() const { return list_.empty(); }
  // One of each that differ in more than their nodes, and how many are as it.
  struct Kind {
    MemoryChannel channel;
    std::size_t count = 0;
  };
  std::vector<Kind> kinds() const;
  // All are as this, each where it is. Of those that are alike.
  void become(const MemoryChannel& usual) { usual_ = usual; }
  std::vector<MemoryChannel> listed() const { return {begin(), end()}; }
  std::size_t resident_bytes() const {
    return (list_.capacity() + types_.capacity()) * sizeof(MemoryChannel) +
           type_of_.resident_bytes();
  }

 private:
  std::vector<MemoryChannel> list_;
  MemoryChannel usual_;
  std::vector<MemoryChannel> types_;
  SparseTableOf<std::uint16_t> type_of_;  // [nodes]
  std::size_t size_ = 0;
};

// Sides of a grid with a channel at every node.
struct EdgeChannels {
  Grid grid;
  bool west = false;
  bool east = false;
  bool north = false;
  bool south = false;

  std::vector<EntityId> nodes() const;  // ascending
  struct Nearest {
    std::uint32_t hops = 0;
    std::uint32_t channel = 0;
    friend auto operator<=>(const Nearest&, const Nearest&) = default;
  };
  // The lowest of several, over links that are all there.
  Nearest nearest(EntityId node) const;

 private:
  std::uint32_t number_of(EntityId node) const;
};

// [nodes] index of the channel that serves a node: the nearest by hops, the lowest of several.
class ChannelOfNodes {
 public:
  using value_type = std::uint32_t;
  using const_iterator = IndexIterator<ChannelOfNodes>;
  using iterator = const_iterator;

  ChannelOfNodes() = default;                      // there are no channels
  ChannelOfNodes(std::vector<std::uint32_t> list)  // NOLINT(google-explicit-constructor)
      : list_(std::move(list)), size_(list_.size()) {}
  // Of channels at all tiles, which have the first numbers. The topology must outlive it.
  static ChannelOfNodes own(const Topology& topology, std::uint32_t tiles);
  // But for the nodes in `others`, the nearest.
  static ChannelOfNodes along(const EdgeChannels& edges,
                              std::unordered_map<std::uint32_t, std::uint32_t> others = {});

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint32_t operator[](std::size_t node) const {
    switch (form_) {
      case Form::list:
        return list_[node];
      case Form::own:
        return node < tiles_ ? static_cast<std::uint32_t>(node) : of_switch(node);
      default:
        return !others_.empty()
                   ? past_dead_links(static_cast<std::uint32_t>(node))
                   : edges_.nearest(EntityId(static_cast<std::uint32_t>(node))).channel;
    }
  }
  const_iterator begin() const { return {*this, 0}; }
  const_iterator end() const { return {*this, size_}; }
  // Of a list.
  void set(EntityId node, std::uint32_t channel) { list_[node.value()] = channel; }
  std::size_t resident_bytes() const {
    return list_.capacity() * sizeof(std::uint32_t) +
           others_.size() * (2 * sizeof(std::uint32_t) + 2 * sizeof(void*));
  }

 private:
  enum class Form : std::uint8_t { list, own, edges };
  std::uint32_t of_switch(std::size_t node) const;
  std::uint32_t past_dead_links(std::uint32_t node) const;

  Form form_ = Form::list;
  std::vector<std::uint32_t> list_;
  const Topology* topology_ = nullptr;
  std::uint32_t tiles_ = 0;
  EdgeChannels edges_;
  std::unordered_map<std::uint32_t, std::uint32_t> others_;  // channels by node
  std::size_t size_ = 0;
};

}  // namespace tessera::machine
