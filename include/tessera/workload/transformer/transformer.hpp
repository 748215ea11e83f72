// The sizes of a transformer, as the workload `transformer` describes it: for callers that make
// operators of their own of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/number_format.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::workload {

enum class Norm : std::uint8_t { layer, rms, batch };
enum class Activation : std::uint8_t { gelu, relu, swiglu };
enum class AttentionKind : std::uint8_t { plain, eager, flash };
enum class Architecture : std::uint8_t { decoder, encoder, encoder_decoder };
enum class Positions : std::uint8_t { learned, rotary, none };
enum class Head : std::uint8_t {
  language_model,  // product with the vocabulary
  bert,            // pooler, next sentence, and the masked language model with its own MLP
  pooler,          // a layer on the first token
  none
};

// How the loss is computed from the logits.
//   plain  an operation at a time in fp32, in place where it can be (Megatron-LM)
//   fused  one kernel each way, in the data type
//   eager  the operations of a framework, none in place: a copy in fp32, its logarithmic softmax,
//          which is kept, and two gradients (PyTorch's cross_entropy)
enum class Loss : std::uint8_t { plain, fused, eager };

// What a layer mixes tokens by.
enum class Mixer : std::uint8_t {
  attention,  // over all tokens
  local,      // over those of a window
  ssm,        // a state-space model
  none
};

struct LayerKind {
  Mixer mixer = Mixer::attention;
  bool mlp = true;  // or experts
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

// How many tokens an expert takes, and works on.
//   padded     its capacity, full or not; what is beyond is dropped (GShard, Switch Transformer)
//   dropped    those that come, up to its capacity
//   unlimited  those that come (Gale et al., MegaBlocks, arXiv:2211.15841)
enum class ExpertRoom : std::uint8_t { padded, dropped, unlimited };

// How tokens spread over experts, where their shares are not given.
//   even         to all alike
//   zipf         by the power of a rank, ranks drawn for each layer
//   exponential  shares drawn for each layer, all that add up to one alike (Dirichlet, 1)
enum class ExpertLoads : std::uint8_t { even, zipf, exponential };

struct ExpertShape {
  std::uint64_t count = 0;
  std::uint64_t top_k = 0;
  std::uint64_t every = 1;  // one layer in so many has experts, the last of them
  std::uint64_t capacity_millionths = 1'000'000;
  std::uint64_t shared = 0;  // experts that work on every token
  std::uint64_t ffn = 0;
  std::uint64_t dense_first = 0;  // layers that have one MLP, before `every` counts
  ExpertRoom room = ExpertRoom::padded;
  ExpertLoads loads = ExpertLoads::even;
  double skew = 1;  // of zipf: shares are as rank^-skew
  std::uint64_t seed = 1;
  std::vector<double> shares{};  // [count] given, up to a factor; empty: as `loads` says

  // Whether the layer of this number has them.
  bool are_in(std::uint64_t layer) const {
    return layer >= dense_first && (layer - dense_first + 1) % every == 0;
  }
};

// Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, arXiv:2405.04434, section 2.1): queries
// come out of one vector of a token, keys and values of another, which is all that a cache keeps,
// with a part of the key that has the position and that all heads share.
struct LatentShape {
  std::uint64_t q_rank = 0;  // 0: queries come of the residual stream
  std::uint64_t kv_rank = 0;
  std::uint64_t nope_width = 0;  // of a head's query and key, without position
  std::uint64_t rope_width = 0;  // the part with it
  std::uint64_t value_width = 0;

  std::uint64_t key_width() const { return nope_width + rope_width; }
};

// A state-space layer of Mamba-2 (Dao and Gu, arXiv:2405.21060).
struct SsmShape {
  std::uint64_t state = 0;  // elements of a head's state for each of its channels
  std::uint64_t heads = 0;
  std::uint64_t head_width = 0;  // channels
  std::uint64_t groups = 1;      // of heads, which share inputs and outputs of the state
  std::uint64_t kernel = 4;      // of the convolution, tokens
  std::uint64_t chunk = 256;     // tokens that are worked on as a product

  std::uint64_t inner() const { return heads * head_width; }
  // What goes through the convolution: the channels, and what goes into and out of states.
  std::uint64_t convolved() const { return inner() + 2 * groups * state; }
};

// Copies of tensors into another layout.
enum class LayoutCopies : std::uint8_t {
  none,
  context,  // of what plain or eager attention gives, from heads to rows of tokens
  // Also of a layer's input and output, whose samples come first outside and tokens inside, and of
  // the gradient that comes.
  layers
};

struct TransformerShape {
  Architecture architecture = Architecture::decoder;
  std::uint64_t layers = 0;
  std::uint64_t encoder_layers = 0;
  std::uint64_t hidden = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_width = 0;
  std::uint64_t window = 0;  // tokens that those of local layers see, each itself too; 0: all
  std::uint64_t sequence = 0;
  std::uint64_t encoder_sequence = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t token_types = 0;  // rows of a second embedding; 0: none
  std::uint64_t ffn = 0;
  DataType data_type = DataType::fp16;
  // Of the inputs of a layer's products with weights, of served models; none: as data_type.
  std::optional<NumberFormat> products{};
  Positions positions = Positions::learned;
  Norm norm = Norm::layer;
  bool norm_after = false;  // after the skip connection, and after the embedding; else before
  Activation mlp = Activation::gelu;
  AttentionKind attention = AttentionKind::plain;
  bool causal = false;
  bool dropout = true;
  bool tie_embeddings = true;
  bool biases = true;  // of the products; layer norm always has gain and shift
  // Norms of the queries and keys of each head, before positions.
  bool query_key_norms = false;
  bool loss = true;
  Loss loss_kernels = Loss::plain;
  // Losses over the same logits that are computed beside in training, without gradients.
  std::uint64_t loss_metrics = 0;
  // Whether gradients of queries, keys and values are put together for the product that made them.
  bool join_gradients = false;
  // Whether gradients of a layer's biases are kernels of their own.
  bool sums_bias_gradients = false;
  LayoutCopies layout_copies = LayoutCopies::none;
  Head head = Head::language_model;
  std::optional<ExpertShape> experts;
  std::optional<LatentShape> latent;  // head_width is that of keys then, kv_heads are heads
  std::optional<SsmShape> ssm;
  std::vector<LayerKind> pattern{};  // layers repeat it; empty: attention and an MLP

  LayerKind kind_of(std::uint64_t layer) const {
    return pattern.empty() ? LayerKind() : pattern[layer % pattern.size()];
  }
  // Width of a head of values.
  std::uint64_t value_width() const { return latent ? latent->value_width : head_width; }
};

// Reads the keys of the workload kind `transformer` (src/workload/transformer/transformer.cpp) but
// those of training; of these `data_type` is read and the others are left alone, so that a workload
// file serves. `product_type` and what belongs to it are noted where whoever serves it multiplies
// in the data type alone. Nothing after a complaint.
enum class Products : std::uint8_t { of_data_type, of_own_type };
std::optional<TransformerShape> read_transformer_shape(config::Section& section, Products products);

// All of its keys, those of training too.
std::vector<ParameterInfo> transformer_parameters();

}  // namespace tessera::workload
