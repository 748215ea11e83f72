// Rewrites a graph as inference runtimes do before they run it.
//
// The levels are those of ONNX Runtime (onnxruntime.ai/docs/performance/model-optimizations):
// - basic: constant folding, dead code, views and identities that do nothing, common
//   subexpressions, Conv with BatchNormalization, Conv with a constant Mul or Add, MatMul with bias
// - extended: DequantizeLinear of constants, also through a Transpose, into the products and
//   convolutions that read them, which read packed weights, scales and zero points then (the
//   runtime makes them MatMulNBits, QLinearMatMul or QLinearConv at this level); operators between
//   DequantizeLinear and QuantizeLinear on the quantised numbers: products and convolutions as
//   QLinearMatMul, QLinearConv, QGemm or (without QuantizeLinear) MatMulIntegerToFloat, sums,
//   products of elements, Sigmoid, LeakyRelu, Softmax, average pools and Concat as those of
//   com.microsoft, movement and MaxPool as they are; decomposed
//   LayerNormalization, RMS normalization, GELU, SiLU, HardSigmoid and
//   HardSwish recognised; attention (with grouped queries) as one operator; skip and bias into
//   norms; bias, skip and activation into convolutions and products; a cache of keys or values (an
//   input that a Concat makes an output) appended to in place, as a shared buffer for past and
//   present does it
// - all: transposes read in place by the product beside them; chains of element-wise operators in
//   one pass
// Deviations: fp8 is fused as integers are; a bias of a quantised product need not be quantised,
// and a bias, skip or activation that the product takes in may stand before QuantizeLinear. `all`
// of the runtime also changes the layout of images for the vectors of its processor, which says
// nothing about other machines; skip and activation of a Conv are `extended` there for some
// processors and `all` for others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/onnx/graph.hpp"
#include "tessera/onnx/work.hpp"

namespace tessera::onnx {

enum class Level : std::uint8_t { none, basic, extended, all };

std::string to_string(Level level);
std::vector<std::string> level_names();
// Of a name in `level_names()`.
Level level_from(const std::string& name);

struct PassReport {
  std::string pass;
  std::uint64_t changes = 0;
};

// Brings the graph to `level`. Reports the passes that changed something, in order.
std::vector<PassReport> optimize(Graph& graph, Level level);

// Throws InternalError when a tensor is read before it is made, is made twice, or an index leads
// nowhere: what every pass must keep.
void check_order(const Graph& graph);

}  // namespace tessera::onnx
