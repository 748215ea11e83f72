// The sizes of a transformer, as the workload `transformer` describes it: for callers that make
// operators of their own of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::workload {

enum class Norm : std::uint8_t { layer, rms, batch };
enum class Activation : std::uint8_t { gelu, relu, swiglu };
enum class AttentionKind : std::uint8_t { plain, flash };
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

struct ExpertShape {
  std::uint64_t count = 0;
  std::uint64_t top_k = 0;
  std::uint64_t every = 1;  // one layer in so many has experts, the last of them
  std::uint64_t capacity_millionths = 1'000'000;
  std::uint64_t shared = 0;  // experts that work on every token
  std::uint64_t ffn = 0;
};

struct TransformerShape {
  Architecture architecture = Architecture::decoder;
  std::uint64_t layers = 0;
  std::uint64_t encoder_layers = 0;
  std::uint64_t hidden = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_width = 0;
  std::uint64_t sequence = 0;
  std::uint64_t encoder_sequence = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t token_types = 0;  // rows of a second embedding; 0: none
  std::uint64_t ffn = 0;
  DataType data_type = DataType::fp16;
  Positions positions = Positions::learned;
  Norm norm = Norm::layer;
  bool norm_after = false;  // after the skip connection, and after the embedding; else before
  Activation mlp = Activation::gelu;
  AttentionKind attention = AttentionKind::plain;
  bool causal = false;
  bool dropout = true;
  bool tie_embeddings = true;
  bool biases = true;  // of the products; layer norm always has gain and shift
  bool loss = true;
  Loss loss_kernels = Loss::plain;
  Head head = Head::language_model;
  std::optional<ExpertShape> experts;
};

// Reads the keys of the workload kind `transformer` (src/workload/transformer/transformer.cpp) but
// those of training; of these `data_type` is read and the others are left alone, so that a workload
// file serves. Nothing after a complaint.
std::optional<TransformerShape> read_transformer_shape(config::Section& section);

// All of its keys, those of training too.
std::vector<ParameterInfo> transformer_parameters();

}  // namespace tessera::workload
