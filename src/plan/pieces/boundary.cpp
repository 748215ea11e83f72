// Boundary tensors: from a tensor group of one stage to that of the next.

#include <algorithm>
#include <string>

#include "pieces/writer.hpp"
#include "tessera/core/error.hpp"

namespace tessera::plan {

using collective::Kind;
using workload::Operator;

// A boundary tensor from or to the stage that has the part before or behind. Cut along the tokens,
// each shard carries its part; scattered, too, and the receiving stage gathers them.
void PieceWriter::transfer(Action action, Side side, Traffic traffic, std::uint64_t elements) {
  if (lies_here(side)) {
    return;  // to another chunk on the same tile
  }
  const bool onward = (side == Side::behind) != shape().turns_back(chunk_);
  const Peer peer = onward ? Peer::next_stage : Peer::previous_stage;
  const Bytes whole = sharder_.tensor_bytes(elements);
  if (strategy_.has_adapters() && tensor_parallel()) {
    transfer_by_adapters(action, peer, traffic, elements);
    return;
  }
  const bool scatter = strategy_.boundary == Boundary::scattered && tensor_parallel() &&
                       !strategy_.sequence_parallel;
  move(action, peer, traffic, Group::each,
       scatter ? Bytes(divided_up(whole.count(), strategy_.degrees.tensor))
               : sharder_.whole_bytes(elements));
  if (scatter && action == Action::receive) {
    collective(Action::collective, Kind::all_gather, Group::tensor, whole);
  }
}

// PALM, equations (7) and (8); the all-reduce of (7) stands before the boundary.
void PieceWriter::transfer_by_adapters(Action action, Peer peer, Traffic traffic,
                                       std::uint64_t elements) {
  const GroupShape parts{strategy_.degrees.tensor, 1, 1, strategy_.adapters};
  GroupShape adapters = parts;
  adapters.among_leaders = true;
  const Group group = tables_.group_of(parts);
  const bool sums = strategy_.boundary == Boundary::reduced && traffic == Traffic::activation;
  const Bytes whole = sharder_.tensor_bytes(elements);
  const Bytes parted = sums ? sharder_.partial_sums(elements) : whole;
  if (sums && action == Action::send) {
    collective(Action::collective, Kind::reduce, group, parted);
  }
  move(action, peer, traffic, group, parted);
  if (action == Action::receive) {
    if (sums) {
      collective(Action::collective, Kind::all_reduce, tables_.group_of(adapters), parted);
    }
    collective(Action::collective, Kind::broadcast, group, whole);
  }
}

void PieceWriter::move(Action action, Peer peer, Traffic traffic, Group senders, Bytes bytes) {
  Instruction& instruction =
      emit(action, (action == Action::send ? "send " : "receive ") + to_string(traffic));
  instruction.peer = peer;
  instruction.traffic = traffic;
  instruction.group = senders;
  instruction.bytes = bytes.count();
  if (strategy_.aggregation != Aggregation::none && action == Action::send) {
    const std::uint32_t stages = strategy_.degrees.pipeline;
    const std::uint32_t step = peer == Peer::next_stage ? 1 : stages - 1;
    instruction.bytes *= estimates_.boundary_share(
        number_, (number_ + step) % stages, tables_.groups[static_cast<std::size_t>(senders)]);
  }
}

// The operator that ends the layer's output with a sum over the tensor group, when that may as well
// be done behind all that follows it; else why not.
PieceWriter::EndOfLayer PieceWriter::end_of(std::size_t index) const {
  const workload::Layer& ends = layer(index);
  for (auto op = ends.operators.rbegin(); op != ends.operators.rend(); ++op) {
    const std::string name = "'" + ends.name + "/" + op->name + "'";
    if (op->forward_all_reduce_elements > 0) {
      if (sharder_.explicit_sharding(*op) != nullptr) {
        return {nullptr, "'sharding' cuts " + name};
      }
      return op->forward_all_reduce_elements == ends.boundary_elements
                 ? EndOfLayer{&*op, ""}
                 : EndOfLayer{nullptr, name + " makes but a part of it"};
    }
    if (!op->additive) {
      return {nullptr, name + " makes it whole"};
    }
  }
  return {nullptr, "'" + ends.name + "' has no sum over the tensor group"};
}

void PieceWriter::check_sums() const {
  if (!passes_on_sums()) {
    return;
  }
  const std::size_t last = range().end - 1;
  if (const EndOfLayer end = end_of(last); end.sum == nullptr) {
    throw ConfigError("boundary 'reduced' needs partial sums where stage " +
                      std::to_string(number_) + " ends, but " + end.objection);
  }
}

bool PieceWriter::leaves_sum(std::size_t index, const Operator& op) const {
  return passes_on_sums() && index + 1 == range().end && end_of(index).sum == &op;
}

}  // namespace tessera::plan
