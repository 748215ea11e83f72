#include "tile_types.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "dram.hpp"
#include "readers.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/machine/parameters.hpp"

namespace tessera::machine {
namespace {

struct TileKeys {
  // What is not given is as in `usual`.
  explicit TileKeys(const Tile& usual)
      : efficiency("efficiency", usual.efficiency,
                   "share of the peak that operators reach, the same for all of them",
                   config::at_least(Fraction::millionths(1))),
        sram("sram", usual.sram, "capacity, with operands in it; 0: not stated, everything fits"),
        sram_bandwidth("sram_bandwidth", usual.sram_bandwidth,
                       "bandwidth to the core; 0: never the limit"),
        operands_in_dram("operands", {{"sram", false}, {"dram", true}},
                         usual.operands_in_dram ? "dram" : "sram",
                         "memory that holds the operands of running operations: sram, or dram: the "
                         "tile's own DRAM channel") {}

  config::Key<Fraction> efficiency;
  config::Key<Bytes> sram;
  config::Key<Bandwidth> sram_bandwidth;
  config::ChoiceKey<bool> operands_in_dram;
};

const config::OtherKey peak_key = config::counted_in(
    "FLOP/s", config::OtherKey("peak", "mapping", "",
                               "a mapping from data types to dense rates; types: " +
                                   join(product_type_names())));
// Of a type, beside those of a tile.
const config::OtherKey type_nodes_key{"nodes", "list of text", "none",
                                      "numbers or names of the tiles of this type"};
const config::OtherKey compute_key{"compute", "mapping", "that of the machine",
                                   "compute model of these tiles, with its keys"};
const config::OtherKey channel_key{"dram", "mapping", "as for other tiles",
                                   "DRAM channels of these tiles, with 'dram: {at: each}'"};

void read_peak(config::Section& section, Tile& tile) {
  config::Section peak = section.section(peak_key.key());
  for (const std::string& key : peak.keys()) {
    const std::optional<DataType> type = data_type_from(key);
    if (type) {
      tile.peak[*type] = peak.get<FlopRate>(key, config::at_least(FlopRate::flops_per_second(1)));
    } else {
      peak.raw(key);
      peak.error(key, unknown_name("data type", key, product_type_names()));
    }
  }
  // What is no mapping is a complaint already.
  if (peak.keys().empty() && (peak.is_mapping() || !section.has(peak_key.key()))) {
    section.error(peak_key.key(), "must give the peak rate of at least one data type, e.g. fp16");
  }
}

using TypeOfNodes = SparseTableOf<std::uint16_t>;

// [nodes] the place in `types` of those that list the node, else of none.
TypeOfNodes listed_types(config::Section& section, const std::vector<Tile>& types,
                         const Topology& topology) {
  TypeOfNodes listed(topology.nodes(), NodeTree::no_type);
  for (std::size_t place = 0; place < types.size(); ++place) {
    config::Section entry = section.section("types").section(types[place].name);
    if (!entry.has(type_nodes_key.key())) {
      continue;
    }
    for (const EntityId node : read_listed_nodes(entry, topology)) {
      if (!topology.computes(node)) {
        entry.error("nodes", "'" + topology.node_name(node) + "' does not compute");
      } else if (listed[node.value()] != NodeTree::no_type) {
        entry.error("nodes", "'" + topology.node_name(node) + "' is listed for '" +
                                 types[listed[node.value()]].name + "' as well");
      } else {
        listed.set(node.value(), static_cast<std::uint16_t>(place));
      }
    }
  }
  return listed;
}

using Numbers = std::map<std::uint16_t, std::uint16_t>;  // by place in `types`

// `numbers`: of places in `types` that some tile has.
void note_unused_types(config::Section& machine, const std::vector<Tile>& types,
                       const Numbers& numbers) {
  for (std::size_t place = 0; place < types.size(); ++place) {
    if (!numbers.contains(static_cast<std::uint16_t>(place))) {
      config::Section section = machine.section("types");
      config::note_without_effect(section, types[place].name, "no tile of this type");
    }
  }
}

// Numbers of types as nodes from the first one on have them; those of no type count as one.
struct MetTypes {
  Numbers numbers;
  std::vector<std::uint16_t> places;      // in `types`, by number
  std::optional<EntityId> first_of_none;  // the first node of no type
  TypeOfNodes type_of;                    // [nodes] number; 0 of those that do not compute

  std::uint16_t meet(std::uint16_t place, EntityId node) {
    const auto [number, is_new] =
        numbers.try_emplace(place, static_cast<std::uint16_t>(places.size()));
    if (is_new) {
      places.push_back(place);
    }
    if (is_new && place == NodeTree::no_type) {
      first_of_none = node;
    }
    return number->second;
  }
};

// Where those that compute have the first numbers and types but by lists: O(listed nodes).
MetTypes meet_listed(const TypeOfNodes& listed, std::uint32_t tiles) {
  std::map<std::uint16_t, std::uint32_t> firsts;  // nodes, by place
  listed.visit([&](std::size_t node, std::uint16_t place) {
    firsts.try_emplace(place, static_cast<std::uint32_t>(node));
  });
  std::uint32_t other = 0;
  while (other < tiles && listed[other] != NodeTree::no_type) {
    ++other;
  }
  if (other < tiles) {
    firsts.emplace(NodeTree::no_type, other);
  }
  std::map<std::uint32_t, std::uint16_t> order;
  for (const auto& [place, node] : firsts) {
    order.emplace(node, place);
  }
  MetTypes met;
  for (const auto& [node, place] : order) {
    met.meet(place, EntityId(node));
  }
  const std::uint16_t usual = other < tiles ? met.numbers.at(NodeTree::no_type) : 0;
  const auto nodes = static_cast<std::uint32_t>(listed.size());
  met.type_of = TypeOfNodes(nodes, usual);
  listed.visit(
      [&](std::size_t node, std::uint16_t place) { met.type_of.set(node, met.numbers.at(place)); });
  for (std::uint32_t node = tiles; node < nodes && usual != 0; ++node) {
    met.type_of.set(node, 0);
  }
  return met;
}

// `places`: in `types`, of those of the topology.
MetTypes meet_all(const TypeOfNodes& listed, const std::vector<std::uint16_t>& places,
                  const Topology& topology) {
  MetTypes met;
  met.type_of = TypeOfNodes(topology.nodes(), 0);
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    const EntityId node(n);
    if (!topology.computes(node)) {
      continue;
    }
    const std::uint16_t named = topology.tile_type(node);
    const std::uint16_t place =
        listed[n] == NodeTree::no_type && named != NodeTree::no_type ? places[named] : listed[n];
    if (const std::uint16_t number = met.meet(place, node); number != 0) {
      met.type_of.set(n, number);
    }
  }
  return met;
}

}  // namespace

Tile read_tile(config::Section& section, const Tile& usual) {
  Tile tile;
  if (!section.has(peak_key.key()) && !usual.peak.empty()) {
    tile.peak = usual.peak;
    tile.inherits_peak = true;
  } else {
    read_peak(section, tile);
  }
  const TileKeys keys(usual);
  tile.efficiency = keys.efficiency.read(section);
  for (const auto& [type, rate] : tile.peak) {
    // Rates are whole numbers.
    const Wide millionths = Wide{rate.flops_per_second()} * tile.efficiency.millionths();
    if (rate > FlopRate() && millionths < Fraction::one) {
      section.error(keys.efficiency.key(), "of " + to_string(rate) + " for " + to_string(type) +
                                               " less than 1 FLOP/s would be left");
      tile.efficiency = Tile().efficiency;
    }
  }
  tile.sram = keys.sram.read(section);
  tile.sram_bandwidth = keys.sram_bandwidth.read(section);
  tile.operands_in_dram = keys.operands_in_dram.read(section);
  return tile;
}

void note_tile_keys_without_effect(config::Section& machine, std::string_view with) {
  // Read once more, as nobody hears: complaints are known.
  const auto note = [&](config::Section& around, std::string_view name, const Tile& usual) {
    config::Diagnostics unheard;
    config::Section same(around.raw(name), "", unheard);
    const Tile other = same.has(peak_key.key()) ? Tile{} : usual;
    Tile tile = read_tile(same, other);
    config::Section section = around.section(name);
    const TileKeys keys(other);
    if (tile.efficiency != other.efficiency) {
      config::note_without_effect(section, keys.efficiency.key(), with);
    }
    if (tile.sram != other.sram) {
      config::note_without_effect(section, keys.sram.key(), with);
    }
    if (tile.sram_bandwidth != other.sram_bandwidth) {
      config::note_without_effect(section, keys.sram_bandwidth.key(), with);
    }
    return tile;
  };
  const Tile of_all = machine.has("tile") ? note(machine, "tile", {}) : Tile{};
  if (machine.has("types")) {
    config::Section types = machine.section("types");
    for (const std::string& name : types.keys()) {
      note(types, name, of_all);
    }
  }
}

std::vector<ParameterInfo> tile_parameters() {
  const TileKeys keys(Tile{});
  return {peak_key, keys.efficiency, keys.sram, keys.sram_bandwidth, keys.operands_in_dram};
}

std::vector<ParameterInfo> type_parameters() {
  std::vector<ParameterInfo> all = tile_parameters();
  for (ParameterInfo& parameter : all) {
    parameter.default_value = "that of 'tile' for a type without a peak";
    parameter.is_required = parameter.is_value = false;
  }
  const ChannelKeys channel(channel_key.name() + ".");
  all.insert(all.end(), {type_nodes_key, compute_key, channel_key, channel.bandwidth,
                         channel.latency, channel.capacity});
  return all;
}

std::vector<Tile> read_types(config::Section& machine, const Tile& usual) {
  std::vector<Tile> types;
  if (!machine.has("types")) {
    return types;
  }
  config::Section section = machine.section("types");
  for (const std::string& name : section.keys()) {
    config::Section entry = section.section(name);
    Tile tile = read_tile(entry, entry.has(peak_key.key()) ? Tile{} : usual);
    tile.name = name;
    entry.raw(type_nodes_key.key());  // cannot be judged without a topology
    entry.raw(compute_key.key());     // of another room
    if (entry.has(channel_key.key())) {
      config::Section dram = entry.section(channel_key.key());
      const ChannelKeys keys;
      tile.channel = MemoryChannel{EntityId::none(), keys.bandwidth.read(dram),
                                   keys.latency.read(dram), keys.capacity.read(dram)};
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
  if (types.empty() && places.empty()) {
    return;  // all are as `tile` says
  }
  const TypeOfNodes listed = listed_types(section, types, topology);
  const std::optional<std::uint32_t> tiles = topology.first_tiles();
  MetTypes met =
      places.empty() && tiles ? meet_listed(listed, *tiles) : meet_all(listed, places, topology);
  if (met.first_of_none && section.has("types") && !section.has("tile")) {
    section.error("types", "'" + topology.node_name(*met.first_of_none) +
                               "' has none of them, and there is no 'tile' for such nodes");
    return;
  }
  std::vector<Tile> tiles_met;
  for (const std::uint16_t place : met.places) {
    tiles_met.push_back(place == NodeTree::no_type ? machine.tile : types[place]);
  }
  if (!tiles_met.empty()) {
    machine.tile = tiles_met.front();
  }
  note_unused_types(section, types, met.numbers);
  if (tiles_met.size() > 1) {
    machine.types = std::move(tiles_met);
    machine.type_of = std::move(met.type_of);
  }
}

namespace {

// Where some types have channels of their own, the first channel is not that of all others.
void state_usual_channel(Machine& machine) {
  const bool some = std::any_of(machine.types.begin(), machine.types.end(),
                                [](const Tile& type) { return type.channel.has_value(); });
  if (!some || machine.channels.empty()) {
    return;
  }
  MemoryChannel usual = machine.channels.front();
  usual.node = EntityId::none();
  for (Tile& type : machine.types) {
    type.channel = type.channel.value_or(usual);
  }
  machine.tile.channel = machine.tile.channel.value_or(usual);
}

// Either all types have channels of their own by now, or none has.
void set_channels_at_all_tiles(Machine& machine) {
  std::vector<MemoryChannel> of_types;
  for (const Tile& type : machine.types) {
    if (type.channel) {
      of_types.push_back(*type.channel);
    }
  }
  if (!machine.channels.empty() && !of_types.empty()) {
    machine.channels = machine.channels.of_types(std::move(of_types), machine.type_of);
  }
}

// Those of types at their tiles; the types that have some.
std::set<std::string> set_channels_of_types(Machine& machine) {
  if (machine.types.empty() && machine.channels.are_alike()) {
    if (machine.tile.channel) {
      machine.channels.become(*machine.tile.channel);
    }
    return machine.channels.empty() ? std::set<std::string>() : std::set{machine.tile.name};
  }
  std::set<std::string> at_types;
  if (machine.channels.are_alike()) {
    set_channels_at_all_tiles(machine);
    for (std::size_t type = 0; type < machine.types.size() && !machine.channels.empty(); ++type) {
      at_types.insert(machine.types[type].name);
    }
    return at_types;
  }
  std::vector<MemoryChannel> channels = machine.channels.listed();
  for (MemoryChannel& channel : channels) {
    if (!machine.topology->computes(channel.node)) {
      continue;
    }
    const Tile& tile = machine.tile_of(channel.node);
    at_types.insert(tile.name);
    if (tile.channel) {
      const EntityId node = channel.node;
      channel = *tile.channel;
      channel.node = node;
    }
  }
  machine.channels = MemoryChannels(std::move(channels));
  return at_types;
}

// Of types with tiles; `at_types`: of those that have some channel at a tile.
void note_unused_channels(config::Section& section, const Machine& machine,
                          const std::set<std::string>& at_types) {
  for (const Tile& tile : machine.tiles()) {
    if (!tile.name.empty() && !at_types.contains(tile.name)) {
      config::Section type = section.section("types").section(tile.name);
      config::note_without_effect(type, channel_key.key(),
                                  "no channel at a tile of this type (machine.dram.at: each has "
                                  "one at every tile)");
    }
  }
}

}  // namespace

void adjust_channels(config::Section& section, Machine& machine) {
  state_usual_channel(machine);
  note_unused_channels(section, machine, set_channels_of_types(machine));
  if (section.has("dram") && section.section("dram").raw("at").text == "memories") {
    // Channels are in the order of the memories.
    const std::vector<MemoryNode>& memories = machine.topology->memory_nodes();
    for (std::size_t channel = memories.size(); channel-- > 0;) {
      for (const EntityId owner : memories[channel].owners) {
        machine.channel_of.set(owner, static_cast<std::uint32_t>(channel));
      }
    }
  }
}

}  // namespace tessera::machine
