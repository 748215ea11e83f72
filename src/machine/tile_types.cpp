#include "tile_types.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "readers.hpp"
#include "tessera/core/text.hpp"

namespace tessera::machine {
namespace {

void read_peak(config::Section& section, Tile& tile) {
  config::Section peak = section.section("peak");
  for (const std::string& key : peak.keys()) {
    const std::optional<DataType> type = data_type_from(key);
    if (type) {
      tile.peak[*type] = peak.get<FlopRate>(key, config::at_least(FlopRate::flops_per_second(1)));
    } else {
      peak.raw(key);
      peak.error(key, unknown_name("data type", key, data_type_names()));
    }
  }
  if (peak.keys().empty()) {
    section.error("peak", "must give the peak rate of at least one data type, e.g. fp16");
  }
}

// [nodes] the place in `types` of those that list the node, else of none.
std::vector<std::uint16_t> listed_types(config::Section& section, const std::vector<Tile>& types,
                                        const Topology& topology) {
  std::vector<std::uint16_t> listed(topology.nodes(), NodeTree::no_type);
  for (std::size_t place = 0; place < types.size(); ++place) {
    config::Section entry = section.section("types").section(types[place].name);
    if (!entry.has("nodes")) {
      continue;
    }
    for (const EntityId node : read_listed_nodes(entry, topology)) {
      if (!topology.computes(node)) {
        entry.error("nodes", "'" + topology.node_name(node) + "' does not compute");
      } else if (listed[node.value()] != NodeTree::no_type) {
        entry.error("nodes", "'" + topology.node_name(node) + "' is listed for '" +
                                 types[listed[node.value()]].name + "' as well");
      } else {
        listed[node.value()] = static_cast<std::uint16_t>(place);
      }
    }
  }
  return listed;
}

}  // namespace

Tile read_tile(config::Section& section, const Tile& usual) {
  Tile tile;
  if (!section.has("peak") && !usual.peak.empty()) {
    tile.peak = usual.peak;
  } else {
    read_peak(section, tile);
  }
  tile.efficiency = section.get_or<Fraction>("efficiency", usual.efficiency,
                                             config::at_least(Fraction::millionths(1)));
  tile.sram = section.get_or<Bytes>("sram", usual.sram);
  tile.sram_bandwidth = section.get_or<Bandwidth>("sram_bandwidth", usual.sram_bandwidth);
  tile.operands_in_dram = section.get_name("operands", {"sram", "dram"},
                                           usual.operands_in_dram ? "dram" : "sram") == "dram";
  return tile;
}

std::vector<Tile> read_types(config::Section& machine, const Tile& usual) {
  std::vector<Tile> types;
  if (!machine.has("types")) {
    return types;
  }
  config::Section section = machine.section("types");
  for (const std::string& name : section.keys()) {
    config::Section entry = section.section(name);
    Tile tile = read_tile(entry, entry.has("peak") ? Tile{} : usual);
    tile.name = name;
    entry.raw("nodes");    // cannot be judged without a topology
    entry.raw("compute");  // of another room
    if (entry.has("dram")) {
      config::Section dram = entry.section("dram");
      tile.channel = MemoryChannel{
          EntityId::none(),
          dram.get<Bandwidth>("bandwidth", config::at_least(Bandwidth::bytes_per_second(1))),
          dram.get<SimTime>("latency", config::at_least(SimTime::zero())),
          dram.get_or<Bytes>("capacity", Bytes(0))};
    }
    types.push_back(std::move(tile));
  }
  return types;
}

void assign_types(config::Section& section, const std::vector<Tile>& types, Machine& machine) {
  const Topology& topology = *machine.topology;
  std::vector<std::string> known;
  for (const Tile& type : types) {
    known.push_back(type.name);
  }
  // [types of the topology] place in `types`
  std::vector<std::uint16_t> places;
  for (const TileTypeName& named : topology.tile_types()) {
    places.push_back(static_cast<std::uint16_t>(std::find(known.begin(), known.end(), named.name) -
                                                known.begin()));
    if (places.back() == types.size()) {
      section.section("topology")
          .error("nodes", named.text, unknown_name("type of tiles", named.name, known));
      return;
    }
  }
  const std::vector<std::uint16_t> listed = listed_types(section, types, topology);
  const bool some_have_none = section.has("types") && !section.has("tile");
  std::map<std::uint16_t, std::uint16_t> numbers;  // by place in `types`, as first met
  std::vector<std::uint16_t> type_of(topology.nodes(), 0);
  std::vector<Tile> met;
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    const EntityId node(n);
    if (!topology.computes(node)) {
      continue;
    }
    const std::uint16_t named = topology.tile_type(node);
    const std::uint16_t type =
        listed[n] == NodeTree::no_type && named != NodeTree::no_type ? places[named] : listed[n];
    if (type == NodeTree::no_type && some_have_none) {
      section.error("types", "'" + topology.node_name(node) +
                                 "' has none of them, and there is no 'tile' for such nodes");
      return;
    }
    const auto [number, added] =
        numbers.try_emplace(type, static_cast<std::uint16_t>(numbers.size()));
    if (added) {
      met.push_back(type == NodeTree::no_type ? machine.tile : types[type]);
    }
    type_of[n] = number->second;
  }
  if (!met.empty()) {
    machine.tile = met.front();
  }
  if (met.size() > 1) {
    machine.types = std::move(met);
    machine.type_of = std::move(type_of);
  }
}

void adjust_channels(config::Section& section, Machine& machine) {
  for (MemoryChannel& channel : machine.channels) {
    const std::optional<MemoryChannel>& own = machine.tile_of(channel.node).channel;
    if (own && machine.topology->computes(channel.node)) {
      const EntityId node = channel.node;
      channel = *own;
      channel.node = node;
    }
  }
  if (section.has("dram") && section.section("dram").raw("at").text == "memories") {
    // Channels are in the order of the memories.
    const std::vector<MemoryNode>& memories = machine.topology->memory_nodes();
    for (std::size_t channel = memories.size(); channel-- > 0;) {
      for (const EntityId owner : memories[channel].owners) {
        machine.channel_of[owner.value()] = static_cast<std::uint32_t>(channel);
      }
    }
  }
}

}  // namespace tessera::machine
