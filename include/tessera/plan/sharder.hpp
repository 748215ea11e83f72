// What operators and layers come to on one tile, for one micro-batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/plan/strategy.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

// Bytes of a layer on one tile.
struct LayerBytes {
  Bytes weights;       // as held: a share under ZeRO 3
  Bytes used_weights;  // as computed with
  Bytes weights_read;  // from DRAM at a forward or backward pass, when they are not held
  Bytes gradients;     // as held
  Bytes optimizer;
  // What the update of this tile's share touches.
  Bytes updated_weights;
  Bytes updated_gradients;
  Bytes stored;  // activations kept for backward, one micro-batch
  // Gradients before anything is shared out: of the weights that every replica has, of experts, and
  // (part of the former) of weights that every shard has although it sees its own tokens only.
  Bytes dense_gradients;
  Bytes expert_gradients;
  Bytes whole_gradients;
  // On wires: of what replicas gather, and of gradients that they add up, experts apart.
  Bytes sent_weights;
  Bytes sent_expert_weights;
  Bytes sent_gradients;
  Bytes sent_expert_gradients;

  LayerBytes& operator+=(const LayerBytes& other);
};

// Bytes of one operator on one tile.
struct Operands {
  Bytes weights;  // as read by one pass
  Bytes inputs;
  Bytes outputs;
  Bytes gradients;
};

// What an optimizer does: its state and weights are read and written, gradients read; it is bound
// by that (PALM, Fig. 5, leaves its arithmetic out too).
struct Update {
  Bytes read;
  Bytes written;
  workload::Operation operation;
};
Update update_of(const workload::Workload& workload, Bytes optimizer, Bytes updated_weights,
                 Bytes updated_gradients);

class Sharder {
 public:
  // Of an operator's weights, in elements or in bytes: its own, of these those that are never cut,
  // and those that another operator counts.
  struct Weights {
    std::uint64_t own = 0;
    std::uint64_t replicated = 0;
    std::uint64_t shared = 0;
  };

  // Both must outlive the sharder.
  Sharder(const workload::Workload& workload, const Strategy& strategy)
      : workload_(workload), strategy_(strategy) {}

  workload::Operation forward(const workload::Operator& op) const;
  // The backward pass; where there are weights, without their gradient.
  workload::Operation input_gradient(const workload::Operator& op) const;
  // No FLOPs where there are no weights.
  workload::Operation weight_gradient(const workload::Operator& op) const;
  // Whether what the operator keeps for its backward pass is not kept, but made again.
  bool recomputes(const workload::Operator& op) const;
  // Of these, whether the backward pass computes the operator itself once more.
  bool computes_again(const workload::Operator& op) const;
  // What it computes then.
  workload::Operation forward_again(const workload::Operator& op) const;
  Operands operands(const workload::Operator& op) const;
  LayerBytes bytes_of(const workload::Layer& layer) const;
  // Kept from forward to backward where nothing is recomputed.
  Bytes stored(const workload::Operator& op) const;
  // Of its output, what alternate recomputation keeps.
  Bytes kept_results(const workload::Operator& op) const;
  // Whether gradients of its weights have its input as it was gathered along the tokens.
  bool keeps_gathered_input(const workload::Operator& op) const {
    return strategy_.software.keeps_gathered_inputs &&
           (strategy_.recompute != Recompute::alternate || recomputes(op));
  }
  // Of what the operator holds for so long only; see workload::Operator.
  Bytes passing_forward(const workload::Operator& op) const {
    return share_of(op.passing_forward, op);
  }
  Bytes passing_backward(const workload::Operator& op) const {
    return share_of(op.passing_backward, op);
  }
  // Of one operator, when nothing is shared out over replicas; whether ZeRO 3 does with it.
  Bytes held_weights(const workload::Operator& op) const;
  std::uint64_t held_parameters(const workload::Operator& op) const { return tile_parameters(op); }
  bool is_shared_out(const workload::Operator& op) const;
  // Its tensors with fewer parameters than `keep_below`: biases, scales and shifts.
  std::uint32_t kept_tensors(const workload::Operator& op) const;
  // Whether it is shared out and summed over the replicas that hold the same experts, in place of
  // those that share out all else. Hybrid groups hold all experts, and share them out as all else.
  bool goes_with_experts(const workload::Operator& op) const {
    return op.experts > 0 && !strategy_.is_hybrid();
  }
  // On wires: weights of one operator that replicas gather, and gradients that they add up.
  Bytes sent_weights(const workload::Operator& op) const;
  Bytes sent_gradients(const workload::Operator& op) const;
  // The same of the micro-batch: tokens on their way to experts or back, and what a tensor group
  // gathers or adds up of `elements` a sample.
  Bytes exchanged(const workload::Operator& op, bool to_experts) const;
  Bytes gathered_tokens(std::uint64_t elements) const;
  Bytes partial_sums(std::uint64_t elements) const;
  // Gradients of weights that layers share, as one tile updates them.
  Bytes tied_gradients() const;

  // Bytes that one tile sees of `elements` a sample, all of them but for the cut of the sequence.
  Bytes tensor_bytes(std::uint64_t elements) const;
  // The same of what tensor parallelism leaves whole: its share where that is cut along tokens.
  Bytes whole_bytes(std::uint64_t elements) const;
  // Keys and values of the whole sequence, as a context group gathers them for the operator.
  Bytes gathered_context(const workload::Operator& op) const;
  // Of memory, where software copies keys and values for each head of queries: what these copies
  // take more, of the tile's own tokens; what is gathered then; and in the backward pass what is
  // there for their gradients (Software::passes_context_sums).
  Bytes repeated_keys(const workload::Operator& op) const;
  Bytes gathered_keys(const workload::Operator& op) const;
  Bytes key_gradients(const workload::Operator& op) const;
  // How explicit sharding cuts the operator; null where the default holds.
  const OperatorSharding* explicit_sharding(const workload::Operator& op) const;

  const Strategy& strategy() const { return strategy_; }
  bool trains() const { return workload_.training; }

 private:
  // Into how many parts the dimensions of an operator are cut, those of the sequence included.
  struct Shares {
    std::uint64_t samples = 1;
    std::uint64_t rows = 1;
    std::uint64_t columns = 1;
    std::uint64_t depth = 1;
    std::uint64_t heads = 1;
    std::uint64_t all() const { return samples * rows * columns * depth * heads; }
    std::uint64_t input() const { return samples * rows * depth * heads; }
    std::uint64_t output() const { return samples * rows * columns * heads; }
    std::uint64_t weights() const { return columns * depth * heads; }
  };

  // Of the micro-batch, on one tile.
  struct Elements {
    std::uint64_t inputs = 0;
    std::uint64_t outputs = 0;
  };

  // LAYER/OPERATOR, of an operator of the workload.
  std::string path_of(const workload::Operator& op) const;
  Shares shares(const workload::Operator& op) const;
  Elements elements(const workload::Operator& op) const;
  workload::Operation operation_of(const workload::Operator& op, std::uint64_t cast) const;
  workload::MatrixProduct cut_product(const workload::Operator& op) const;
  Flops share_of(Flops flops, const workload::Operator& op) const;
  Bytes share_of(Bytes bytes, const workload::Operator& op) const;
  // Held on one tile when nothing is shared out over replicas, and read by one pass: the latter
  // with weights that another operator holds.
  std::uint64_t tile_parameters(const workload::Operator& op) const;
  std::uint64_t held(const workload::Operator& op, const Weights& weights) const;
  std::uint64_t used(const workload::Operator& op, const Weights& weights) const;
  bool is_copied(const workload::Operator& op) const;
  // As sent in this type, or as kept.
  Bytes sent(const std::optional<DataType>& type, std::uint64_t elements) const;
  Bytes read_weights(const workload::Operator& op) const;
  Bytes moved(const workload::Operator& op) const;
  Bytes kept(const workload::Operator& op) const;

  const workload::Workload& workload_;
  const Strategy& strategy_;
};

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by);

}  // namespace tessera::plan
