// Rewritings of a graph, each a function that gives the number of its changes.
#pragma once

#include <cstdint>
#include <span>

#include "editor.hpp"
#include "tessera/onnx/passes/optimize.hpp"

namespace tessera::onnx {

struct Pass {
  const char* name;
  Level level;
  std::uint64_t (*run)(Editor& editor);
};

// In the order in which they run; those of a level once more after one that changed something.
std::span<const Pass> passes();

// What does nothing and who is read by nobody.
std::uint64_t fold_constants(Editor& editor);
std::uint64_t drop_dead_code(Editor& editor);
std::uint64_t drop_views(Editor& editor);
std::uint64_t merge_equal_nodes(Editor& editor);
// Constants into weights.
std::uint64_t fold_batch_norm(Editor& editor);
std::uint64_t fold_channel_constants(Editor& editor);
std::uint64_t add_bias_to_products(Editor& editor);
std::uint64_t take_in_packed_weights(Editor& editor);
// Between DequantizeLinear and QuantizeLinear.
std::uint64_t move_quantized(Editor& editor);
std::uint64_t compute_on_quantized(Editor& editor);
// Recognised formulas.
std::uint64_t recognise_layer_norm(Editor& editor);
std::uint64_t recognise_rms_norm(Editor& editor);
std::uint64_t recognise_gelu(Editor& editor);
std::uint64_t recognise_tanh_gelu(Editor& editor);
std::uint64_t recognise_silu(Editor& editor);
std::uint64_t recognise_hard_sigmoid(Editor& editor);
std::uint64_t recognise_hard_swish(Editor& editor);
// Several operators as one.
std::uint64_t fuse_attention(Editor& editor);
std::uint64_t append_to_caches(Editor& editor);
std::uint64_t fuse_skip_norm(Editor& editor);
std::uint64_t fuse_epilogues(Editor& editor);
std::uint64_t read_transposes_in_place(Editor& editor);
std::uint64_t fuse_chains(Editor& editor);

}  // namespace tessera::onnx
