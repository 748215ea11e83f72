#include "tessera/machine/topology/topology.hpp"

#include <algorithm>

namespace tessera::machine {

SimTime Topology::smallest_latency() const {
  SimTime fastest = SimTime::never();
  for (const LinkClass& link_class : classes_) {
    fastest = std::min(fastest, link_class.latency);
  }
  // A class may be without links (the border of a wafer of one tile), so the links decide.
  SimTime smallest = SimTime::never();
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    const EntityId node(n);
    for (unsigned port = 0; port < ports(node); ++port) {
      const Link out = link(node, port);
      if (out.to.valid()) {
        smallest = std::min(smallest, classes_[out.link_class].latency);
      }
    }
    if (smallest == fastest) {
      break;
    }
  }
  return smallest;
}

SimTime Topology::smallest_latency_of(const std::vector<bool>& used) const {
  SimTime smallest = SimTime::never();
  for (std::size_t number = 0; number < used.size(); ++number) {
    smallest = used[number] ? std::min(smallest, classes_[number].latency) : smallest;
  }
  return smallest;
}

const std::vector<MemoryNode>& Topology::memory_nodes() const {
  static const std::vector<MemoryNode> none;
  return none;
}

std::size_t Topology::resident_bytes() const {
  return sizeof(*this) + classes_.capacity() * sizeof(LinkClass);
}

std::uint64_t Topology::links() const {
  std::uint64_t count = 0;
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    const EntityId node(n);
    for (unsigned port = 0; port < ports(node); ++port) {
      count += link(node, port).to.valid() ? 1 : 0;
    }
  }
  return count;
}

NodeOrder Topology::computing_node_ids() const {
  if (const std::optional<std::uint32_t> first = first_tiles()) {
    return NodeOrder::up_to(*first);
  }
  std::vector<EntityId> ids;
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    if (computes(EntityId(node))) {
      ids.emplace_back(node);
    }
  }
  return ids;
}

std::uint32_t Topology::computing_nodes() const {
  if (const std::optional<std::uint32_t> first = first_tiles()) {
    return *first;
  }
  std::uint32_t count = 0;
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    count += computes(EntityId(n)) ? 1 : 0;
  }
  return count;
}

Registry<TopologyMaker>& topologies() {
  static Registry<TopologyMaker> registry("topology");
  return registry;
}

}  // namespace tessera::machine
