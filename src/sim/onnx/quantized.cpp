#include "onnx/quantized.hpp"

#include <algorithm>
#include <array>

namespace tessera::sim {
namespace {

using onnx::ElementType;
using onnx::Graph;
using onnx::Node;

constexpr std::uint64_t most_bits = 8;

std::optional<ElementType> type_at(const Graph& graph, const Node& node, std::size_t place) {
  return place < node.inputs.size() && node.inputs[place] != onnx::no_tensor
             ? std::optional(graph.tensor(node.inputs[place]).type)
             : std::nullopt;
}

}  // namespace

const QuantizedPlaces* find_quantized(const Node& node) {
  static const std::array<QuantizedPlaces, 9> all{{{"MatMulNBits", 1, {2, 3, 4}},
                                                   {"MatMulInteger", 1, {3}},
                                                   {"ConvInteger", 1, {3}},
                                                   {"QLinearMatMul", 3, {4, 5}},
                                                   {"QLinearConv", 3, {4, 5}},
                                                   {"QGemm", 3, {4, 5}},
                                                   {"MatMulIntegerToFloat", 1, {3, 5}},
                                                   {"DynamicQuantizeMatMul", 1, {2, 3}, true},
                                                   {"QAttention", 1, {4, 7}}}};
  const auto* const found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return node.op == one.op; });
  return found == all.end() ? nullptr : found;
}

std::size_t weights_place(const Node& node) {
  const QuantizedPlaces* const quantized = find_quantized(node);
  return quantized == nullptr ? 1 : quantized->weights;
}

bool is_narrow(ElementType type) {
  return type != ElementType::boolean && type != ElementType::text &&
         type != ElementType::undefined && onnx::bits_of(type) <= most_bits;
}

std::optional<DataType> quantized_type(const Graph& graph, const Node& node) {
  const QuantizedPlaces* const quantized = find_quantized(node);
  const auto right = type_at(graph, node, weights_place(node));
  const bool inside = quantized != nullptr && quantized->quantizes;
  const auto left = inside ? right : type_at(graph, node, 0);
  if (!left || !right || !is_narrow(*left) || !is_narrow(*right)) {
    return std::nullopt;
  }
  return onnx::is_real(*left) || onnx::is_real(*right) ? DataType::fp8 : DataType::int8;
}

}  // namespace tessera::sim
