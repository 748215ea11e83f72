#include "dram.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "graph/reverse_links.hpp"
#include "grid_channels.hpp"
#include "readers.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/parameters.hpp"

namespace tessera::machine {
namespace {

using Nodes = std::vector<EntityId>;

const config::NameKey at_key{
    "at",
    [] {
      return std::vector<std::string>{"edge", "each", "memories", "nodes", "none"};
    },
    "",
    "location of channels: edge, each (computing node), memories (nodes of kind memory), nodes "
    "(those listed) or none"};
const config::OtherKey edges_key{"edges", "list of name", "",
                                 "with edge: any of west, east, north, south"};
const config::OtherKey channel_nodes_key{"nodes", "list of text", "",
                                         "with nodes: numbers or names of nodes"};
const config::OtherKey memories_key{
    "memories", "mapping", "none",
    "with each: bandwidth and latency of additional channels, one at each node of kind memory"};
const ChannelKeys channel_keys;

std::optional<EdgeChannels> read_edges(config::Section& dram, const Topology& topology) {
  const auto given = read_list<std::string>(dram, edges_key.key());
  const std::vector<std::string> sides = given.value_or(std::vector<std::string>());
  const std::vector<std::string> known{"west", "east", "north", "south"};
  for (const std::string& side : sides) {
    if (std::find(known.begin(), known.end(), side) == known.end()) {
      dram.error("edges", unknown_name("edge", side, known));
    }
  }
  const std::optional<Grid> grid = topology.grid();
  if (!grid) {
    dram.error("at", "'edge' needs a grid (mesh, torus, wafer)");
    return std::nullopt;
  }
  if (given && sides.empty()) {
    dram.error("edges", "must name at least one of " + join(known));
  }
  const auto named = [&](const char* side) {
    return std::find(sides.begin(), sides.end(), side) != sides.end();
  };
  return EdgeChannels{*grid, named("west"), named("east"), named("north"), named("south")};
}

Nodes memory_nodes(config::Section& dram, const Topology& topology) {
  Nodes nodes;
  for (const MemoryNode& memory : topology.memory_nodes()) {
    nodes.push_back(memory.node);
  }
  if (nodes.empty()) {
    dram.error("at", "'memories' needs nodes of 'kind: memory' in the topology");
  }
  return nodes;
}

// Channels of memories beside those of tiles.
void add_memories(config::Section& dram, const Topology& topology,
                  std::vector<MemoryChannel>& channels) {
  config::Section section = dram.section(memories_key.key());
  MemoryChannel channel;
  channel.bandwidth = channel_keys.bandwidth.read(section);
  channel.latency = channel_keys.latency.read(section);
  if (topology.memory_nodes().empty()) {
    dram.error(memories_key.key(), "needs nodes of 'kind: memory' in the topology");
  }
  for (const MemoryNode& memory : topology.memory_nodes()) {
    channel.node = memory.node;
    channel.capacity = memory.capacity;
    channels.push_back(channel);
  }
}

void refuse(config::Section& dram, const config::Declared& key, const char* placement) {
  if (dram.has(key.key())) {
    dram.raw(key.key());
    dram.error(key.key(), std::string("is only for 'at: ") + placement + "'");
  }
}

}  // namespace

ChannelKeys::ChannelKeys(const std::string& prefix)
    : bandwidth(prefix + "bandwidth", "bandwidth of one channel, shared by reads and writes",
                config::at_least(Bandwidth::bytes_per_second(1))),
      latency(
          prefix + "latency",
          "access latency of an idle channel; not of operands that stream (tile.operands: dram)",
          config::at_least(SimTime::zero())),
      capacity(prefix + "capacity", Bytes(0), "capacity of one channel; 0: not stated") {}

std::vector<ParameterInfo> dram_parameters() {
  const ChannelKeys of_memories("memories.");
  return {at_key,
          config::where_used(edges_key),
          config::where_used(channel_nodes_key),
          config::where_used(channel_keys.bandwidth),
          config::where_used(channel_keys.latency),
          channel_keys.capacity,
          memories_key,
          of_memories.bandwidth,
          of_memories.latency};
}

PlacedChannels read_channels(config::Section& machine, const Topology& topology) {
  if (!machine.has("dram")) {
    return {};
  }
  config::Section dram = machine.section("dram");
  const std::string at = at_key.read(dram);
  if (at.empty() || at == "none") {
    for (const std::string& key : dram.keys()) {
      dram.raw(key);
    }
    return {};
  }
  std::optional<EdgeChannels> edges;
  NodeOrder nodes;
  if (at == "edge") {
    edges = read_edges(dram, topology);
    nodes = edges ? edges->nodes() : Nodes();
  } else {
    refuse(dram, edges_key, "edge");
    nodes = at == "nodes"      ? read_listed_nodes(dram, topology)
            : at == "memories" ? memory_nodes(dram, topology)
                               : topology.computing_node_ids();
  }
  if (at != "nodes") {
    refuse(dram, channel_nodes_key, "nodes");
  }
  if (at != "each") {
    refuse(dram, memories_key, "each");
  }
  MemoryChannel channel;
  channel.bandwidth = channel_keys.bandwidth.read(dram);
  channel.latency = channel_keys.latency.read(dram);
  const std::string_view capacity = channel_keys.capacity.key();
  if (at == "memories" && dram.has(capacity)) {
    dram.raw(capacity);
    dram.error(capacity, "is what the nodes of 'topology' say");
  } else if (at != "memories") {
    channel.capacity = channel_keys.capacity.read(dram);
  }
  const bool adds_memories = at == "each" && dram.has(memories_key.key());
  if (at == "each" && topology.first_tiles() && !adds_memories) {
    return {MemoryChannels::alike(channel, *topology.first_tiles()), std::nullopt};
  }
  std::vector<MemoryChannel> channels;
  channels.reserve(nodes.size());
  for (const EntityId node : nodes) {
    channel.node = node;
    channels.push_back(channel);
  }
  if (at == "memories") {
    for (std::size_t i = 0; i < channels.size(); ++i) {
      channels[i].capacity = topology.memory_nodes()[i].capacity;
    }
  } else if (adds_memories) {
    add_memories(dram, topology, channels);
  }
  return {MemoryChannels(std::move(channels)), edges};
}

ChannelOfNodes nearest_channels(const Topology& topology, const PlacedChannels& placed) {
  const MemoryChannels& channels = placed.channels;
  if (channels.empty()) {
    return {};
  }
  const bool are_whole = !topology.has_dead_links();
  if (channels.are_alike() && (are_whole || channels.size() == topology.nodes())) {
    return ChannelOfNodes::own(topology, static_cast<std::uint32_t>(channels.size()));
  }
  if (placed.edges) {
    return are_whole ? ChannelOfNodes::along(*placed.edges)
                     : nearest_past_dead_links(topology, *placed.edges);
  }
  const std::optional<Grid> grid = topology.grid();
  if (grid && are_whole) {
    return nearest_on_grid(*grid, channels);
  }
  constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> channel_of(topology.nodes(), unknown);
  // Breadth first from all channels at once. They start in order of their numbers, and nodes of
  // one distance stay in that order, so who comes first at a node is the lowest of the nearest.
  std::vector<EntityId> open;
  open.reserve(topology.nodes());
  for (std::uint32_t channel = 0; channel < channels.size(); ++channel) {
    channel_of[channels[channel].node.value()] = channel;
    open.push_back(channels[channel].node);
  }
  const auto spread = [&](EntityId from, EntityId to) {
    if (to.valid() && channel_of[to.value()] == unknown) {
      channel_of[to.value()] = channel_of[from.value()];
      open.push_back(to);
    }
  };
  // The links of a grid lead both ways; otherwise the way to the channel counts.
  std::optional<ReverseLinks> reverse;
  if (!grid) {
    reverse.emplace(topology);
  }
  // Those that are found last lead to nobody new.
  for (std::size_t next = 0; next < open.size() && open.size() < topology.nodes(); ++next) {
    const EntityId node = open[next];
    if (reverse) {
      for (const ReverseLinks::Source& source : reverse->into(node)) {
        spread(node, source.from);
      }
      continue;
    }
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      spread(node, topology.link(node, port).to);
    }
  }
  // Of nodes that are cut off, which has been complained about, any.
  std::replace(channel_of.begin(), channel_of.end(), unknown, 0U);
  return channel_of;
}

}  // namespace tessera::machine
