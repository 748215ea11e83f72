// A whole machine: its graph, what a tile can do, and where its memories are.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/sparse_table.hpp"
#include "tessera/machine/channels.hpp"
#include "tessera/machine/framework.hpp"
#include "tessera/machine/host.hpp"
#include "tessera/machine/node_speeds.hpp"
#include "tessera/machine/power.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// What a computing node can do. Without a `tile` section in the file there is no peak at all, which
// is enough for a machine that only carries traffic.
struct Tile {
  std::string name;                                           // of its type; empty: of no type
  std::map<DataType, FlopRate> peak;                          // dense, by data type
  bool inherits_peak = false;                                 // of a type: it is that of `tile`
  Fraction efficiency = Fraction::millionths(Fraction::one);  // share of the peak of matrix work
  Bytes sram;                                                 // capacity; 0: not stated
  Bandwidth sram_bandwidth;                                   // to the core; 0: never the limit
  // Operations read and write their operands in the tile's own DRAM channel while they run (a GPU),
  // rather than in SRAM, into which what does not fit is streamed.
  bool operands_in_dram = false;
  // Its core loads and stores operands by accesses to the channel that serves it, wherever that is,
  // so that nothing is streamed into SRAM before either. Follows from the compute model.
  bool loads_operands = false;
  bool streams_nothing() const { return operands_in_dram || loads_operands; }
  // Where types have channels that are not as `dram` says: of this type; at no node.
  std::optional<MemoryChannel> channel;
  // Peak for `type`, times `efficiency`; throws ConfigError naming the types the tile has.
  FlopRate rate(DataType type) const;
  // Of the type, or of the elements of its blocks; null where neither is stated.
  const FlopRate* stated_peak(DataType type) const;
  std::string peak_key() const;  // of the machine's file
};

// The machine of one experiment. Immutable after reading.
struct Machine {
  std::string name;
  std::unique_ptr<Topology> topology;
  // Of all nodes; where there are types, of the first node that computes.
  Tile tile;
  std::vector<Tile> types;               // empty where all nodes are alike
  SparseTableOf<std::uint16_t> type_of;  // [nodes] index in types; empty with them
  MemoryChannels channels;               // empty: no DRAM at all
  ChannelOfNodes channel_of;             // [nodes]; empty when there are no channels
  Framework framework;                   // of every device
  Host host;                             // likewise
  std::optional<Power> power;            // likewise
  NodeSpeeds speeds;                     // of nodes that are slower than the others

  const Tile& tile_of(EntityId node) const {
    return types.empty() ? tile : types[type_of[node.value()]];
  }
  // All there are.
  std::span<const Tile> tiles() const {
    return types.empty() ? std::span(&tile, 1) : std::span(types);
  }
  // [tiles()] nodes that compute.
  std::vector<std::uint64_t> nodes_of_types() const;
  // What takes `time` on other nodes, at this one.
  SimTime time_at(EntityId node, SimTime time) const;
  // Between a core and the memory that its operands are in; 0: never the limit.
  Bandwidth operand_bandwidth(const Tile& of) const;
  // Bytes this object holds, for the memory prediction.
  std::size_t resident_bytes() const;
};

// [nodes] the number of its host: devices that compute share one with those numbered next to them,
// as many as machine.host.devices says. Of a node that does not compute: that of the next one.
std::vector<std::uint32_t> hosts_of(const Machine& machine);

// Reads the mapping of a machine file:
//   name: text
//   topology: {kind: …, …}                       see topologies()
//   tile: {peak: {fp16: 16 TFLOP/s, …}, efficiency: 1.0, sram: 3 MiB, sram_bandwidth: 1 TB/s,
//          operands: sram | dram}
//   types: {NAME: {peak: …, …, dram: {bandwidth, latency, capacity}, nodes: [5, 6]}, …}
//   dram: {at: edge | each | memories | none | nodes, edges: [west, east], nodes: [0, 5],
//   bandwidth: 64 GB/s,
//          latency: 100 ns, capacity: 16 GB, memories: {bandwidth, latency} of `at: each`}
//   framework: {context: 723 MiB, communicator: 688 MB, block: 2 MiB, fragmentation: 0 %}
//   host: {bandwidth: 64 GB/s, latency: 1 us, memory: 2 TB, devices: 8, memory_bandwidth: 600 GB/s}
//   power: {idle: 70, compute: 500, memory: 80, link: 30, host: 240}
//   faults: {links: [{from, to, bandwidth: 50 % or dead: true, directions}],
//            nodes: [{node, speed: 80 %}]}
// parameters.hpp has what each key means. A type is of the tiles that the topology calls so, and
// of its `nodes`, whatever that calls them; without `peak`, all that it does not give is `tile`'s.
// `tile` and `dram` may be absent as a whole. Tiles whose type the topology does not say are as
// `tile` says; capacities of `memories` are those of the nodes. `operands: dram` needs a channel at
// every computing node, as `at: each` gives. `at: edge` puts one channel at every node on the named
// sides of a grid (a corner on two named sides gets one), numbered by node; `at: none` ignores the
// other keys of `dram`. Keys of other rooms (`network`, `memory`, `compute`, that of a type too)
// are left to their readers, and so is `finish()`. Complaints go to the section's diagnostics;
// nullopt when the topology could not be built.
std::optional<Machine> read_machine(config::Section& section);

}  // namespace tessera::machine
