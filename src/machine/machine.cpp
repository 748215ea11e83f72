#include "tessera/machine/machine.hpp"

#include "tessera/core/text.hpp"

namespace tessera::machine {

const FlopRate* Tile::stated_peak(DataType type) const {
  for (const DataType each : {type, element_type(type)}) {
    const auto found = peak.find(each);
    if (found != peak.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

FlopRate Tile::rate(DataType type) const {
  if (const FlopRate* const stated = stated_peak(type)) {
    return scaled(*stated, efficiency);
  }
  std::vector<std::string> known;
  for (const auto& [other, rate] : peak) {
    known.push_back(to_string(other));
  }
  throw ConfigError("the machine states no peak for " + to_string(type) + " (" + peak_key() +
                    " has " + (known.empty() ? "nothing" : join(known)) + ")");
}

std::string Tile::peak_key() const {
  return name.empty() || inherits_peak ? "tile.peak" : "types." + name + ".peak";
}

std::vector<std::uint64_t> Machine::nodes_of_types() const {
  std::vector<std::uint64_t> nodes(tiles().size());
  std::uint64_t usual = topology->computing_nodes();
  type_of.visit([&](std::size_t node, std::uint16_t type) {
    if (topology->computes(EntityId(static_cast<std::uint32_t>(node)))) {
      ++nodes[type];
      --usual;
    }
  });
  nodes[type_of.usual()] += usual;
  return nodes;
}

SimTime Machine::time_at(EntityId node, SimTime time) const {
  const auto slow = speeds.find(node);
  return slow == speeds.end() ? time
                              : rounded_up_duration(static_cast<std::uint64_t>(time.ps()),
                                                    Fraction::one, slow->second.millionths());
}

Bandwidth Machine::operand_bandwidth(const Tile& of) const {
  if (!of.operands_in_dram) {
    return of.sram_bandwidth;
  }
  return of.channel ? of.channel->bandwidth : channels.front().bandwidth;
}

std::size_t Machine::resident_bytes() const {
  return sizeof(*this) + name.capacity() + (topology ? topology->resident_bytes() : 0) +
         channels.resident_bytes() + channel_of.resident_bytes() + types.capacity() * sizeof(Tile) +
         type_of.resident_bytes();
}

std::vector<std::uint32_t> hosts_of(const Machine& machine) {
  std::vector<std::uint32_t> hosts(machine.topology->nodes());
  std::uint32_t devices = 0;
  for (std::uint32_t node = 0; node < hosts.size(); ++node) {
    hosts[node] = devices / machine.host.devices;
    devices += machine.topology->computes(EntityId(node)) ? 1U : 0U;
  }
  return hosts;
}

}  // namespace tessera::machine
