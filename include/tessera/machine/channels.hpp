// DRAM channels of a machine, and whom they serve. Where a machine has one at every tile, or along
// the edges of a grid, both follow from arithmetic, so that nothing is stored per node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/index_iterator.hpp"
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

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  MemoryChannel operator[](std::size_t channel) const {
    if (!list_.empty()) {
      return list_[channel];
    }
    MemoryChannel of = usual_;
    of.node = EntityId(static_cast<std::uint32_t>(channel));
    return of;
  }
  MemoryChannel front() const { return (*this)[0]; }
  const_iterator begin() const { return {*this, 0}; }
  const_iterator end() const { return {*this, size_}; }

  bool are_alike() const { return list_.empty(); }
  // As many as stand for all, but for their nodes: the first of those that are alike.
  std::size_t kinds() const { return are_alike() && !empty() ? 1 : size_; }
  // All are as this, each where it is. Of those that are alike.
  void become(const MemoryChannel& usual) { usual_ = usual; }
  std::vector<MemoryChannel> listed() const { return {begin(), end()}; }
  std::size_t resident_bytes() const { return list_.capacity() * sizeof(MemoryChannel); }

 private:
  std::vector<MemoryChannel> list_;
  MemoryChannel usual_;
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
  // Number of the nearest one, the lowest of several.
  std::uint32_t nearest(EntityId node) const;

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
  static ChannelOfNodes along(const EdgeChannels& edges);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint32_t operator[](std::size_t node) const {
    switch (form_) {
      case Form::list:
        return list_[node];
      case Form::own:
        return node < tiles_ ? static_cast<std::uint32_t>(node) : of_switch(node);
      default:
        return edges_.nearest(EntityId(static_cast<std::uint32_t>(node)));
    }
  }
  const_iterator begin() const { return {*this, 0}; }
  const_iterator end() const { return {*this, size_}; }
  // Of a list.
  void set(EntityId node, std::uint32_t channel) { list_[node.value()] = channel; }
  std::size_t resident_bytes() const { return list_.capacity() * sizeof(std::uint32_t); }

 private:
  enum class Form : std::uint8_t { list, own, edges };
  std::uint32_t of_switch(std::size_t node) const;

  Form form_ = Form::list;
  std::vector<std::uint32_t> list_;
  const Topology* topology_ = nullptr;
  std::uint32_t tiles_ = 0;
  EdgeChannels edges_;
  std::size_t size_ = 0;
};

}  // namespace tessera::machine
