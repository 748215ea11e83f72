// The machine as a graph: places joined by directed links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/graph/node_tree.hpp"
#include "tessera/machine/topology/cluster.hpp"
#include "tessera/machine/topology/grid.hpp"
#include "tessera/machine/topology/node_order.hpp"
#include "tessera/machine/topology/stack.hpp"

namespace tessera::machine {

// A machine has fewer nodes than this: identifiers keep four bits to spare.
inline constexpr std::uint32_t node_limit = 1U << 28;

// What links of one kind share. A packet's head needs `latency` to the other end; its bytes leave
// at `bandwidth`.
struct LinkClass {
  std::string name;
  SimTime latency;  // > 0: it is the lookahead of the engine
  Bandwidth bandwidth;
};

// The link that leaves a node by one of its ports. `to` is none where the port leads nowhere (the
// rim of a mesh).
struct Link {
  EntityId to = EntityId::none();
  std::uint16_t link_class = 0;
};

// Where a link begins that carries nothing.
struct DeadLink {
  EntityId from;
  unsigned port = 0;
  friend auto operator<=>(const DeadLink&, const DeadLink&) = default;
};

// Ports of a grid node, in this order.
enum GridPort : unsigned { west = 0, east = 1, north = 2, south = 3 };

// Where to draw a node [columns, rows from the top].
struct Position {
  double x = 0;
  double y = 0;
};

class Hierarchy;

enum class RouteLength : std::uint8_t {
  latency,
  hops,
  bandwidth,  // sum of 1 / bandwidth
};

// What makes a way short, for routings that search ("shortest", "ecmp", "hierarchy").
struct RouteRule {
  RouteLength by = RouteLength::latency;
  // Tiles and memories pass on what is for others as switches do. Else a way over fewer of them is
  // the shorter one, whatever its length.
  bool through_ends = true;
};

// Ports that routes of the file take; all other ways are as `otherwise` finds them.
struct GivenRoutes {
  std::string otherwise;  // name of a routing
  std::unordered_map<std::uint64_t, unsigned> ports;
  static std::uint64_t key(EntityId here, EntityId target) {
    return std::uint64_t{here.value()} << 32 | target.value();
  }
};

// A node that holds data and computes nothing.
struct MemoryNode {
  EntityId node;
  Bytes capacity;                // 0: unlimited
  std::vector<EntityId> owners;  // tiles that it belongs to, ascending; none: to nobody
};

// A type of tile by the name that the topology uses, with its first place there.
struct TileTypeName {
  std::string name;
  config::Value text;
};

// Immutable after construction; all queries are const, thread-safe and O(1) unless said otherwise.
// Nodes are numbered 0 … nodes()-1 by the description alone. Ports of a node are 0 … ports(node)-1.
class Topology {
 public:
  virtual ~Topology() = default;
  virtual std::uint32_t nodes() const = 0;
  virtual unsigned ports(EntityId node) const = 0;
  virtual Link link(EntityId node, unsigned port) const = 0;
  virtual Position position(EntityId node) const = 0;
  // "tile (3,4)", "core (1,2) of tile (0,3)", or the name given in the file.
  virtual std::string node_name(EntityId node) const = 0;
  // Whether the node executes programs (a switch does not).
  virtual bool computes(EntityId) const { return true; }
  // Where those that compute have the first numbers: how many they are. None: they are counted.
  virtual std::optional<std::uint32_t> first_tiles() const { return std::nullopt; }
  // Where they have the first numbers and no link is dead: the one that fewest hops lead to, the
  // lowest of several.
  virtual EntityId nearest_tile(EntityId node) const { return node; }
  virtual NodeRole role(EntityId node) const {
    return computes(node) ? NodeRole::tile : NodeRole::switching;
  }
  // Types of tiles that the file names, and which of them a tile is: NodeTree::no_type for none.
  virtual std::vector<TileTypeName> tile_types() const { return {}; }
  virtual std::uint16_t tile_type(EntityId) const { return NodeTree::no_type; }
  // By node.
  virtual const std::vector<MemoryNode>& memory_nodes() const;
  // Nodes with the same number are close together, as the accelerators of one server are. Without
  // such, each node its own.
  virtual std::uint32_t domain(EntityId node) const { return node.value(); }
  virtual std::optional<Grid> grid() const { return std::nullopt; }
  virtual std::optional<Cluster> cluster() const { return std::nullopt; }
  // Null for machines that are no stack.
  virtual const Stack* stack() const { return nullptr; }
  // Null for machines whose file does not group nodes.
  virtual const NodeTree* tree() const { return nullptr; }
  // Null where "hierarchy" finds no way.
  virtual const Hierarchy* hierarchy() const { return nullptr; }
  // Null where the file gives none.
  virtual const GivenRoutes* given_routes() const { return nullptr; }
  virtual RouteRule route_rule() const { return {}; }
  // Then only routings that look at the links find a way: "shortest" and "ecmp".
  virtual bool has_dead_links() const { return false; }
  virtual std::vector<DeadLink> dead_links() const { return {}; }  // ascending
  // As it would be if no link were dead or slower than others of its kind.
  virtual const Topology& sound() const { return *this; }
  // The routing to use when none is asked for: one of routing_names().
  virtual std::string default_routing() const { return "shortest"; }
  std::string sound_routing() const { return sound().default_routing(); }

  const std::vector<LinkClass>& link_classes() const { return classes_; }
  // Whether links of a grid are alike along its rows, and along its columns; false: not known.
  virtual bool has_even_axes() const { return false; }
  // Smallest latency of any link that leads somewhere; `never` on a machine without links. Of
  // machines that follow from arithmetic O(1), else O(nodes) at worst; ends at the first link of
  // the fastest class. So are the next ones.
  virtual SimTime smallest_latency() const;
  // Bytes this object holds, for the memory prediction.
  virtual std::size_t resident_bytes() const;
  // Directed links that lead somewhere.
  virtual std::uint64_t links() const;
  std::uint32_t computing_nodes() const;
  NodeOrder computing_node_ids() const;  // ascending

 protected:
  // Of the classes that have links, by number.
  SimTime smallest_latency_of(const std::vector<bool>& used) const;

  std::vector<LinkClass> classes_;
};

// Topologies by name:
//   mesh   {rows, columns, bandwidth, latency}
//          Links to the four neighbours.
//   torus  {rows, columns, bandwidth, latency}
//          Rows and columns closed to rings; a ring of two has two links each way between the same
//          nodes, a ring of one has none.
//   wafer  {tiles: [rows, columns], cores: [rows, columns],
//           intra_tile: {bandwidth, latency}, inter_tile: {bandwidth, latency}}
//          A mesh of (tile rows · core rows) by (tile columns · core columns) cores: the two-level
//          machine of PALM (Fang et al., Table VI). A link across a tile boundary is of class
//          inter_tile, and each of them has the full inter_tile bandwidth by itself: a boundary of
//          n cores carries n times as much.
//   graph  {nodes: {NAME: {count, kind: tile | switch | memory, type, capacity, of | template}},
//           templates: {NAME: {nodes, links}}, link_types: {NAME: {bandwidth, latency, …}},
//           links: [{from, to, type | bandwidth, latency, reverse, count, join: all | even,
//                    directions: both | one}],
//           ways: {by: latency | hops | bandwidth, through: switches | all}, routes: [[node, …]]}
//          `nodes` may be a list with `name`s, too. `count: n` makes name[0] … name[n-1], each a
//          node or, with `template`, all nodes of that template. An end is a path of names with
//          dots between them ("server[3].gpu[0]"); a name without an index stands for the whole
//          group, name[2-5] for a part of it. All nodes of one end are joined to all of the other,
//          with `join: even` in equal shares; an end joined to itself is fully connected, `one`
//          then leading from lower to higher numbers. Every node must be reachable from every
//          other. At most 2^24 nodes and as many directed links.
//   cluster {nodes, accelerators, nics, switch: {bandwidth, latency}, nic: {…}, port: {…},
//            fabric: {kind: fat-tree, leaf_nodes, rail_optimized, spines, bandwidth, latency}}
//          `nodes` servers. An accelerator has a link (`switch`) to the switch of its server, which
//          stands for all switches inside it, and one (`nic`) to its NIC; a NIC has one (`port`) to
//          its leaf switch; every leaf has one of the fabric's to every spine, whose bandwidth
//          makes the oversubscription. `fabric: {kind: switch}` joins all NICs by one ideal switch.
//          A third level of a real fabric is not told apart from the spines.
//   stack  {shape: Ring(4)_FC(8)_Switch(4), dimensions: [{bandwidth, latency}, …]}, or without a
//          shape {dimensions: [{block: ring | fully-connected | switch, size, bandwidth, latency}]}
//          NPUs in as many dimensions, the innermost first: see Stack. Links of a dimension are
//          alike; the way through a switch is two of them.
//   double-ring {size, bandwidth, latency}
//   dragonfly {groups, routers, npus, global, node: {bandwidth, latency}, local: {…},
//              global_links: {…}}
//   fat-tree {k, oversubscription, node: {bandwidth, latency}, edge: {…}, core: {…}}
//   hypercube {dimensions, bandwidth, latency}
//   twisted-torus {rows, columns, twist, bandwidth, latency}, concentrated-mesh {rows, columns, …}
//          See their sources for the shapes. They are graphs whose routes are spread.
// A maker reads its section (all keys but `kind`, `finish()` is the caller's) and throws nothing on
// bad input: it leaves diagnostics in the section and may return null.
using TopologyMaker = std::function<std::unique_ptr<Topology>(config::Section&)>;
Registry<TopologyMaker>& topologies();

}  // namespace tessera::machine
