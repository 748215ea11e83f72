// All links of a machine, numbered: those of a node by port, nodes one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::network {

class LinkNumbers {
 public:
  explicit LinkNumbers(const machine::Topology& topology) : first_(1) {
    for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
      first_.push_back(first_.back() + topology.ports(EntityId(node)));
    }
  }
  std::uint32_t number(EntityId node, unsigned port) const { return first_[node.value()] + port; }
  std::uint32_t count() const { return first_.back(); }
  // Where a link starts. O(log nodes).
  EntityId node(std::uint32_t link) const {
    const auto after = std::upper_bound(first_.begin(), first_.end(), link);
    return EntityId(static_cast<std::uint32_t>(after - first_.begin()) - 1);
  }
  unsigned port(std::uint32_t link) const { return link - first_[node(link).value()]; }

 private:
  std::vector<std::uint32_t> first_;  // [nodes + 1]
};

}  // namespace tessera::network
