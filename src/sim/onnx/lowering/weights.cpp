// What the right operand of a product takes in memory: packed weights of few bits with their scales
// and zero points, of operators that have them among their inputs, and of those that widen what a
// DequantizeLinear would have.
#include <array>
#include <set>

#include "onnx/lowering/state.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {
namespace {

// Inputs of an operator by their places.
struct Quantized {
  const char* op;
  std::size_t weights;
  std::vector<std::size_t> beside;  // scales, zero points, an order of the depth
};

const Quantized* find_quantized(const Node& node) {
  static const std::array<Quantized, 8> all{{{"MatMulNBits", 1, {2, 3, 4}},
                                             {"MatMulInteger", 1, {3}},
                                             {"ConvInteger", 1, {3}},
                                             {"QLinearMatMul", 3, {4, 5}},
                                             {"QLinearConv", 3, {4, 5}},
                                             {"MatMulIntegerToFloat", 1, {3, 5}},
                                             {"DynamicQuantizeMatMul", 1, {2, 3}},
                                             {"QAttention", 1, {4, 7}}}};
  for (const Quantized& one : all) {
    if (node.op == one.op) {
      return &one;
    }
  }
  return nullptr;
}

}  // namespace

// One scale or zero point for all is with the instructions.
std::optional<npu::StoredWeights> Lowering::stored(std::uint64_t elements,
                                                   const npu::Target& target) const {
  const Quantized* const quantized = find_quantized(*node_);
  if (quantized == nullptr && node_->widened_by.empty()) {
    return std::nullopt;
  }
  const Tensor* const weights = input(quantized != nullptr ? quantized->weights : 1);
  if (weights == nullptr) {
    return std::nullopt;
  }
  const bool is_packed = node_->op == "MatMulNBits";  // several elements in one of the tensor
  const std::uint64_t count = is_packed ? elements : weights->elements();
  std::set<const Tensor*> beside;
  if (quantized != nullptr) {
    for (const std::size_t at : quantized->beside) {
      beside.insert(own_input(at));
    }
  }
  for (const TensorIndex at : node_->widened_by) {
    beside.insert(&graph_.tensor(at));
  }
  beside.erase(nullptr);
  std::uint64_t bytes = elements_.bytes(*weights);
  for (const Tensor* const one : beside) {
    bytes += one->elements() > 1 ? elements_.bytes(*one) : 0;
  }
  if (bytes == count * target.element().count()) {
    return std::nullopt;
  }
  if (bytes == 0 || bytes > npu::most_weight_bytes * Wide{count}) {
    throw ConfigError(graph_.path + ": node '" + node_->name + "': " + to_string(Bytes(bytes)) +
                      " of weights, scales and zero points are not of " + std::to_string(count) +
                      " weights");
  }
  return npu::StoredWeights(bytes, count);
}

}  // namespace tessera::sim
