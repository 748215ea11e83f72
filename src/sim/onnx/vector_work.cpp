#include "onnx/vector_work.hpp"

#include <map>

namespace tessera::sim {
namespace {

using npu::vector_work;
using npu::VectorWork;

VectorWork repeated(std::uint64_t count, const VectorWork& work) {
  VectorWork sum;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum = sum + work;
  }
  return sum;
}

// Functions without a latency of their own count as an exponential (assumed).
const std::map<std::string, VectorWork>& known() {
  static const std::map<std::string, VectorWork> works{
      {"Add", vector_work("add")},
      {"Sub", vector_work("add")},
      {"Mul", vector_work("mul")},
      {"Div", vector_work("div")},
      {"Reciprocal", vector_work("div")},
      {"Relu", vector_work("relu")},
      {"Sqrt", vector_work("sqrt")},
      {"Exp", vector_work("exp")},
      {"Log", vector_work("exp")},
      {"Erf", vector_work("exp")},
      {"Pow", vector_work("exp")},
      {"Sin", vector_work("exp")},
      {"Cos", vector_work("exp")},
      {"Sigmoid", vector_work("sigmoid")},
      {"Tanh", vector_work("tanh")},
      {"QuickGelu", vector_work("silu")},
      {"Gelu", vector_work("gelu")},
      {"FastGelu", vector_work("gelu")},
      {"BiasGelu", vector_work("gelu") + vector_work("add")},
      {"BiasSplitGelu", vector_work("gelu") + vector_work("add") + vector_work("mul")},
      {"SimplifiedLayerNormalization", vector_work("rms_norm")},
      {"SkipSimplifiedLayerNormalization", vector_work("rms_norm") + vector_work("add")},
      {"SkipLayerNormalization", vector_work("layer_norm") + vector_work("add")},
      {"EmbedLayerNormalization", vector_work("layer_norm") + repeated(2, vector_work("add"))}};
  return works;
}

}  // namespace

VectorWork element_work(const std::string& op, std::uint64_t flops_per_element) {
  const auto found = known().find(op);
  return found != known().end() ? found->second : VectorWork{.adds = flops_per_element};
}

VectorWork row_work(const std::string& op, const onnx::RowWork& work) {
  const auto found = known().find(op);
  if (found != known().end()) {
    return found->second;
  }
  switch (work.form) {
    case onnx::RowWork::Form::normalization:
      return vector_work("layer_norm");
    case onnx::RowWork::Form::softmax:
      return vector_work("softmax");
    default:  // rows beside each other in the lanes, so that none is summed up by a tree
      return {.adds = work.flops_per_element};
  }
}

VectorWork gate_work(std::uint64_t gates) {
  const VectorWork sigmoid = vector_work("sigmoid");
  const VectorWork tanh = vector_work("tanh");
  const VectorWork product = vector_work("mul");
  const VectorWork sum = vector_work("add");
  if (gates == 4) {
    return repeated(3, sigmoid) + repeated(2, tanh) + repeated(3, product) + sum;
  }
  return gates == 3 ? repeated(2, sigmoid) + tanh + repeated(3, product) + repeated(3, sum) : tanh;
}

}  // namespace tessera::sim
