#include <algorithm>
#include <utility>

#include "dram.hpp"
#include "faults.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/name.hpp"
#include "tessera/core/memory.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/parameters.hpp"
#include "tile_types.hpp"

namespace tessera::machine {
namespace {

const config::Key<std::string> name_key{"name", "machine", "title"};

std::unique_ptr<Topology> read_topology(config::Section& machine) {
  config::Section section = machine.section("topology");
  const std::string kind = topology_kind_key().read(section);
  if (!topologies().contains(kind)) {
    // Already complained about; nobody can say which of the other keys are right.
    for (const std::string& key : section.keys()) {
      section.raw(key);
    }
    return nullptr;
  }
  auto topology = topologies().at(kind)(section);
  section.finish();  // here, as nothing else may come after a topology that was not read
  if (topology && topology->computing_nodes() == 0) {
    machine.error("topology", "no node computes; at least one must be a tile");
  }
  return topology;
}

// Operands in DRAM move at the bandwidth of the tile's own channel.
void check_operands(const Machine& machine, config::Section& section) {
  const auto tiles = machine.tiles();
  const bool refused = machine.channels.empty() && section.has("dram") &&
                       section.section("dram").raw("at").text != "none";
  if (refused || std::none_of(tiles.begin(), tiles.end(),
                              [](const Tile& tile) { return tile.operands_in_dram; })) {
    return;  // the former has been complained about there
  }
  if (machine.channels.size() == machine.topology->computing_nodes() &&
      machine.channels.are_at_first_nodes()) {
    return;  // each has its own
  }
  for (std::uint32_t n = 0; n < machine.topology->nodes(); ++n) {
    const EntityId node(n);
    const Tile& tile = machine.tile_of(node);
    const bool own =
        !machine.channels.empty() && machine.channels[machine.channel_of[n]].node == node;
    if (machine.topology->computes(node) && tile.operands_in_dram && !own) {
      config::Section part =
          tile.name.empty() ? section.section("tile") : section.section("types").section(tile.name);
      part.error("operands", "'dram' needs a channel at every tile; write 'dram: {at: each}'");
      return;
    }
  }
}

// Whether its description alone has room in this computer's memory. What follows from arithmetic
// takes none; channels at listed nodes have an entry a node.
bool has_room(config::Section& section, const Topology& topology) {
  constexpr std::uint64_t bytes_of_channels = 8;
  const bool lists_channels = section.has("dram") && section.section("dram").has("nodes");
  const std::uint64_t bytes = topology.nodes() * (lists_channels ? bytes_of_channels : 0);
  const MemoryThere there = memory_there();
  if (there.most == 0 || bytes <= there.most) {
    return true;
  }
  section.error("topology", std::to_string(topology.nodes()) + " nodes take at least " +
                                to_short_string(Bytes(bytes)) + " to describe, and " + there.whose +
                                " has " + to_short_string(Bytes(there.most)));
  return false;
}

}  // namespace

const config::NameKey& topology_kind_key() {
  static const config::NameKey key{"topology.kind", [] { return topologies().names(); }, "",
                                   "nodes and links"};
  return key;
}

std::vector<ParameterInfo> machine_parameters() {
  return {name_key};
}

std::optional<Machine> read_machine(config::Section& section) {
  Machine machine;
  machine.name = config::checked_name(section, "name", name_key.read(section));
  machine.topology = read_topology(section);
  if (section.has("tile")) {
    config::Section tile = section.section("tile");
    machine.tile = read_tile(tile, {});
  }
  machine.framework = read_framework(section);
  machine.host = read_host(section);
  machine.power = read_power(section);
  const std::vector<Tile> types = read_types(section, machine.tile);
  if (!machine.topology || !has_room(section, *machine.topology)) {
    for (const char* key : {"dram", "faults"}) {
      if (section.has(key)) {
        section.raw(key);  // cannot be judged without a topology
      }
    }
    return std::nullopt;
  }
  bool is_whole = true;
  machine.topology = apply_faults(section, std::move(machine.topology), machine.speeds, is_whole);
  assign_types(section, types, machine);
  PlacedChannels placed = read_channels(section, *machine.topology);
  machine.channel_of = nearest_channels(*machine.topology, placed);
  machine.channels = std::move(placed.channels);
  adjust_channels(section, machine);
  check_operands(machine, section);
  return is_whole ? std::optional(std::move(machine)) : std::nullopt;  // routes need all ways
}

}  // namespace tessera::machine
