// Which tile plays which role.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/divisor.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/sparse_table.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/plan/traffic.hpp"

namespace tessera::plan {

// Degrees of parallelism; their product is the number of tiles used.
struct Degrees {
  std::uint32_t pipeline = 1;
  std::uint32_t data = 1;
  std::uint32_t tensor = 1;
  std::uint64_t tiles() const { return std::uint64_t{pipeline} * data * tensor; }
};

// The part a tile plays: stage of the pipeline, replica of the data, shard of the tensors.
struct Role {
  std::uint32_t stage = 0;
  std::uint32_t replica = 0;
  std::uint32_t shard = 0;
};

// Roles are numbered (stage * data + replica) * tensor + shard.
inline std::uint32_t number_of(const Degrees& degrees, const Role& role) {
  return (role.stage * degrees.data + role.replica) * degrees.tensor + role.shard;
}

class Placement {
 public:
  static constexpr std::uint32_t unused = 0xFFFFFFFFU;
  Placement() = default;
  // `tiles`: [degrees.tiles()] node of each role, all different.
  Placement(const Degrees& degrees, std::vector<EntityId> tiles, std::uint32_t nodes);

  EntityId tile(const Role& role) const { return tiles_[number(role)]; }
  EntityId tile(std::uint32_t role) const { return tiles_[role]; }
  // A stage's roles follow each other.
  std::uint32_t stage_tiles() const { return degrees_.data * degrees_.tensor; }
  // Number of the role a node plays, `unused` when none.
  std::uint32_t role_number(EntityId node) const { return role_of_[node.value()]; }
  Role role(std::uint32_t number) const {
    const std::uint32_t rest = tensor_.quotient(number);
    const std::uint32_t stage = data_.quotient(rest);
    return {stage, rest - stage * degrees_.data, number - rest * degrees_.tensor};
  }
  std::uint32_t stage(std::uint32_t number) const { return stage_.quotient(number); }
  std::uint32_t place_in_stage(std::uint32_t number) const { return stage_.remainder(number); }
  std::uint32_t number(const Role& role) const { return number_of(degrees_, role); }
  const Degrees& degrees() const { return degrees_; }
  const std::vector<EntityId>& tiles() const { return tiles_; }  // by role
  std::size_t resident_bytes() const;

 private:
  Degrees degrees_;
  Divisor tensor_;
  Divisor data_;
  Divisor stage_;  // tiles of one
  std::vector<EntityId> tiles_;
  SparseTable role_of_;  // [nodes]
};

// Where the members of a tensor group lie in the rectangle of their stage (PALM, section V-B.3,
// Fig. 8 and 10).
//   near  comm1: in a rectangle of their own, as close together as possible
//   far   comm2: spread over the whole rectangle, one in each of `tensor` equal parts; the tiles of
//         one part, which lie close together, are a data group
// Of `replicas`: which replica is which.
//   rows     band after band
//   columns  down the first column of replicas and up the next
//   ring     around a ring (ring_order), so that the last replica is beside the first as well;
//   bands
//            must hold whole replicas, and all bands equally many
enum class ReplicaOrder : std::uint8_t { rows, columns, ring };

enum class TensorMembers : std::uint8_t { near, far };

// What `optimized` may spend, and where it begins.
struct Optimization {
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> moves;  // tiles moved on trial; by default some 6000 a role
  std::string start = "best";          // a layout, or the best of all that fit
};

// Shapes on a grid, in rows and columns of nodes.
struct PlacementRequest {
  Degrees degrees;
  std::vector<EntityId> nodes;  // that may be used, in order; empty: all that compute
  std::optional<std::array<std::uint32_t, 2>> group;         // of one stage: data * tensor tiles
  std::optional<std::array<std::uint32_t, 2>> tensor_group;  // inside it: tensor tiles
  TensorMembers tensor_members = TensorMembers::near;
  std::optional<std::uint32_t> band;  // of `replicas`: rows of a band
  ReplicaOrder replica_order = ReplicaOrder::rows;
  // Of `given`: [degrees.tiles()] node of each role, all different; of `optimized`: what it has
  // come to, or none.
  std::vector<EntityId> tiles;
  // Where the user says which layers a stage has: first layer of each stage and the end,
  // [stages + 1], as balance_layers gives them. Else empty.
  std::vector<std::size_t> first_layers;
  Optimization optimization;
};

// Nodes that roles may lie on.
machine::NodeOrder usable_nodes(const machine::Topology& topology, const PlacementRequest& request);

// Traffic of the plan that is to be placed; asked for only by layouts that look at it.
using TrafficSource = std::function<RoleTrafficList()>;

// Placements by name:
//   line       stages down the first column of groups, then down the next one
//   s-shape    the same, every other column upwards, so that consecutive stages are neighbours
//   replicas   one after the other along bands of `band` rows from the north, each band column by
//              column, the last with what rows are left over; in a replica stage by stage, in a
//              stage shard by shard
//   linear     roles on the nodes that may be used, in their order (any topology)
//   given      as the user says, `tiles` (any topology)
//   optimized  small hop-weighted traffic, by simulated annealing (any topology, see
//              src/plan/placement/optimized.cpp)
// The first three are for grids only. The first two (PALM, Fig. 8) give each stage a rectangle, cut
// into rectangles of one tensor group (near) or into parts with one member of each (far); members
// follow each other around a ring. Default shapes: the tile of a two-level machine where a group
// fits it exactly, else the squarest rectangle that fits. Bands are by default as high as a square
// of one tensor group. Nodes that may be used must be a rectangle of the grid for all three, which
// stands for the grid. Throws ConfigError when the roles do not fit.
using Placer = std::function<Placement(const machine::Machine&, const PlacementRequest&,
                                       const TrafficSource&)>;
Registry<Placer>& placements();

// Nodes of the roles in each layout by name that `optimized` may begin from and that fits, each
// once.
std::vector<std::vector<EntityId>> named_starts(const machine::Machine& machine,
                                                const PlacementRequest& request);

// An order of the cells of a rectangle in which neighbours in the list, and the last and the first,
// are one hop apart wherever that is possible: a Hamiltonian cycle when a side is even; one step of
// two hops when both are odd; on a single row or column a folded order with steps of two hops.
std::vector<std::pair<std::uint32_t, std::uint32_t>> ring_order(std::uint32_t rows,
                                                                std::uint32_t columns);

}  // namespace tessera::plan
