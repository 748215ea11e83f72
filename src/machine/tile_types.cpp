#include "tile_types.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tessera/core/text.hpp"

namespace tessera::machine {

Tile read_tile(config::Section& section) {
  Tile tile;
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
  tile.efficiency = section.get_or<Fraction>("efficiency", Fraction::millionths(Fraction::one),
                                             config::at_least(Fraction::millionths(1)));
  tile.sram = section.get_or<Bytes>("sram", Bytes(0));
  tile.sram_bandwidth = section.get_or<Bandwidth>("sram_bandwidth", Bandwidth::bytes_per_second(0));
  tile.operands_in_dram = section.get_name("operands", {"sram", "dram"}, "sram") == "dram";
  return tile;
}

std::vector<Tile> read_types(config::Section& machine) {
  std::vector<Tile> types;
  if (!machine.has("types")) {
    return types;
  }
  config::Section section = machine.section("types");
  for (const std::string& name : section.keys()) {
    config::Section entry = section.section(name);
    Tile tile = read_tile(entry);
    tile.name = name;
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
  std::vector<std::size_t> places;
  for (const TileTypeName& named : topology.tile_types()) {
    places.push_back(static_cast<std::size_t>(std::find(known.begin(), known.end(), named.name) -
                                              known.begin()));
    if (places.back() == types.size()) {
      section.section("topology")
          .error("nodes", named.text, unknown_name("type of tiles", named.name, known));
      return;
    }
  }
  const bool some_have_none = section.has("types") && !section.has("tile");
  std::map<std::uint16_t, std::uint16_t> numbers;  // of the topology's types, as first met
  std::vector<std::uint16_t> type_of(topology.nodes(), 0);
  std::vector<Tile> met;
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    const EntityId node(n);
    if (!topology.computes(node)) {
      continue;
    }
    const std::uint16_t type = topology.tile_type(node);
    if (type == NodeTree::no_type && some_have_none) {
      section.error("types", "'" + topology.node_name(node) +
                                 "' has none of them, and there is no 'tile' for such nodes");
      return;
    }
    const auto [number, added] =
        numbers.try_emplace(type, static_cast<std::uint16_t>(numbers.size()));
    if (added) {
      met.push_back(type == NodeTree::no_type ? machine.tile : types[places[type]]);
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
