// Single operators, as the workload kinds put them together.
//
// Products are counted as 2 m n k, adding a bias is part of its product and costs nothing. The
// FLOPs of every other operator are counted from its formula, one for each arithmetic operation,
// comparison, exponential and tanh (assumed: what such a function costs on hardware is not known
// here).
//
// Stored activations follow Korthikanti et al., arXiv:2205.05198, section 4.1: inputs of products,
// of norms and of activation functions, the softmax, and dropout masks of one byte an element.
// Queries, keys and values are kept by the operator that makes them, so that attention keeps only
// what selective recomputation drops (section 5 there).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/core/data_type.hpp"
#include "tessera/workload/transformer/transformer.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

// FLOPs of an element of the output.
struct VectorCost {
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;         // weights included
  std::uint64_t weight_gradient = 0;  // of these, for the gradient of the weights
};

std::string to_string(Norm norm);
std::string to_string(Activation activation);

struct AttentionShape {
  std::uint64_t queries = 0;  // tokens
  std::uint64_t keys = 0;     // tokens
  std::uint64_t heads = 0;    // of queries
  std::uint64_t kv_heads = 0;
  std::uint64_t head_width = 0;  // of queries and keys
  AttentionKind kind = AttentionKind::plain;
  bool causal = false;       // flash attention skips the masked half; plain attention computes it
  std::uint64_t window = 0;  // keys that a query sees, its own too; flash and causal; 0: all
  std::uint64_t value_width = 0;  // 0: as head_width

  std::uint64_t values() const { return value_width == 0 ? head_width : value_width; }
  std::uint64_t query_elements() const { return queries * heads * head_width; }
  std::uint64_t key_elements() const { return keys * kv_heads * head_width; }
  std::uint64_t value_elements() const { return keys * kv_heads * values(); }
  // Twice the pairs of queries and keys that a head of flash attention multiplies: of a window the
  // band that the mask leaves, exactly; of a whole mask half of the square.
  std::uint64_t twice_pairs() const {
    if (window > 0 && window < keys) {
      return window * (2 * queries - window + 1);
    }
    return (causal ? 1 : 2) * queries * keys;
  }
};

class OperatorMaker {
 public:
  OperatorMaker(DataType type, bool dropout) : type_(type), dropout_(dropout) {}

  Bytes bytes(std::uint64_t elements) const { return element_size(type_) * elements; }
  // One byte an element with dropout, else nothing.
  Bytes dropout_mask(std::uint64_t elements) const { return Bytes(dropout_ ? elements : 0); }

  Operator vector(std::string name, std::string kind, Sharding sharding, VectorCost cost,
                  std::uint64_t inputs, std::uint64_t outputs) const;
  // Keeps nothing and moves its outputs only; the caller adds inputs and weights.
  Operator product(std::string name, std::string kind, Sharding sharding,
                   MatrixProduct product) const;

  // `rows` vectors of `inputs` elements times a weight; keeps its input.
  Operator linear(std::string name, Sharding sharding, std::uint64_t rows, std::uint64_t inputs,
                  std::uint64_t outputs, bool bias) const;
  // Norms of `elements` in vectors of `features`; keeps its input.
  Operator norm(std::string name, Norm norm, Sharding sharding, std::uint64_t elements,
                std::uint64_t features) const;
  // `outputs` elements; swiglu takes two inputs for each. Keeps its inputs, relu a mask.
  Operator activation(std::string name, Activation activation, Sharding sharding,
                      std::uint64_t outputs) const;
  // A row of a `rows` x `width` table for each token.
  Operator embedding(std::string name, Sharding sharding, std::uint64_t rows, std::uint64_t tokens,
                     std::uint64_t width) const;
  // Without dropout; keeps its output.
  Operator softmax(std::string name, Sharding sharding, std::uint64_t elements) const;
  // Plain: `PREFIX`scores, softmax, with dropout its pass, `PREFIX`values. Eager: for the softmax
  // `PREFIX`scores_cast to fp32, scores_scale, scores_mask, softmax in fp32, weights_cast back
  // (Megatron-LM without its fused kernel, FusedScaleMaskSoftmax.forward_torch_softmax), casts only
  // from a narrower type, each a kernel that reads and writes all. In fp32 scale and mask count
  // three passes backward where they make two. Flash (Dao, "FlashAttention-2", arXiv:2307.08691):
  // one product without the attention weights in memory, whose backward computes the scores again
  // and makes five products where the forward pass makes two (section 4.1 there: 2.5 times the
  // FLOPs), and which keeps one fp32 number for each query and head.
  std::vector<Operator> attention(const std::string& prefix, Sharding sharding,
                                  const AttentionShape& shape) const;
  // The sum with a skipped connection, after dropout.
  Operator skip(std::string name, std::uint64_t elements) const;
  // A pass of its own over the elements, as where nothing fuses it with what is before it.
  Operator dropout(std::string name, Sharding sharding, std::uint64_t elements) const;

 private:
  Operator attention_softmax(std::string name, Sharding sharding, std::uint64_t weights) const;
  std::vector<Operator> eager_softmax(const std::string& prefix, Sharding sharding,
                                      std::uint64_t weights) const;
  Operator flash_attention(const std::string& name, Sharding sharding,
                           const AttentionShape& shape) const;

  DataType type_;
  bool dropout_;
};

// Adds to what the operator keeps: cut like its work, or whole when it is replicated.
void keep(Operator& op, Bytes bytes);

}  // namespace tessera::workload
