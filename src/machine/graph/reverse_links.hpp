// The links of a topology by the node they lead to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

class ReverseLinks {
 public:
  struct Source {
    EntityId from;
    std::uint16_t link_class = 0;
  };
  // O(links).
  explicit ReverseLinks(const Topology& topology);
  // In order of `from`, then of its ports.
  std::span<const Source> into(EntityId node) const {
    return {sources_.data() + first_[node.value()],
            first_[node.value() + 1] - first_[node.value()]};
  }

 private:
  std::vector<std::uint64_t> first_;  // [nodes + 1]
  std::vector<Source> sources_;
};

}  // namespace tessera::machine
