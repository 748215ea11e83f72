#include "pieces/writer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

using collective::Kind;
using workload::Operator;
using workload::Sharding;

// Slots of memory accesses. Two of a kind alternate from layer to layer, so that one layer's
// transfer overlaps the other's work.
enum AccessSlot : std::uint8_t {
  weights_slot = 0,
  stored_read_slot = 2,
  stored_write_slot = 4,
  gradient_read_slot = 6,
  gradient_write_slot = 8,
  optimizer_slot = 10,
};
constexpr std::uint64_t all_accesses = 0xFFFFFFFFU;

// `offset` alternates the slot of a kind from layer to layer.
std::uint8_t slot_of(std::uint8_t kind, std::size_t offset) {
  return static_cast<std::uint8_t>(kind + offset % 2);
}
bool inside_tensor_group(Group group) {
  return group == Group::tensor || group >= Group::first_cut;
}

bool is_nothing(const workload::Operation& operation) {
  return operation.flops == Flops() && operation.bytes + operation.added == Bytes();
}

// What comes to a member of a collective over a vector of so many bytes [GB/s]: (n - 1) / n of the
// vector, of an all-reduce twice.
std::uint16_t received_rate(Kind kind, std::uint32_t members, Bytes bytes, SimTime time) {
  constexpr double most = std::numeric_limits<std::uint16_t>::max();
  if (time <= SimTime::zero()) {
    return 0;
  }
  const double all = static_cast<double>(bytes.count()) * (members - 1) / members *
                     (kind == Kind::all_reduce ? 2 : 1);
  const double rate = all / static_cast<double>(time.ps()) * 1e3;  // B/ps are TB/s
  return static_cast<std::uint16_t>(std::min(std::round(rate), most));
}

// Of a time, in 1/1000: what bytes take on links.
std::uint32_t busy_share(SimTime on_links, SimTime time) {
  if (on_links <= SimTime::zero() || time <= SimTime::zero()) {
    return 0;
  }
  const double share = static_cast<double>(on_links.ps()) / static_cast<double>(time.ps());
  return static_cast<std::uint32_t>(std::lround(std::min(share, 1.0) * always_busy));
}

}  // namespace

std::vector<Instruction> PieceWriter::write(Phase phase, std::uint16_t chunk, Closing closing) {
  chunk_ = chunk;
  host_waits_ = HostWait::no;
  occasion_ = phase == Phase::update ? Occasion::once : Occasion::again;
  check_sums();
  check_runs();
  switch (phase) {
    case Phase::forward:
      write_forward();
      break;
    case Phase::backward:
      write_backward(Gradients::both, closing);
      break;
    case Phase::input_gradient:
      write_backward(Gradients::inputs, Closing::nothing);
      break;
    case Phase::weight_gradient:
      write_backward(Gradients::weights, closing);
      break;
    case Phase::update:
      write_update();
      break;
  }
  return std::exchange(code_, {});
}

Instruction& PieceWriter::emit(Action action, const std::string& name) {
  Instruction instruction;
  instruction.action = action;
  instruction.name = tables_.names(name);
  return code_.emplace_back(instruction);
}

void PieceWriter::execute(const std::string& name, const workload::Operation& operation) {
  Instruction& instruction = emit(Action::execute, name);
  instruction.operation = tables_.operations(operation);
  instruction.host_waits = std::exchange(host_waits_, HostWait::no);
}

void PieceWriter::collective(Action action, Kind kind, Group group, Bytes bytes, std::uint8_t slot,
                             std::uint32_t lists) {
  const GroupShape shape = tables_.groups[static_cast<std::size_t>(group)];
  if (bytes == Bytes(0) || shape.together() == 1) {
    return;
  }
  const Traffic traffic = traffic_of(group);
  const bool simulated =
      strategy_.aggregation == Aggregation::none || group == Group::tied ||
      (strategy_.aggregation == Aggregation::tensor && !inside_tensor_group(group));
  const Action timed = action == Action::collective ? Action::elapse : Action::start_elapse;
  const auto add = [&](Action what, std::uint64_t amount) -> Instruction& {
    Instruction& instruction = emit(what, to_string(traffic) + " " + collective::to_string(kind));
    instruction.group = group;
    instruction.traffic = traffic;
    instruction.collective = kind;
    instruction.slot = slot;
    instruction.bytes = amount;
    return instruction;
  };
  const SimTime overhead = estimates_.collective.before(kind, shape.together(), bytes, lists);
  if (!simulated) {
    elapse(add(timed, 0), shape, bytes, overhead);
    return;
  }
  if (overhead > SimTime::zero()) {
    add(timed, static_cast<std::uint64_t>(overhead.ps()));
  }
  // As of boundary tensors; those of tied weights come with their share.
  const bool for_others = strategy_.aggregation == Aggregation::tensor && group != Group::tied;
  const double share = for_others ? estimates_.group_share(number_, group, shape, kind) : 1.0;
  add(action, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(bytes.count()))));
}

void PieceWriter::elapse(Instruction& instruction, const GroupShape& shape, Bytes bytes,
                         SimTime overhead) const {
  const Group group = instruction.group;
  const Kind kind = instruction.collective;
  const SimTime time =
      overhead + estimates_.collective_time(number_, group, shape, kind, bytes, occasion_);
  instruction.bytes = static_cast<std::uint64_t>(time.ps());
  instruction.operation =
      busy_share(estimates_.on_links(number_, group, shape, kind, bytes, occasion_), time);
  if (instruction.action == Action::start_elapse) {
    instruction.received = received_rate(kind, shape.together(), bytes, time);
  }
}

void PieceWriter::wait_collectives(std::uint32_t mask, const std::string& name) {
  emit(Action::wait_collectives, name).bytes = mask;
}

void PieceWriter::access(Action action, const std::string& name, std::uint8_t slot, Bytes bytes) {
  if (bytes == Bytes(0)) {
    return;
  }
  wait_accesses(slot_bit(slot));
  Instruction& instruction = emit(action, name);
  instruction.slot = slot;
  instruction.bytes = bytes.count() * stage_.memory.tiles_a_channel;
}

void PieceWriter::wait_accesses(std::uint64_t mask) {
  emit(Action::wait_access, "wait for memory").bytes = mask;
}

// ZeRO 3: the layer's weights from all replicas.
void PieceWriter::gather_weights(std::size_t index) {
  if (gathers_layers()) {
    const LayerBytes bytes = sharder_.bytes_of(layer(index));
    collective(Action::start_collective, Kind::all_gather, sharing_group(), bytes.sent_weights,
               slot_of_weights(index));
    collective(Action::start_collective, Kind::all_gather, Group::expert_data,
               bytes.sent_expert_weights, slot_of_weights(index));
  }
}

void PieceWriter::prefetch_forward(std::size_t index) {
  const LayerStreams bytes = streams(index);
  access(Action::read, "read weights", slot_of(weights_slot, index), bytes.forward_weights);
  access(Action::read, "read inputs", slot_of(stored_read_slot, index), bytes.forward_inputs);
}

void PieceWriter::await_forward(std::size_t index) {
  const LayerStreams bytes = streams(index);
  std::uint32_t mask =
      bytes.forward_weights > Bytes(0) ? slot_bit(slot_of(weights_slot, index)) : 0;
  mask |= bytes.forward_inputs > Bytes(0) ? slot_bit(slot_of(stored_read_slot, index)) : 0;
  if (mask != 0) {
    wait_accesses(mask);
  }
  await_weights(index);
}

void PieceWriter::await_weights(std::size_t index) {
  if (gathers_layers()) {
    wait_collectives(slot_bit(slot_of_weights(index)), "wait for weights");
  }
}

// The place of its first instruction.
std::size_t PieceWriter::begin_layer() {
  switch (strategy_.software.host_waits) {
    case HostWaits::passes:
      break;
    case HostWaits::layers:
      host_waits_ = HostWait::waits;
      break;
    case HostWaits::profiles:
      host_waits_ = HostWait::begins;
      break;
  }
  return code_.size();
}

void PieceWriter::end_layer(std::size_t begin) {
  if (strategy_.software.host_waits == HostWaits::profiles) {
    std::stable_partition(
        code_.begin() + static_cast<std::ptrdiff_t>(begin), code_.end(),
        [](const Instruction& instruction) {
          return instruction.traffic != Traffic::tensor ||
                 (instruction.action != Action::collective && instruction.action != Action::elapse);
        });
  }
}

void PieceWriter::write_forward() {
  const LayerRange layers = range();
  const std::size_t ahead = strategy_.gathered_ahead_forward();
  prefetch_forward(layers.first);
  gather_weights(layers.first);
  for (std::size_t index = layers.first + 1; index < std::min(layers.first + ahead, layers.end);
       ++index) {
    gather_weights(index);
  }
  begin_uses(Phase::forward, ahead > 0);
  if (!takes_samples()) {
    transfer(Action::receive, Side::before, Traffic::activation,
             layer(layers.first - 1).boundary_elements);
  }
  for (std::size_t index = layers.first; index < layers.end; ++index) {
    if (index + 1 < layers.end) {
      prefetch_forward(index + 1);
    }
    if (ahead > 0 && index + ahead < layers.end) {
      gather_weights(index + ahead);
    }
    await_forward(index);
    const std::size_t begin = begin_layer();
    for (const Operator& op : layer(index).operators) {
      forward_operator(index, op, sharder_.forward(op));
    }
    end_layer(begin);
    access(Action::write, "write activations", slot_of(stored_write_slot, index),
           streams(index).forward_outputs);
    copy_out(index);
    if (index + 1 < layers.end && ahead == 0) {
      gather_weights(index + 1);
    }
  }
  if (!gives_loss()) {
    transfer(Action::send, Side::behind, Traffic::activation,
             layer(layers.end - 1).boundary_elements);
  }
}

void PieceWriter::forward_operator(std::size_t index, const Operator& op,
                                   const workload::Operation& operation) {
  use_weights(op);
  gather_context(op);
  const std::string name = layer(index).name + "/" + op.name;
  if (goes_in_pieces(op)) {
    forward_in_pieces(name, op, operation);
    exchange_tokens(op, Exchange::forward);
    return;
  }
  if (strategy_.sequence_parallel && op.sharding == Sharding::column) {
    collective(Action::collective, Kind::all_gather, Group::tensor,
               sharder_.gathered_tokens(op.backward_all_reduce_elements));
  }
  if (!is_nothing(operation)) {
    execute(name, operation);
  }
  sum_forward(index, op);
  exchange_tokens(op, Exchange::forward);
}

void PieceWriter::prefetch_backward(std::size_t index, Gradients gradients,
                                    std::optional<std::size_t> gathered) {
  const LayerStreams bytes = streams(index);
  if (gradients != Gradients::weights) {  // which follow from inputs and gradients of outputs
    access(Action::read, "read weights", slot_of(weights_slot, index), bytes.backward_weights);
    if (gathered) {
      gather_weights(*gathered);
    }
  }
  access(Action::read, "read activations", slot_of(stored_read_slot, index), bytes.backward_inputs);
  if (gradients != Gradients::inputs) {
    access(Action::read, "read gradients", slot_of(gradient_read_slot, index),
           bytes.gradients_read);
  }
}

bool PieceWriter::reduces(Closing closing) const {
  if (strategy_.zero >= 2) {
    return strategy_.scatters_each() || closing != Closing::nothing;
  }
  return closing == Closing::iteration && strategy_.overlap_gradients;
}

void PieceWriter::write_backward(Gradients gradients, Closing closing) {
  const LayerRange layers = range();
  const bool passes_on = gradients != Gradients::weights;
  const std::size_t ahead = strategy_.gathered_ahead_backward();
  prefetch_backward(layers.end - 1, gradients, layers.end - 1);
  if (passes_on) {
    for (std::size_t behind = 2; behind <= std::min(ahead, layers.end - layers.first); ++behind) {
      gather_weights(layers.end - behind);
    }
    begin_uses(Phase::backward, ahead > 0);
    if (layers.end - layers.first > 1) {
      copy_in(layers.end - 2);  // the last one has stayed
    }
  }
  if (passes_on && !gives_loss()) {
    transfer(Action::receive, Side::behind, Traffic::gradient,
             layer(layers.end - 1).boundary_elements);
  }
  for (std::size_t index = layers.end; index > layers.first;) {
    --index;
    if (index > layers.first) {
      const bool gathers = ahead > 0 && index - layers.first >= ahead;
      prefetch_backward(index - 1, gradients,
                        gathers ? std::optional(index - ahead) : std::nullopt);
    }
    wait_accesses(slot_bit(slot_of(weights_slot, index)) |
                  slot_bit(slot_of(stored_read_slot, index)) |
                  slot_bit(slot_of(gradient_read_slot, index)));
    if (passes_on) {
      await_weights(index);
      await_copy_in(index);
      if (index > layers.first && index + 1 < layers.end) {
        copy_in(index - 1);
      }
    }
    backward_layer(index, gradients);
    if (gradients != Gradients::inputs && reduces(closing)) {
      copy_gradients(index);
    }
    if (index > layers.first && passes_on && ahead == 0) {
      gather_weights(index - 1);
    }
    const LayerStreams streamed = streams(index);
    if (passes_on) {
      access(Action::write, "write gradients of inputs", slot_of(stored_write_slot, index),
             streamed.backward_outputs);
    }
    if (gradients == Gradients::inputs) {
      continue;
    }
    access(Action::write, "write gradients", slot_of(gradient_write_slot, index),
           streamed.gradients_written);
    if (reduces(closing)) {
      reduce_gradients(index, closing == Closing::iteration);
    }
  }
  if (passes_on && !takes_samples()) {
    transfer(Action::send, Side::before, Traffic::gradient,
             layer(layers.first - 1).boundary_elements);
  }
}

// What was not stored is computed again before its first use, and kept for the weight gradient.
void PieceWriter::backward_layer(std::size_t index, Gradients gradients) {
  const auto& operators = layer(index).operators;
  const std::size_t begin = begin_layer();
  if (gradients != Gradients::weights) {
    for (const Operator& op : operators) {
      if (sharder_.computes_again(op)) {
        forward_operator(index, op, sharder_.forward_again(op));
      }
    }
  }
  for (auto op = operators.rbegin(); op != operators.rend(); ++op) {
    backward_operator(index, *op, gradients);
  }
  end_layer(begin);
}

void PieceWriter::backward_operator(std::size_t index, const Operator& op, Gradients gradients) {
  const std::string name = layer(index).name + "/" + op.name;
  const bool inputs = gradients != Gradients::weights;
  const workload::Operation weights = sharder_.weight_gradient(op);
  const bool has_weights = weights.flops > Flops(0) && gradients != Gradients::inputs;
  const bool column = op.sharding == Sharding::column;
  const bool in_pieces = inputs && goes_in_pieces(op);
  if (inputs) {
    use_weights(op);
    exchange_tokens(op, Exchange::backward);
  }
  const bool beside =
      strategy_.overlap_tensor && tensor_parallel() && has_weights && inputs && !in_pieces;
  // The input was stored cut along the tokens (Korthikanti et al., section 4.2.2).
  const bool gathers = has_weights && strategy_.sequence_parallel && column && !in_pieces &&
                       !sharder_.keeps_gathered_input(op);
  const Bytes gathered = sharder_.gathered_tokens(op.backward_all_reduce_elements);
  if (in_pieces) {
    backward_in_pieces(name, op, has_weights && !sharder_.keeps_gathered_input(op));
  } else if (inputs) {
    if (strategy_.sequence_parallel && op.sharding == Sharding::row) {
      collective(Action::collective, Kind::all_gather, Group::tensor,
                 sharder_.gathered_tokens(op.forward_all_reduce_elements));
    }
    gather_context(op);
    if (gathers && beside) {
      collective(Action::start_collective, Kind::all_gather, Group::tensor, gathered, piece_slot);
    }
    execute(name, sharder_.input_gradient(op));
    if (gathers && beside) {
      wait_collectives(slot_bit(piece_slot), "wait for stored inputs");
    }
    sum_backward(op, beside ? Action::start_collective : Action::collective);
  }
  if (has_weights) {
    if (gathers && !beside) {
      collective(Action::collective, Kind::all_gather, Group::tensor, gathered);
    }
    execute(name + " weights", weights);
  }
  if (beside) {
    wait_collectives(slot_bit(tensor_slot), "wait for tensor sums");
  }
}

void PieceWriter::write_update() {
  LayerBytes all;
  for (const LayerRange& layers : stage_.chunks) {
    for (std::size_t index = layers.first; index < layers.end; ++index) {
      all += sharder_.bytes_of(layer(index));
    }
  }
  collective(Action::collective, Kind::all_reduce, Group::tensor, all.whole_gradients);
  sum_cut_weights();
  if (strategy_.degrees.data > 1) {
    if (strategy_.overlap_gradients) {
      wait_collectives(slot_bit(reduction_slot), "wait for gradients");
    } else if (strategy_.zero < 2) {
      reduce_gradients(Action::collective, all, true);
    }
  }
  sum_tied_weights(all);
  const Update update =
      update_of(workload_, all.optimizer, all.updated_weights, all.updated_gradients);
  if (streams_weights()) {
    access(Action::read, "read optimizer state", optimizer_slot, update.read);
    wait_accesses(slot_bit(optimizer_slot));
  }
  execute("optimizer", update.operation);
  if (streams_weights()) {
    access(Action::write, "write optimizer state", optimizer_slot + 1, update.written);
  }
  if (strategy_.zero == 1 || strategy_.zero == 2) {
    collective(Action::collective, Kind::all_gather, sharing_group(), all.sent_weights);
    collective(Action::collective, Kind::all_gather, Group::expert_data, all.sent_expert_weights);
  }
  gather_kept(all);
  wait_accesses(all_accesses);
}

}  // namespace tessera::plan
