// Nodes as users write them in files.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "tessera/core/ids.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// Finds a node by its number ("17") or its name ("gpu[3]", "core (1,2) of tile (0,3)"). Names
// of a grid say where the node is; elsewhere the first name costs O(nodes), for the names are then
// kept. Everything else is O(1).
class NodeFinder {
 public:
  explicit NodeFinder(const Topology& topology) : topology_(&topology) {}  // kept by reference
  // None when there is no such node.
  std::optional<EntityId> operator()(const std::string& text);

 private:
  const Topology* topology_;
  std::unordered_map<std::string, EntityId> by_name_;
};

}  // namespace tessera::machine
