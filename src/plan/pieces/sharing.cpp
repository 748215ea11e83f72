// What replicas send to each other in a pass: weights that ZeRO 3 shares out, and gradients.
#include <algorithm>
#include <cmath>
#include <string>

#include "pieces/writer.hpp"
#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

using collective::Kind;
using workload::Operator;

}  // namespace

void PieceWriter::check_runs() const {
  if (strategy_.scatters_runs() && strategy_.sharing() > 1 && workload_.training &&
      streams_weights()) {
    throw ConfigError("scatter 'run' adds up whole gradients beside the shares, which stage " +
                      std::to_string(number_) +
                      " cannot stream; SRAM must hold what it needs, or 'scatter: each'");
  }
}

// Weights of one operator, those of experts over the replicas that hold the same ones.
void PieceWriter::gather_operator(Action action, const Operator& op, std::uint8_t slot) {
  collective(action, Kind::all_gather,
             sharder_.goes_with_experts(op) ? Group::expert_data : sharing_group(),
             sharder_.sent_weights(op), slot);
}

// Copies between a framework's tensors and what is sent: so many bytes moved for each of these.
void PieceWriter::copy(const std::string& name, Bytes bytes, double copies) {
  workload::Operation moved;
  moved.data_type = workload_.data_type;
  moved.kernel = workload::Kernel::sum;
  moved.bytes =
      Bytes(static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes.count()) * copies)));
  if (moved.bytes > Bytes(0)) {
    execute(name, moved);
  }
}

// That are made where what is kept goes tensor by tensor.
std::uint32_t PieceWriter::lists_of(const workload::Layer& layer) const {
  std::uint32_t lists = 0;
  for (const Operator& op : layer.operators) {
    lists += strategy_.keep_apart ? sharder_.kept_tensors(op) : 0;
  }
  return lists;
}

// What every replica keeps whole, of which each has updated a part (DeepSpeed, stage3.py:
// _post_step, whose copies of each tensor from each rank take lists of their own).
void PieceWriter::gather_kept(const LayerBytes& all) {
  if (!strategy_.keep_apart || !gathers_weights()) {
    return;
  }
  Bytes kept = all.sent_weights;
  std::uint32_t lists = 0;
  for (const LayerRange& layers : stage_.chunks) {
    for (std::size_t index = layers.first; index < layers.end; ++index) {
      lists += lists_of(layer(index));
      for (const Operator& op : layer(index).operators) {
        kept =
            kept - (is_gathered(op) && !sharder_.goes_with_experts(op) ? sharder_.sent_weights(op)
                                                                       : Bytes(0));
      }
    }
  }
  if (lists > 0) {
    collective(Action::collective, Kind::all_gather, sharing_group(), kept, 0, lists);
  }
}

// Whether its weights are gathered by themselves.
bool PieceWriter::is_gathered(const Operator& op) const {
  return gathers_weights() && strategy_.gather == GatherUnit::operators &&
         sharder_.is_shared_out(op) && sharder_.held_weights(op) > Bytes(0);
}

void PieceWriter::begin_uses(Phase phase, bool ahead) {
  find_uses(phase);
  gathers_ahead_ = ahead;
  if (ahead) {
    start_next_gather();
  }
}

// The uses of weights in a pass, in their order.
void PieceWriter::find_uses(Phase phase) {
  uses_.clear();
  next_use_ = next_gather_ = 0;
  gathered_ = 0;
  if (!gathers_weights() || strategy_.gather == GatherUnit::layer) {
    return;
  }
  const LayerRange layers = range();
  if (phase == Phase::forward) {
    for (std::size_t index = layers.first; index < layers.end; ++index) {
      for (const Operator& op : layer(index).operators) {
        add_use(op, true);
      }
    }
    return;
  }
  for (std::size_t index = layers.end; index > layers.first; --index) {
    find_backward_uses(layer(index - 1).operators);
  }
}

void PieceWriter::add_use(const Operator& op, bool gathers) {
  if (is_gathered(op)) {
    uses_.push_back({&op, gathers});
  }
}

void PieceWriter::find_backward_uses(const std::vector<Operator>& operators) {
  for (const Operator& op : operators) {
    if (sharder_.computes_again(op)) {
      add_use(op, true);
    }
  }
  // Between the two uses of an operator lie those behind it, once each way.
  std::uint64_t behind = 0;
  for (auto op = operators.rbegin(); op != operators.rend(); ++op) {
    add_use(*op, !sharder_.computes_again(*op) || behind > strategy_.reuse_distance);
    const std::uint64_t passes = sharder_.computes_again(*op) ? 2 : 1;
    behind += is_gathered(*op) ? passes * sharder_.held_parameters(*op) : 0;
  }
}

// The next gather of the pass, if there is one, in the background.
void PieceWriter::start_next_gather() {
  while (next_gather_ < uses_.size() && !uses_[next_gather_].gathers) {
    ++next_gather_;
  }
  if (next_gather_ < uses_.size()) {
    gather_operator(Action::start_collective, *uses_[next_gather_].op, gather_slot_of(gathered_));
    ++gathered_;
    ++next_gather_;
  }
}

// Before an operator is computed: its weights are there, and the next ones on their way.
void PieceWriter::use_weights(const Operator& op) {
  if (!is_gathered(op)) {
    return;
  }
  ensure(next_use_ < uses_.size() && uses_[next_use_].op == &op, "a use of weights out of order");
  if (!uses_[next_use_++].gathers) {
    return;
  }
  if (gathers_ahead_) {
    wait_collectives(std::uint32_t{1} << gather_slot_of(gathered_ - 1), "wait for weights");
    start_next_gather();
  } else {
    gather_operator(Action::collective, op, 0);
  }
  copy("copies of weights", sharder_.held_weights(op), strategy_.list_copies);
}

// Over the replicas, or the group that shares out and then, `final`, over all of these.
void PieceWriter::reduce_gradients(Action action, const LayerBytes& bytes, bool final,
                                   std::uint32_t lists) {
  const Kind kind = strategy_.zero >= 1 ? Kind::reduce_scatter : Kind::all_reduce;
  collective(action, kind, sharing_group(), bytes.sent_gradients, reduction_slot, lists);
  if (strategy_.is_hybrid() && final) {
    collective(action, Kind::all_reduce, Group::copies,
               Bytes(divided_up(bytes.sent_gradients.count(), strategy_.sharing())),
               reduction_slot);
  }
  collective(action, kind, Group::expert_data, bytes.sent_expert_gradients, reduction_slot);
}

// What is left of a layer's gradients without those of operators whose weights are gathered by
// themselves.
LayerBytes PieceWriter::gradients_together(std::size_t index) const {
  LayerBytes rest = sharder_.bytes_of(layer(index));
  for (const Operator& op : layer(index).operators) {
    if (is_gathered(op)) {
      Bytes& bytes = sharder_.goes_with_experts(op) ? rest.expert_gradients : rest.dense_gradients;
      bytes = bytes - sharder_.operands(op).gradients;
      Bytes& sent =
          sharder_.goes_with_experts(op) ? rest.sent_expert_gradients : rest.sent_gradients;
      sent = sent - sharder_.sent_gradients(op);
    }
  }
  return rest;
}

// Of gradients, those that other replicas have a share of.
Bytes PieceWriter::reduced(const LayerBytes& gradients) const {
  const bool by_all = strategy_.sharing() > 1;
  const bool by_holders = by_all && strategy_.degrees.data > strategy_.expert;
  return (by_all ? gradients.dense_gradients : Bytes()) +
         (by_holders ? gradients.expert_gradients : Bytes());
}

// Before anything else follows: autograd puts them together as part of the layer's pass.
void PieceWriter::copy_gradients(std::size_t index) {
  if (strategy_.zero >= 2) {
    copy("copies of gradients", reduced(gradients_together(index)), strategy_.gradient_copies);
  }
}

// Of a layer: all in one collective, or those of each operator whose weights are gathered by
// themselves, and the others.
void PieceWriter::reduce_gradients(std::size_t index, bool final) {
  const Action action = strategy_.overlap_gradients ? Action::start_collective : Action::collective;
  for (const Operator& op : layer(index).operators) {
    if (is_gathered(op)) {
      LayerBytes own;
      (sharder_.goes_with_experts(op) ? own.expert_gradients : own.dense_gradients) =
          sharder_.operands(op).gradients;
      (sharder_.goes_with_experts(op) ? own.sent_expert_gradients : own.sent_gradients) =
          sharder_.sent_gradients(op);
      copy("copies of gradients", reduced(own), strategy_.list_copies + strategy_.gradient_copies);
      reduce_gradients(action, own, final);
    }
  }
  reduce_gradients(action, gradients_together(index), final, std::max(1U, lists_of(layer(index))));
}

}  // namespace tessera::plan
