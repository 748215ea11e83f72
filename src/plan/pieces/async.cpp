// Products along whose tokens inputs are gathered, or sums scattered, piece by piece beside them:
// of as many pieces as shards, one needs nothing from others (a gather's first), or nothing goes on
// beside it (a scatter's first). With a product of C and a collective of M both take max(C, M + C /
// shards).
//
// Wang et al., "Overlap communication with dependent computation via decomposition in large deep
// learning models", ASPLOS 2023, doi:10.1145/3567955.3567959; PyTorch's async tensor parallelism.

#include <algorithm>
#include <string>

#include "pieces/writer.hpp"

namespace tessera::plan {

using collective::Kind;
using workload::Operator;
using workload::Sharding;

bool PieceWriter::goes_in_pieces(const Operator& op) const {
  return strategy_.async_tensor && strategy_.sequence_parallel && tensor_parallel() &&
         (op.sharding == Sharding::column || op.sharding == Sharding::row) &&
         op.is_matrix_product() && sharder_.explicit_sharding(op) == nullptr;
}

// Of fewer tokens; weights are read for each.
workload::Operation PieceWriter::piece_of(const Operator& op,
                                          const workload::Operation& whole) const {
  const std::uint64_t pieces = strategy_.degrees.tensor;
  const Bytes weights = std::min(sharder_.operands(op).weights, whole.bytes);
  workload::Operation piece = whole;
  piece.product.rows = divided_up(whole.product.rows, pieces);
  piece.flops = Flops(divided_up(whole.flops.count(), pieces));
  piece.bytes = weights + Bytes(divided_up((whole.bytes - weights).count(), pieces));
  piece.added = Bytes(divided_up(whole.added.count(), pieces));
  return piece;
}

void PieceWriter::gather_beside(const std::string& name, const workload::Operation& piece,
                                Bytes bytes) {
  collective(Action::start_collective, Kind::all_gather, Group::tensor, bytes, piece_slot);
  for (std::uint32_t others = 1; others < strategy_.degrees.tensor; ++others) {
    execute(name, piece);
  }
  wait_collectives(slot_bit(piece_slot), "wait for tokens");
  execute(name, piece);
}

void PieceWriter::scatter_beside(const std::string& name, const workload::Operation& piece,
                                 Bytes bytes) {
  execute(name, piece);
  collective(Action::start_collective, Kind::reduce_scatter, Group::tensor, bytes, piece_slot);
  for (std::uint32_t others = 1; others < strategy_.degrees.tensor; ++others) {
    execute(name, piece);
  }
  wait_collectives(slot_bit(piece_slot), "wait for sums over tokens");
}

void PieceWriter::forward_in_pieces(const std::string& name, const Operator& op,
                                    const workload::Operation& operation) {
  const workload::Operation piece = piece_of(op, operation);
  if (op.sharding == Sharding::column) {
    gather_beside(name, piece, sharder_.gathered_tokens(op.backward_all_reduce_elements));
  } else {
    scatter_beside(name, piece, sharder_.partial_sums(op.forward_all_reduce_elements));
  }
}

// Gradients of inputs; `gathers`: the input, for the gradient of weights behind them, comes beside
// them too.
void PieceWriter::backward_in_pieces(const std::string& name, const Operator& op, bool gathers) {
  const workload::Operation piece = piece_of(op, sharder_.input_gradient(op));
  if (op.sharding == Sharding::row) {
    gather_beside(name, piece, sharder_.gathered_tokens(op.forward_all_reduce_elements));
    return;
  }
  if (gathers) {
    collective(Action::start_collective, Kind::all_gather, Group::tensor,
               sharder_.gathered_tokens(op.backward_all_reduce_elements), piece_slot);
  }
  scatter_beside(name, piece, sharder_.partial_sums(op.backward_all_reduce_elements));
}

}  // namespace tessera::plan
