// Collectives beside operators: partial sums of tensor groups, keys and values of the sequence,
// tokens of experts, and gradients that stages or cuts share.
#include <algorithm>
#include <vector>

#include "pieces/writer.hpp"

namespace tessera::plan {

using collective::Kind;
using workload::Operator;
using workload::Sharding;

// Keys and values of the whole sequence (Llama 3, arXiv:2407.21783, section 3.3.2).
void PieceWriter::gather_context(const Operator& op) {
  if (op.context_elements > 0) {
    collective(Action::collective, Kind::all_gather, Group::context, sharder_.gathered_context(op));
  }
}

// Copies of tokens go to the experts behind the operator that makes them, and come back behind that
// of the experts; gradients the other way.
void PieceWriter::exchange_tokens(const Operator& op, Exchange way) {
  const bool to_experts = (op.experts == 0) == (way == Exchange::forward);
  collective(Action::collective, Kind::all_to_all, Group::expert,
             sharder_.exchanged(op, to_experts));
}

// Partial sums of the members that share the depth (PALM, Table III; Shoeybi et al., section 3).
void PieceWriter::sum_forward(std::size_t index, const Operator& op) {
  if (leaves_sum(index, op)) {
    return;
  }
  if (const OperatorSharding* sharding = sharder_.explicit_sharding(op)) {
    const std::uint64_t share =
        std::uint64_t{sharding->samples} * sharding->rows * sharding->columns;
    collective(Action::collective, Kind::all_reduce, tables_.group_of({sharding->depth, 1}),
               Bytes(divided_up(sharder_.partial_sums(op.output_elements).count(), share)));
    return;
  }
  const bool scattered = strategy_.sequence_parallel && op.sharding == Sharding::row;
  collective(Action::collective, scattered ? Kind::reduce_scatter : Kind::all_reduce, Group::tensor,
             sharder_.partial_sums(op.forward_all_reduce_elements));
}

void PieceWriter::sum_backward(const Operator& op, Action action) {
  if (const OperatorSharding* sharding = sharder_.explicit_sharding(op)) {
    const std::uint64_t share = std::uint64_t{sharding->samples} * sharding->rows * sharding->depth;
    collective(action, Kind::all_reduce, tables_.group_of({sharding->columns, sharding->depth}),
               Bytes(divided_up(sharder_.partial_sums(op.input_elements).count(), share)),
               tensor_slot);
    return;
  }
  const bool scattered = strategy_.sequence_parallel && op.sharding == Sharding::column;
  collective(action, scattered ? Kind::reduce_scatter : Kind::all_reduce, Group::tensor,
             sharder_.partial_sums(op.backward_all_reduce_elements), tensor_slot);
  if (op.context_elements > 0) {
    collective(Action::collective, Kind::reduce_scatter, Group::context,
               sharder_.gathered_context(op));
  }
}

// Gradients of weights whose samples or rows are cut inside the tensor group (PALM, Table III).
void PieceWriter::sum_cut_weights() {
  for (const LayerRange& layers : stage_.chunks) {
    for (std::size_t index = layers.first; index < layers.end; ++index) {
      for (const Operator& op : layer(index).operators) {
        if (const OperatorSharding* sharding = sharder_.explicit_sharding(op)) {
          const std::uint64_t share = std::uint64_t{sharding->columns} * sharding->depth;
          const GroupShape shape{sharding->samples * sharding->rows,
                                 sharding->columns * sharding->depth};
          collective(Action::collective, Kind::all_reduce, tables_.group_of(shape),
                     workload_.gradient_bytes_per_parameter * divided_up(op.parameters, share));
        }
      }
    }
  }
}

// Every stage with a copy of the weights has part of their gradient: summed over the stages after
// the replicas, as Megatron-LM does (finalize_model_grads); here only what the tile updates where
// the optimizer state is shared out. So are those of all weights of two copies of the model.
void PieceWriter::sum_tied_weights(const LayerBytes& all) {
  std::vector<std::uint32_t> stages = tables_.tied_stages;
  Bytes gradients = sharder_.tied_gradients();
  if (strategy_.mirrored) {
    stages = {number_, strategy_.degrees.pipeline - 1 - number_};
    gradients = all.updated_gradients;
  }
  if (std::find(stages.begin(), stages.end(), number_) == stages.end()) {
    return;
  }
  std::uint32_t share = 1;
  for (std::size_t i = 0; strategy_.aggregation != Aggregation::none && i < stages.size(); ++i) {
    share = std::max(
        share, estimates_.boundary_share(stages[i], stages[(i + 1) % stages.size()], GroupShape{}));
  }
  collective(Action::collective, Kind::all_reduce, Group::tied, gradients * share);
}

}  // namespace tessera::plan
