// What a device holds while an iteration goes through it: by part, pass by pass, and at its peak.
//
// Method. What is held from one iteration to the next (weights, gradients, optimizer state) is
// always there. A forward pass through a layer leaves what its backward pass needs; that pass frees
// it, or that of the weights' gradients where these are apart. While a layer is worked on there are
// besides, of the largest of its operators, outputs and gradients; what is computed again; under
// ZeRO 3 its weights, and those of the next layer where they are gathered ahead; under ZeRO 2 and 3
// its whole gradients until they are scattered, and while sums go on beside it those of the layer
// before; where runs of micro-batches are scattered, those of a chunk, all the time. Of two passes
// that take turns each is at work on a layer, or waits in one for tokens to travel, while the other
// is at work: what both hold then is there at one time. The software's own share
// (machine::Framework) is added to the sum.
//
// Sources: Rajbhandari et al., "ZeRO", SC 2020 (state of the optimizer); Korthikanti et al.,
// arXiv:2205.05198 (activations); Zhao et al., "PyTorch FSDP", arXiv:2304.11277 (gathers). What
// PyTorch holds besides: plan/software.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/units.hpp"
#include "tessera/machine/framework.hpp"
#include "tessera/plan/program.hpp"
#include "tessera/plan/schedule/pairs.hpp"
#include "tessera/plan/strategy.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

// What memory is held for.
enum class MemoryPart : std::uint8_t {
  weights,
  gradients,
  optimizer,
  activations,    // kept for backward passes, of all micro-batches that are under way
  recomputed,     // those that the backward pass of a layer has computed again
  gathered,       // weights of other replicas, for a layer at work or the next one
  scattered,      // whole gradients that are not shared out yet
  working,        // outputs and gradients of an operator at work, copies of logits
  communicators,  // buffers of collectives
  context,        // of the driver and the framework
  reserve         // that the allocator holds for no tensor: rounding, fragmentation
};
inline constexpr std::size_t memory_parts = 11;
std::string to_string(MemoryPart part);

struct MemoryUse {
  std::array<Bytes, memory_parts> parts{};

  Bytes& operator[](MemoryPart part) { return parts[static_cast<std::size_t>(part)]; }
  Bytes operator[](MemoryPart part) const { return parts[static_cast<std::size_t>(part)]; }
  Bytes total() const;
  // Of tensors alone: neither buffers of communicators, nor context, nor reserve.
  Bytes tensors() const;
  MemoryUse& operator+=(const MemoryUse& other);
  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
};

// One pass of one micro-batch through one chunk.
struct PassMemory {
  MemoryUse most;  // when most is held; activations of this micro-batch and chunk alone
  Bytes before;    // of these, what is kept when the pass begins, and when it is over
  Bytes after;
  // When most is held but for what is gathered and scattered, without these; and most of each.
  MemoryUse most_else;
  Bytes gathered;
  Bytes scattered;
  friend bool operator==(const PassMemory&, const PassMemory&) = default;
};

// By phase.
using PhaseMemory = std::array<PassMemory, phases>;

// What a layer needs, on one tile and for one micro-batch, beside what is held all the time.
struct LayerMemory {
  Bytes stored;      // from forward to backward
  Bytes recomputed;  // in the backward pass
  Bytes weights;     // all of them, of the tile's tensor shard
  Bytes gradients;   // likewise
  Bytes working_forward;
  Bytes working_backward;
  Bytes apart;  // kept beside `stored` from the gradients of inputs to those of weights
  // For software of its own, see plan/software.hpp: gradients as a backward pass makes them; of a
  // loss in fp32, where freed blocks are too small for them, one copy of the logits, and what it is
  // a copy of; whether the layer is one of those that are repeated, or has a loss.
  Bytes new_gradients;
  Bytes copy;
  Bytes copied;
  bool repeats = false;
  bool has_loss = false;
  // Of tokens over the expert group, in each pass: where passes take turns.
  std::uint32_t exchanges_forward = 0;
  std::uint32_t exchanges_backward = 0;  // with those that are computed again
};
LayerMemory memory_of_layer(const workload::Workload& workload, const Strategy& strategy,
                            const workload::Layer& layer);

// Passes through layers from `first` on, before `end`; `kind_of` refers to `kinds`, by layer. Of
// the phase `update`: nothing beside what is held. `pools_apart`: see machine::Framework.
PassMemory memory_of_pass(const Strategy& strategy, Phase phase,
                          const std::vector<LayerMemory>& kinds,
                          const std::vector<std::size_t>& kind_of, std::size_t first,
                          std::size_t end);

// Whether layers share weights in training, whose gradients the stages that have them sum up.
bool ties_weights(const workload::Workload& workload);

// All passes through layers from `first` on, before `end`, that the training may make.
PhaseMemory memory_of_passes(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
                             const std::vector<std::size_t>& kind_of, std::size_t first,
                             std::size_t end);

// A forward pass through layers from `first` on and a whole backward one through `other`, each
// [first, end), that take turns at exchanges over experts (Strategy::overlap_passes): `before` is
// of the backward one, `after` of the forward one. O(layers + exchanges).
PassMemory memory_of_pair(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
                          const std::vector<std::size_t>& kind_of,
                          const std::pair<std::size_t, std::size_t>& forward,
                          const std::pair<std::size_t, std::size_t>& backward);

// What the turns of a stage hold.
struct TurnMemory {
  std::vector<PhaseMemory> chunks;
  std::vector<PassMemory> pairs;  // by chunk of the forward pass; none: passes take no turns

  const PassMemory& of(const Turn& turn) const {
    return turn.beside ? pairs[turn.pass.chunk]
                       : chunks[turn.pass.chunk][static_cast<std::size_t>(turn.pass.phase)];
  }
};

// Of chunks of layers [first, end), with their pairs where the strategy has passes take turns.
TurnMemory memory_of_turns(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
                           const std::vector<std::size_t>& kind_of,
                           const std::vector<std::pair<std::size_t, std::size_t>>& chunks);

// Of the passes of a stage, where pools are apart (machine::Framework): what any of them gathers
// and scatters is held in all of them.
void keep_pools(TurnMemory& passes);

// What a stage holds of tensors between stages beside what its layers keep, where the software has
// buffers for all micro-batches (Software::buffers_all_micro_batches).
struct BoundaryMemory {
  Bytes each;      // of a micro-batch, in all chunks: received both ways, logits of the last part
  Bytes sent;      // outputs of one that is under way
  Bytes received;  // of what it receives, that layers keep anyway
  std::uint64_t under_way = 0;

  Bytes of(std::uint32_t micro_batches) const {
    const Bytes all = each * micro_batches + sent * under_way;
    return all - std::min(all, received * under_way);
  }
};

// Of chunks of layers [first, end), by chunk. `in_flight`: see StageForm.
BoundaryMemory boundary_memory(const workload::Workload& workload, const Strategy& strategy,
                               std::uint32_t stage,
                               const std::vector<std::pair<std::size_t, std::size_t>>& chunks,
                               std::uint32_t in_flight);

// Micro-batches that go through each chunk of a stage.
std::uint32_t micro_batches_of_chunk(const std::vector<Pass>& passes, std::uint32_t chunks);

// Groups that a device of the stage communicates in.
std::uint32_t communicators_of(const Strategy& strategy, std::uint32_t stage, bool ties);

// With the software's share: communicators, context, and what the allocator reserves.
MemoryUse with_framework(const machine::Framework& framework, std::uint32_t communicators,
                         MemoryUse tensors);

// Passes in a row: what is held, and when it was most. The first of equal peaks counts.
class MemoryWalk {
 public:
  struct Peak {
    MemoryUse use;  // without the software's share
    Pass pass;
  };

  MemoryWalk() = default;
  // `state`: weights, gradients and optimizer.
  explicit MemoryWalk(const MemoryUse& state) : state_(state) {}

  // What is held when most is, in this pass. Throws InternalError where more is freed than is held.
  MemoryUse take(const Pass& pass, const PassMemory& memory);
  const Peak& peak() const { return peak_; }
  bool has_begun() const { return begun_; }

 private:
  MemoryUse state_;
  Bytes activations_;
  Peak peak_;
  bool begun_ = false;
};

// The largest of each phase; `most` of chunks, by its sum.
PhaseMemory largest_passes(const std::vector<PhaseMemory>& chunks);

// What stays from gradients of inputs to those of weights beside activations; the mean of chunks,
// rounded up.
Bytes mean_apart(const std::vector<PhaseMemory>& chunks);

// In closed form, for the schedules by name: what a stage holds when it holds most, without the
// software's share. `stored` and `apart` of a chunk in the mean; `passes` by phase, each the
// largest of all chunks. Equal to a walk over the schedule where chunks are alike, else close to
// it.
struct StageForm {
  std::string schedule;  // empty: `in_flight` passes, whole
  std::uint32_t stages = 1;
  std::uint32_t stage = 0;
  std::uint32_t micro_batches = 1;
  std::uint32_t in_flight = 1;  // passes through one chunk whose activations are kept at a time
};
MemoryUse peak_in_closed_form(const StageForm& form, const MemoryUse& state, Bytes stored,
                              Bytes apart, const PhaseMemory& passes);

}  // namespace tessera::plan
