// The layers of a decoder-only transformer with pre-layer-norm, as GPT-2, GPT-3 and Megatron-LM
// train it (Vaswani et al., arXiv:1706.03762; Shoeybi et al., arXiv:1909.08053, figures 2 to 4).
//
// s tokens a sample, h hidden, a heads, f the width inside the MLP, V vocabulary; one sample.
//
// Products are counted as 2 m n k: a layer's forward has 8 s h^2 + 4 s h f + 4 s^2 h FLOPs, that is
// 24 s h^2 + 4 s^2 h for f = 4 h, the head's 2 s h V; with full recomputation this is equation (3)
// of Narayanan et al., arXiv:2104.04473. As there, attention is counted whole although a causal
// mask makes half of it void, and adding a bias is part of its product and costs nothing.
//
// Activations kept for backward are those of Korthikanti et al., arXiv:2205.05198, equation (2):
// s h (10 + 24/t + 5 a s/(h t)) bytes a layer with 16-bit data under tensor parallelism of degree
// t, dropout masks of one byte an element included. Embedding and head follow section 4.3 there
// without sequence parallelism (logits kept in fp32); token numbers are not counted.
//
// Deviations: the three small fp32 all-reduces of a cut cross-entropy (maximum, sum of
// exponentials, logit of the target) are one of 3 s elements of the workload's data type; dropout
// is always on.
#pragma once

#include <cstdint>

#include "tessera/core/data_type.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

struct TransformerShape {
  std::uint64_t hidden = 0;
  std::uint64_t heads = 0;
  std::uint64_t sequence = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t ffn = 0;
  DataType data_type = DataType::fp16;
  bool learned_positions = true;  // else positions cost nothing
  bool tie_embeddings = true;
  bool biases = true;  // of the products; layer norm always has gain and shift
};

// Word and position embedding and their dropout.
Layer embedding_layer(const TransformerShape& shape);
// Attention and MLP, each after a layer norm and around it a skip connection with dropout.
Layer decoder_layer(const TransformerShape& shape, std::uint64_t number);
// Final layer norm, product with the vocabulary, cross-entropy loss.
Layer head_layer(const TransformerShape& shape);

}  // namespace tessera::workload
