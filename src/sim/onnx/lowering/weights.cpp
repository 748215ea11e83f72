// What the right operand of a product takes in memory: packed weights of few bits with their scales
// and zero points, of operators that have them among their inputs, and of those that widen what a
// DequantizeLinear would have.
#include <set>

#include "onnx/lowering/state.hpp"
#include "onnx/quantized.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {
// One scale or zero point for all is with the instructions.
std::optional<npu::StoredWeights> Lowering::stored(std::uint64_t elements,
                                                   const npu::Target& target) const {
  const QuantizedPlaces* const quantized = find_quantized(*node_);
  if (quantized == nullptr && node_->widened_by.empty()) {
    return std::nullopt;
  }
  const Tensor* const weights = input(weights_place(*node_));
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
