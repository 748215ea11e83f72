// A decoder-only language model as operators of NPU cores or operations of tiles, for prompts and
// generation alike.
//
// A step takes T tokens of all sequences of its batch through every layer:
//   norm, qkv (one product), attention over the cache for each group of sequences that look alike
//   (grouped-query attention; new keys and values are put into the cache), out, norm, up, down;
//   with swiglu a gate between; with experts a router, and `up` and `down` of the experts that
//   tokens go to, spread evenly, and of those that work on every token.
// Latent attention (DeepSeek-V2, arXiv:2405.04434), on tiles, is that of one head of keys, the
// latent vector and the part of keys with the position, which is all that the cache keeps, whole in
// each NPU: queries are turned into its space before (absorb), and the values come out of what they
// gather behind (value_up), for prompts as for generation.
//
// At first an embedding of the tokens, at last norm, head and softmax of those tokens that give the
// next one. Residuals are added to the sums of `out` and `down`, functions act on the columns of
// `up` before they are stored.
//
// Tensor parallel (M. Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3): heads and
// columns are cut over t NPUs, with an all-reduce behind `out` and `down`, after which residuals
// are added with the norm. Where t is more than the heads of keys, each NPU holds one. The head's
// logits stay cut; that shards agree on a token costs nothing. Pipeline parallel: layers are cut in
// stages as even as can be; each NPU hands the activations on to the one of its place in the next
// stage.
//
// Expert parallel (DeepSeek-V3, arXiv:2412.19437, section 3.4.2): each of N NPUs has an even part
// of the sequences of a step for itself, with their cache and all weights but those of experts, of
// which it has an even part. A layer with experts sends each token once to every NPU that has one
// of its experts, of which there are min(top_k, N), and what comes out back, by two all-to-alls; so
// all NPUs go on together. Tokens and sequences are spread evenly, rounded up, whatever their
// number.
//
// Rotary positions (J. Su et al., "RoFormer", arXiv:2104.09864) are a kernel behind qkv, which
// reads and writes queries and keys, of latent attention the part with the position alone. On tiles
// new keys and values go into the cache by another one, which reads and writes them; on NPU cores
// attention does that itself.
//
// The cache is of blocks of `block` tokens, and whole blocks are read (W. Kwon et al.,
// "PagedAttention", arXiv:2309.06180). NPU cores compute masked scores.
//
// On tiles (`core` null) the operators are the same, but attention of all sequences is one, which
// keeps no scores in memory (T. Dao, "FlashAttention-2", arXiv:2307.08691) and is told by sums over
// the sequences (workload::AttentionSizes), with FLOPs and bytes of all. Where attention is `flash`
// and `causal`, half of what a prompt's new tokens look at among themselves is left out.
//
// Adapters are two products behind each that they belong to, as kernels do them for all sequences
// of a step that have one (L. Chen et al., "Punica", MLSys 2024; Y. Sheng et al., "S-LoRA", MLSys
// 2024): down to the rank, once for each matrix that a product joins (queries, keys and values;
// gate and up), and up to its columns, which are added to. Each different adapter of the step is
// read once. Of what is cut by columns the first is whole in each unit, of what is cut by depth the
// second (as vLLM has it by default).
//
// Layers may be of several kinds (workload::LayerKind): with a window of tokens that each sees,
// whose attention reads min(context, window) tokens of the cache, and of prompts the pairs that the
// mask leaves; state-space layers on tiles, which keep and read as much of a sequence however long
// it is (src/serving/layers/state_space.hpp); without a mixer, or without an MLP. The cache has
// what each kind needs (serving/cache_layout.hpp). NPU cores compute what the mask of a window
// hides, as of any other.
//
// FLOPs, weights and what they are of follow from workload::transformer_layers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/core/error.hpp"
#include "tessera/npu/core/core.hpp"
#include "tessera/serving/batcher.hpp"
#include "tessera/serving/served_model.hpp"
#include "tessera/serving/weight_types.hpp"
#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::serving {

struct LanguageSetup {
  workload::TransformerShape shape;
  const npu::CoreConfig* core = nullptr;               // outlives the model; null: units are tiles
  std::uint32_t tensor = 1;                            // NPUs that share each layer
  std::uint32_t pipeline = 1;                          // stages
  std::uint32_t block = BatchOptions{}.block;          // tokens
  std::uint32_t sequences = BatchOptions{}.sequences;  // of a batch, at most
  std::uint32_t tokens = BatchOptions{}.tokens;        // of a step, at most
  std::uint64_t cores = 1;                             // of an NPU
  WeightTypes weights{};
  // Keys (and latent vectors, which are both) and values as they are in the cache; none: in the
  // model's data type.
  std::optional<npu::StoredWeights> stored_keys{};
  std::optional<npu::StoredWeights> stored_values{};
  // Of the states of state-space layers, on tiles; none: of the model's data type.
  std::optional<DataType> state_type{};
  // Adapters of low rank (E. Hu et al., "LoRA", ICLR 2022) for queries, keys and values, `out`,
  // `up` and `down` of each layer, on tiles; as many as `adapter_slots` are loaded at a time. 0:
  // none.
  std::uint32_t adapter_rank = 0;
  std::uint32_t adapter_slots = 0;
  // NPUs that experts are spread over, on tiles; with neither of the other cuts.
  std::uint32_t expert = 1;
};

// What a step can be described by.
inline constexpr std::uint32_t most_sequences = 1024;
inline constexpr std::uint32_t most_queries = 8192;
inline constexpr std::uint32_t most_keys = (1U << 19) - 1;
inline constexpr std::uint32_t most_tokens = 1U << 20;
inline constexpr std::uint64_t most_layers = 1400;

// Throws ConfigError ("KEY: ...", KEY of the model or `tensor`, `pipeline`, `expert`) for a shape
// that cannot be served or cut so.
std::unique_ptr<ServedModel> make_language_model(const LanguageSetup& setup);

}  // namespace tessera::serving
