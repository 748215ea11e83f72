// Which nodes of a machine share a server.
#pragma once

#include <cstdint>

#include "tessera/core/ids.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// By Topology::domain. A machine that has no domains, as a switch with accelerators around it, is
// one server.
class Servers {
 public:
  // The topology must outlive it. O(nodes).
  explicit Servers(const Topology& topology);

  std::uint32_t of(EntityId node) const { return is_one_ ? 0 : topology_.domain(node); }

 private:
  const Topology& topology_;
  bool is_one_;
};

}  // namespace tessera::machine
