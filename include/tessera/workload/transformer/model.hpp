// A transformer of given sizes as layers of operators: the one description of what it computes and
// keeps, for training, inference and serving alike.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/workload/transformer/transformer.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

// Embedding, layers, head; with an encoder and a decoder each has an embedding and layers. Of one
// sample of `shape.sequence` tokens. src/workload/transformer/layers.hpp says what is in them.
std::vector<Layer> transformer_layers(const TransformerShape& shape);

// The same of one token of an inference, as a step of a served model goes through them for each of
// its tokens: attention in one kernel; the token goes to its `top_k` experts without padding, and
// the router looks at all.
std::vector<Layer> token_layers(TransformerShape shape);

// Forward, of a softmax of so many elements.
Flops softmax_flops(std::uint64_t elements);

}  // namespace tessera::workload
