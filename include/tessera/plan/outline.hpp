// What a strategy makes of single layers, without a plan: for bounds and estimates of many
// strategies at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tessera/machine/machine.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {

// Of one layer on one tile, for one micro-batch; without what replicas send to each other.
struct PassOutline {
  struct Collective {
    GroupShape shape;
    Group group = Group::each;
    collective::Kind kind = collective::Kind::all_reduce;
    Bytes bytes;              // of the whole vector
    bool background = false;  // other work goes on beside it
  };
  std::vector<workload::Operation> operations;
  std::vector<Collective> collectives;
  Bytes accessed;  // in DRAM
  Bytes written;   // of these
  // Of these by kind, as weights that are read: those of a kind go one after the other.
  std::map<std::uint32_t, Bytes> of_kinds;
  Bytes most_of_a_kind() const;
};

// Bytes of one layer on one tile.
struct LayerState {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes stored;  // activations kept for backward, one micro-batch
  // What replicas send, as of LayerBytes: weights that they gather, and gradients.
  Bytes sent_weights;
  Bytes sent_expert_weights;
  Bytes sent_gradients;
  Bytes sent_expert_gradients;
  Bytes dense_gradients;  // as kept
  Bytes expert_gradients;
  Bytes whole_gradients;  // that the tensor group sums up
  Bytes updated_weights;  // of the optimizer, as of LayerBytes
  Bytes updated_gradients;
  Bytes boundary;  // that a tile sends to the next stage after the layer

  Bytes weight_state() const { return weights + gradients + optimizer; }
  LayerState& operator+=(const LayerState& other);
  LayerState operator*(std::uint64_t times) const;
};

// How the tensors of a stage are kept; see StageMemory.
struct Holding {
  bool weights = false;
  bool activations = false;
  friend bool operator==(const Holding&, const Holding&) = default;
};

// As a plan's program has it, by the same code, for a stage of the layer alone. What replicas do is
// left out: the data degree, `zero` and `overlap_gradients` have no effect.
PassOutline outline_of(const workload::Workload& workload, const Strategy& strategy,
                       std::size_t layer, Phase phase, const Holding& holding, Bytes sram);

LayerState state_of(const workload::Workload& workload, const Strategy& strategy,
                    std::size_t layer);

// What SRAM holds of a stage with so much state and so many activations; as plans decide it.
Holding holding_of(const machine::Tile& tile, bool has_dram, Bytes weight_state, Bytes activations);

// [layers] numbers from 0, the same for layers that differ by name alone; where sharding is given
// for layers by name, each has its own.
std::vector<std::size_t> kinds_of_layers(const workload::Workload& workload,
                                         const Strategy& strategy);

// Members of a group that follow each other in one domain, where all blocks are alike and there is
// more than one: the channels of its collectives; else 1.
std::uint32_t channels_of(const GroupShape& shape, const Placement& placement,
                          const machine::Topology& topology);

}  // namespace tessera::plan
