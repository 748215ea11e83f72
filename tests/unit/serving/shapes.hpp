// Transformers that are served in tests.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/serving/language_model.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving::shapes {

// GPT-3 Small: T. Brown et al., arXiv:2005.14165, table 2.1.
inline workload::TransformerShape gpt3_small() {
  workload::TransformerShape shape;
  shape.layers = 12;
  shape.hidden = 768;
  shape.heads = shape.kv_heads = 12;
  shape.head_width = 64;
  shape.ffn = 3072;
  shape.sequence = 2048;
  shape.vocabulary = 50257;
  return shape;
}

// GPT, Llama, grouped queries, experts; with biases, tied tables and rotary positions, and without.
inline std::vector<workload::TransformerShape> family() {
  std::vector<workload::TransformerShape> all;
  for (const bool gated : {false, true}) {
    for (const std::uint64_t kv_heads : {12, 4}) {
      for (const bool biases : {false, true}) {
        for (const bool tied : {false, true}) {
          for (const std::uint64_t experts : {0, 6}) {
            workload::TransformerShape shape = gpt3_small();
            shape.layers = 4;
            shape.kv_heads = kv_heads;
            shape.biases = biases;
            shape.tie_embeddings = tied;
            shape.token_types = kv_heads == 4 ? 2 : 0;
            if (gated) {
              shape.mlp = workload::Activation::swiglu;
              shape.norm = workload::Norm::rms;
              shape.positions = workload::Positions::rotary;
              shape.ffn = 2048;
            }
            if (experts > 0) {
              shape.experts = workload::ExpertShape{experts, 2, 2, 1'000'000, 0, 1024};
            }
            all.push_back(shape);
          }
        }
      }
    }
  }
  return all;
}

inline std::uint64_t parameters_of(const workload::TransformerShape& shape) {
  workload::Workload whole;
  whole.layers = workload::transformer_layers(shape);
  return whole.parameters();
}

// DeepSeek-V3: DeepSeek-AI, arXiv:2412.19437, section 4.2.
inline workload::TransformerShape deepseek_v3() {
  workload::TransformerShape shape;
  shape.layers = 61;
  shape.hidden = 7168;
  shape.heads = shape.kv_heads = 128;
  shape.head_width = 192;
  shape.latent = workload::LatentShape{1536, 512, 128, 64, 128};
  shape.ffn = 18432;
  shape.experts = workload::ExpertShape{256, 8, 1, 1'000'000, 1, 2048, 3};
  shape.sequence = 4096;
  shape.vocabulary = 129280;
  shape.mlp = workload::Activation::swiglu;
  shape.norm = workload::Norm::rms;
  shape.positions = workload::Positions::rotary;
  shape.biases = shape.tie_embeddings = false;
  return shape;
}

// One of them without experts, so that each weight is used.
inline workload::TransformerShape dense_latent(std::uint64_t q_rank) {
  workload::TransformerShape shape = deepseek_v3();
  shape.layers = 3;
  shape.experts.reset();
  shape.latent->q_rank = q_rank;
  return shape;
}

}  // namespace tessera::serving::shapes
