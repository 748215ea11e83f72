// Networks stacked in dimensions, each a ring, a full mesh or a switch (W. Won et al.,
// "ASTRA-sim2.0", ISPASS 2023, arXiv:2303.14006, section IV-B). Every node, link and route follows
// from arithmetic, so that nothing is stored per node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/core/ids.hpp"

namespace tessera::machine {

// How the members of one dimension are joined.
enum class Block : std::uint8_t { ring, fully_connected, switched };
std::string to_string(Block block);

struct StackDimension {
  Block block = Block::ring;
  std::uint32_t size = 1;
  friend bool operator==(const StackDimension&, const StackDimension&) = default;
};

// "Ring(4)_FC(8)_Switch(4)", as in the paper; also R, FullyConnected, SW, and any case. Nullopt and
// a `problem` for anything else, for a size below 1 and for none at all.
std::optional<std::vector<StackDimension>> parse_stack(std::string_view text, std::string& problem);
// The notation again.
std::string to_string(const std::vector<StackDimension>& dimensions);

// What a node of a stack is: an NPU, or the switch of those that differ in one dimension only.
struct StackPlace {
  bool is_npu = true;
  std::uint32_t dimension = 0;  // of a switch
  std::uint32_t index = 0;      // among the NPUs, or among the switches of the dimension
};

// NPU n has coordinate n / stride(d) % size(d) in dimension d; dimension 0 counts fastest. Nodes
// are numbered: all NPUs, then the switches dimension by dimension.
//
// Ports of an NPU, dimension by dimension: of a ring, up (to the next one) and down, and of a ring
// of two only up; of a full mesh, to the next one, the one after it, …; of a switch, to it. Port i
// of a switch leads to the member with coordinate i. A dimension of one has no ports.
class Stack {
 public:
  // Sizes from 1 on, whose nodes are fewer than node_limit.
  explicit Stack(std::vector<StackDimension> dimensions);

  const std::vector<StackDimension>& dimensions() const { return dimensions_; }
  std::uint32_t size(std::uint32_t dimension) const { return dimensions_[dimension].size; }
  std::uint32_t npus() const { return npus_; }
  std::uint32_t nodes() const { return first_switch_.back(); }
  std::uint32_t stride(std::uint32_t dimension) const { return strides_[dimension]; }
  std::uint32_t coordinate(std::uint32_t npu, std::uint32_t dimension) const {
    return npu / strides_[dimension] % dimensions_[dimension].size;
  }
  // The NPU that differs from this one in one coordinate.
  std::uint32_t moved(std::uint32_t npu, std::uint32_t dimension, std::uint32_t coordinate) const {
    return npu + (coordinate - this->coordinate(npu, dimension)) * strides_[dimension];
  }

  StackPlace place(EntityId node) const;
  EntityId switch_of(std::uint32_t npu, std::uint32_t dimension) const {
    // Counting the NPUs that have coordinate 0 here.
    const std::uint32_t below = npu % strides_[dimension];
    const std::uint32_t above = npu / (strides_[dimension] * dimensions_[dimension].size);
    return EntityId(first_switch_[dimension] + above * strides_[dimension] + below);
  }
  // The member of a switch with this coordinate.
  std::uint32_t member(const StackPlace& of_switch, std::uint32_t coordinate) const {
    const std::uint32_t stride = strides_[of_switch.dimension];
    return of_switch.index % stride +
           (of_switch.index / stride * size(of_switch.dimension) + coordinate) * stride;
  }

  unsigned ports(std::uint32_t dimension) const;
  unsigned first_port(std::uint32_t dimension) const { return first_port_[dimension]; }
  unsigned npu_ports() const { return first_port_.back(); }

 private:
  std::vector<StackDimension> dimensions_;
  std::vector<std::uint32_t> strides_;
  std::vector<std::uint32_t> first_switch_;  // [dimensions + 1] node
  std::vector<unsigned> first_port_;         // [dimensions + 1]
  std::uint32_t npus_ = 1;
};

// Dimension order: the lowest dimension in which the NPUs differ first; on a ring the shorter way,
// up on a tie. A switch as target is reached over the NPU with coordinate 0 in its dimension.
class StackRouting {
 public:
  explicit StackRouting(Stack stack) : stack_(std::move(stack)) {}
  // Port towards `target`; here != target.
  unsigned next_port(EntityId here, EntityId target) const;

 private:
  unsigned step(std::uint32_t dimension, std::uint32_t from, std::uint32_t to) const;

  Stack stack_;
};

}  // namespace tessera::machine
