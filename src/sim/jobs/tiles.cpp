#include "jobs/tiles.hpp"

#include "tessera/core/error.hpp"

namespace tessera::sim {

std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const std::vector<EntityId>& nodes) {
  std::vector<const machine::Tile*> kinds;
  if (machine.types.empty()) {
    return {&machine.tile};
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

void refuse_too_many_ranks(const std::string& cutter, std::size_t parts, const std::string& what,
                           int ranks) {
  if (parts < static_cast<std::size_t>(ranks)) {
    throw ConfigError("partition '" + cutter + "' cannot cut " + std::to_string(parts) + " " +
                      what + " over " + std::to_string(ranks) +
                      " ranks; use fewer ranks or 'auto'");
  }
}

Job::BytesByNode bytes_by_node(const machine::Machine& machine, const std::vector<Bytes>& bytes) {
  Job::BytesByNode sums;
  for (std::size_t channel = 0; channel < bytes.size(); ++channel) {
    if (bytes[channel] > Bytes()) {  // of many machines most hold nothing
      sums[machine.channels[channel].node] += bytes[channel];
    }
  }
  return sums;
}

}  // namespace tessera::sim
