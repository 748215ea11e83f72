#include "jobs/tiles.hpp"

#include <algorithm>
#include <iterator>

#include "tessera/core/error.hpp"

namespace tessera::sim {
namespace {

template <class Nodes>
std::vector<const machine::Tile*> kinds_among(const machine::Machine& machine, const Nodes& nodes) {
  std::vector<const machine::Tile*> kinds;
  if (machine.types.empty()) {
    return {&machine.tile};
  }
  // No type is without tiles.
  if (nodes.size() == machine.topology->computing_nodes()) {
    std::transform(machine.types.begin(), machine.types.end(), std::back_inserter(kinds),
                   [](const machine::Tile& type) { return &type; });
    return kinds;
  }
  std::vector<bool> there(machine.types.size());
  for (const EntityId node : nodes) {
    there[machine.type_of[node.value()]] = true;
  }
  for (std::size_t type = 0; type < there.size(); ++type) {
    if (there[type]) {
      kinds.push_back(&machine.types[type]);
    }
  }
  return kinds;
}

}  // namespace

std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const machine::NodeOrder& nodes) {
  return kinds_among(machine, nodes);
}

std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const std::vector<EntityId>& nodes) {
  return kinds_among(machine, nodes);
}

void refuse_too_many_ranks(const std::string& cutter, std::size_t parts, const std::string& what,
                           int ranks) {
  if (parts < static_cast<std::size_t>(ranks)) {
    throw ConfigError("partition '" + cutter + "' cannot cut " + std::to_string(parts) + " " +
                      what + " over " + std::to_string(ranks) +
                      " ranks; use fewer ranks or 'auto'");
  }
}

Job::BytesByNode bytes_by_node(const machine::Machine& machine, const plan::BytesByChannel& bytes) {
  Job::BytesByNode sums;
  for (const auto& [channel, kept] : bytes) {
    if (kept > Bytes()) {
      sums[machine.channels[channel].node] += kept;
    }
  }
  return sums;
}

}  // namespace tessera::sim
