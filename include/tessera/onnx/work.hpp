// What a node computes, in the sizes that a machine asks for, and what it costs.
//
// FLOPs: products and convolutions count 2 for each multiply-accumulate, and adding a bias is part
// of them; other operators one for each arithmetic operation, comparison, exponential, logarithm,
// root or tanh of their formula, as operators.hpp of the workload room counts. Padding counts as
// computed: a convolution is output elements times window times channels of a group. What a causal
// mask hides is not: attention with one counts half of the pairs of queries and their own keys.
//
// Bytes: each distinct input once, each output once. A view (reshape and its like) moves none, a
// lookup reads the rows it takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tessera/onnx/graph.hpp"

namespace tessera::onnx {

// `count` times (rows x depth) by (depth x columns).
struct Product {
  std::uint64_t count = 1;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
  bool one_right_side = false;   // all of `count` share the right operand
  std::uint64_t operations = 2;  // FLOPs of a multiply-accumulate; 8 when complex
};

// Sides in the order of the tensor, one for each spatial axis.
struct Convolution {
  std::uint64_t batch = 0;
  std::uint64_t groups = 1;
  std::uint64_t input_channels = 0;   // of all groups
  std::uint64_t output_channels = 0;  // of all groups
  Shape input;
  Shape output;
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads;               // begins, then ends
  bool transposed = false;  // each input element goes to a window of outputs
};

// Scores, softmax and weighted values, without the scores in memory.
struct Attention {
  std::uint64_t batch = 0;
  std::uint64_t heads = 0;     // of queries
  std::uint64_t kv_heads = 0;  // fewer: grouped queries
  std::uint64_t queries = 0;
  std::uint64_t keys = 0;  // those of a cache included
  std::uint64_t key_width = 0;
  std::uint64_t value_width = 0;
  bool causal = false;       // a query does not see the keys of later ones
  std::uint64_t past = 0;    // of the keys, those before the one that comes with the first query
  std::uint64_t window = 0;  // keys that a causal query sees at most; 0: all
  // Of the projections of its input that the operator does itself [FLOP].
  std::uint64_t projection_flops = 0;

  // Twice the keys that the queries of a head see, added up: with a causal mask half of those that
  // come with the queries, as flash attention of transformers counts them, and all before them, of
  // which a window leaves the last ones; a query alone sees its own. With K the keys that one sees
  // at most, the integral of 2 min(x, K) from the past to that and the queries.
  std::uint64_t twice_seen() const {
    const std::uint64_t most = causal && window > 0 ? std::min(keys, window) : keys;
    if (!causal || past >= most) {
      return 2 * most * queries;
    }
    if (queries <= 1) {
      return 2 * std::min(past + 1, most) * queries;
    }
    const std::uint64_t rising = std::min(past + queries, most);
    return (rising - past) * (rising + past) + 2 * most * (past + queries - rising);
  }
  bool is_masked() const { return twice_seen() < 2 * keys * queries; }
  // In the mean of queries.
  std::uint64_t twice_keys() const { return queries > 0 ? twice_seen() / queries : 2 * keys; }
  // Twice the pairs of queries and keys of all heads.
  std::uint64_t twice_pairs() const { return batch * heads * twice_seen(); }
};

// LSTM (4 gates), GRU (3), RNN (1).
struct Recurrent {
  std::uint64_t steps = 0;
  std::uint64_t batch = 0;
  std::uint64_t input_width = 0;
  std::uint64_t hidden_width = 0;
  std::uint64_t gates = 0;
  std::uint64_t directions = 1;
};

// Rows that are normalised, summed up or made a softmax of, each by itself.
struct RowWork {
  enum class Form : std::uint8_t { normalization, softmax, reduction };
  Form form = Form::normalization;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t flops_per_element = 0;
};

struct Pooling {
  std::uint64_t outputs = 0;
  std::uint64_t window = 0;
  std::uint64_t flops_per_element = 1;  // of the window
};

struct ElementWise {
  bool activation = false;  // of one operand, for a unit of its own
  std::uint64_t elements = 0;
  std::uint64_t flops_per_element = 0;
};

// Rows of a table, by index.
struct Lookup {
  std::uint64_t rows = 0;
  std::uint64_t row_elements = 0;
};

// Elements to other places: transpose, concatenation, slices, padding.
struct Movement {
  std::uint64_t elements = 0;
};

// New rows behind those of a cache that stays where it is: only they are read and written.
struct Append {
  std::uint64_t elements = 0;
};

// The same memory under another shape, or nothing at all.
struct View {};

// Traffic, with FLOPs where a formula gives some.
struct Other {
  std::uint64_t flops = 0;
};

using Work = std::variant<Product, Convolution, Attention, Recurrent, RowWork, Pooling, ElementWise,
                          Lookup, Movement, Append, View, Other>;

// Of a node whose tensors have shapes; Other for one that was not understood. Throws ConfigError
// for sizes beyond 64 bits.
Work work_of(const Graph& graph, const Node& node);

struct Cost {
  Flops matrix;   // products, convolutions, attention, recurrent cells
  Flops vector;   // everything else, epilogues included
  Bytes weights;  // parameters read
  Bytes read;     // activations and inputs read
  Bytes written;
  std::uint64_t parameters = 0;  // elements of the parameters read

  Flops flops() const { return matrix + vector; }
  Bytes traffic() const { return weights + read + written; }
  Cost& operator+=(const Cost& other);
};

// Elements of a node's input that are read, at most: of the tables of rotary positions, which are
// as long as the longest context, the rows of the tokens (onnxruntime's ContribOperators.md,
// GroupQueryAttention and RotaryEmbedding); of the image of a pooling what its windows meet; of a
// cache that Attention says the length of what it holds; of all else the whole.
std::uint64_t elements_read(const Graph& graph, const Node& node, std::size_t input);

Cost cost_of(const Graph& graph, const Node& node);

// Of the whole graph. A parameter that several nodes read counts once in `parameters`.
Cost total_cost(const Graph& graph);

// Elements of constants, each constant once: `parameters` are those of type float, 8-bit or smaller
// numbers and int32; int64, boolean and text constants describe shapes and choices.
struct ConstantCount {
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  std::uint64_t parameters = 0;
  Bytes bytes;
};
ConstantCount constants_of(const Graph& graph);
bool counts_as_parameter(ElementType type);

}  // namespace tessera::onnx
