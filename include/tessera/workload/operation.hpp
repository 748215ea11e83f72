// What one tile computes at a time: an operator, or its part after cutting.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/core/data_type.hpp"
#include "tessera/core/units.hpp"

namespace tessera::workload {

// `count` products of a (rows x depth) with a (depth x columns) matrix; none when `count` is 0.
struct MatrixProduct {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
  std::uint64_t count = 0;

  // 2 * rows * columns * depth * count.
  Flops flops() const { return Flops(2 * rows * columns * depth * count); }
  friend bool operator==(const MatrixProduct&, const MatrixProduct&) = default;
};

// Classes of kernels that reach different shares of a device.
enum class Kernel : std::uint8_t {
  plain,            // what has no class of its own
  fused_attention,  // scores, softmax and values in one, never in memory
  norm,             // goes through its rows more than once
  activation,       // element by element, with arithmetic: GELU, SwiGLU
  rotary,           // rotary positions
  sum,              // streams: skip connections, dropout, the optimizer
  lookup,           // copies rows of a table: words, positions
};

// What one kernel of fused attention goes through for sequences of different lengths: sums over
// them. Queries of a prompt are cut into blocks of `block_rows`, each of which goes over the keys
// that its queries see in the mean; a sequence that generates has one query.
struct AttentionSizes {
  static constexpr std::uint64_t block_rows = 64;

  std::uint64_t heads = 0;     // of queries, each with blocks of its own
  std::uint64_t kv_heads = 0;  // of keys, which heads / kv_heads of them share
  std::uint64_t generating = 0;
  std::uint64_t generating_keys = 0;
  std::uint64_t prompts = 0;
  std::uint64_t blocks = 0;          // of prompts, of one head
  std::uint64_t block_keys = 0;      // keys that these go over, added up
  std::uint64_t longest_blocks = 0;  // of the prompt whose blocks go over most keys
  std::uint64_t longest_keys = 0;    // that each of these goes over
  std::uint64_t most_blocks = 0;     // of the prompt with most queries

  friend bool operator==(const AttentionSizes&, const AttentionSizes&) = default;
};

// Compute models give the time of one; a plan lists those of its programs, each once.
struct Operation {
  // A matrix product, or several of one shape (a backward pass has two); none: vector work.
  MatrixProduct product;
  Flops flops;
  // Between the core and the memory that its operands are in: inputs, weights and outputs, each
  // once.
  Bytes bytes;
  // Read and written after it in the same memory, to add its output to what is kept there: the
  // gradients of weights, over micro-batches.
  Bytes added = {};
  DataType data_type = DataType::fp16;
  Kernel kernel = Kernel::plain;
  // Of those, what belongs to one row (token) of work without a product, which its kernel leaves to
  // one unit; 0: not known.
  Bytes row = {};
  // Of vector work on what another operation has left on the core (an activation behind a product):
  // elements that it goes through. All its bytes are read, and none is written; 0: half of them are
  // read, and the other half are written.
  std::uint64_t elements = 0;
  // Of `bytes`, those of the product's right operand in memory where it is of another type than it
  // multiplies in (weights of few bits); none: elements of `data_type`.
  std::optional<Bytes> stored_weights = {};
  // Of fused attention: keys that a query sees in the mean, counted twice, as scores and values go
  // over them; 0: the depth of the product or its columns, whichever are more.
  std::uint64_t twice_keys = 0;
  // Of fused attention of sequences that differ; none: all are of the product's shape.
  std::optional<AttentionSizes> attention = {};

  bool is_matrix_product() const { return product.count > 0; }
  friend bool operator==(const Operation&, const Operation&) = default;
};

}  // namespace tessera::workload
