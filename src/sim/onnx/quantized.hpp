// Where products and convolutions of quantised models have their operands, and what they multiply
// in.
//
// Operators and the places of their inputs are those of ONNX (Operators.md: MatMulInteger,
// ConvInteger, QLinearMatMul, QLinearConv) and of com.microsoft (onnxruntime's ContribOperators.md:
// MatMulNBits, MatMulIntegerToFloat, DynamicQuantizeMatMul, QGemm, QAttention). A product whose
// weights alone are of few bits (MatMulNBits, a DequantizeLinear that the product does itself)
// multiplies in the type of its activations.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tessera/core/data_type.hpp"
#include "tessera/onnx/graph.hpp"

namespace tessera::sim {

struct QuantizedPlaces {
  const char* op;
  std::size_t weights;              // the right operand
  std::vector<std::size_t> beside;  // its scales and zero points, an order of the depth
  bool quantizes = false;           // activations, too, inside
};

// Null for an operator that has no quantised operands by itself.
const QuantizedPlaces* find_quantized(const onnx::Node& node);

// Of the right operand of a product or convolution.
std::size_t weights_place(const onnx::Node& node);

// Whether it is a number of 8 bits or less, as models are quantised to.
bool is_narrow(onnx::ElementType type);

// What a product or convolution multiplies in, where both operands come quantised: fp8 where one of
// them is a floating-point number, else int8; narrower ones are multiplied as those of 8 bits.
// None: in the type of its activations.
std::optional<DataType> quantized_type(const onnx::Graph& graph, const onnx::Node& node);

}  // namespace tessera::sim
