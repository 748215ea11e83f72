// Operators that do the same to each element. The last column: FLOPs of an output element, one for
// each operation of the formula in the ONNX specification.
#include <array>

#include "operators.hpp"

namespace tessera::onnx {
namespace {

void shape_binary(Operands& node) {
  if (node.inputs() != 2) {
    node.fail("has " + std::to_string(node.inputs()) + " inputs, and should have two");
  }
  const Shape& left = node.shape(0);
  node.set(0, node.type(0), node.broadcast(left, node.shape(1)));
}

void shape_compare(Operands& node) {
  shape_binary(node);
  if (node.wants(0)) {
    node.set(0, ElementType::boolean, node.output_shape(0));
  }
}

void shape_test(Operands& node) {
  node.set(0, ElementType::boolean, node.shape(0));
}

void shape_where(Operands& node) {
  const Shape chosen = node.broadcast(node.shape(1), node.shape(2));
  node.set(0, node.type(1), node.broadcast(node.shape(0), chosen));
}

void shape_cast(Operands& node) {
  const ElementType to = element_type_from(node.integer("to"));
  if (to == ElementType::undefined) {
    node.fail("attribute 'to' is no data type");
  }
  node.set(0, to, node.shape(0));
}

// The same bits under another type, which has as many.
void shape_bit_cast(Operands& node) {
  shape_cast(node);
  const ElementType to = element_type_from(node.integer("to"));
  if (bits_of(to) != bits_of(node.type(0))) {
    node.fail("elements of the type " + to_string(node.type(0)) + " have not as many bits as " +
              to_string(to));
  }
}

void shape_cast_like(Operands& node) {
  node.set(0, node.type(1), node.shape(0));
}

// The slope is broadcast to the input, not the other way round.
void shape_slope(Operands& node) {
  if (node.broadcast(node.shape(0), node.shape(1)) != node.shape(0)) {
    node.fail("the slope " + to_string(node.shape(1)) + " is larger than the input " +
              to_string(node.shape(0)));
  }
  node.set(0, node.type(0), node.shape(0));
}

// Bounds are scalars.
void shape_first(Operands& node) {
  node.set(0, node.type(0), node.shape(0));
}

void shape_dropout(Operands& node) {
  node.set(0, node.type(0), node.shape(0));
  node.set(1, node.version() < 10 ? node.type(0) : ElementType::boolean, node.shape(0));
}

// As an attribute says (from operator set 21 on, of DequantizeLinear from 23 on), or by default.
ElementType wanted_type(const Operands& node, ElementType usual) {
  const ElementType wanted = element_type_from(node.integer("output_dtype", 0));
  return wanted == ElementType::undefined ? usual : wanted;
}

// The zero point has the type that is wanted.
void shape_quantize(Operands& node) {
  node.set(0, node.has(2) ? node.type(2) : wanted_type(node, ElementType::uint8), node.shape(0));
}

void shape_dequantize(Operands& node) {
  node.set(0, wanted_type(node, node.type(1)), node.shape(0));
}

void shape_quantize_dynamically(Operands& node) {
  node.set(0, ElementType::uint8, node.shape(0));
  node.set(1, ElementType::float32, {});
  node.set(2, ElementType::uint8, {});
}

// One operation for each operand but the first.
Work of_all(const Operands& node, std::uint64_t more) {
  const std::uint64_t operands = node.inputs();
  return ElementWise{false, elements_of(node.output_shape(0)),
                     (operands > 0 ? operands - 1 : 0) + more};
}

// At inference; a mask that is asked for is written, too.
Work dropout(const Operands& node, std::uint64_t) {
  const auto* const training = node.values(2);
  const bool trains = training != nullptr && training->size() == 1 && training->as_real(0) != 0;
  if (trains || node.wants(1)) {
    return ElementWise{false, elements_of(node.shape(0)), 2};
  }
  return View{};
}

constexpr std::array element_wise_list{
    OperatorRule{"Abs", shape_as_input, activation, 1},
    OperatorRule{"Acos", shape_as_input, activation, 1},
    OperatorRule{"Acosh", shape_as_input, activation, 1},
    OperatorRule{"Add", shape_binary, element_wise, 1},
    OperatorRule{"And", shape_compare, element_wise, 1},
    OperatorRule{"Asin", shape_as_input, activation, 1},
    OperatorRule{"Asinh", shape_as_input, activation, 1},
    OperatorRule{"Atan", shape_as_input, activation, 1},
    OperatorRule{"Atanh", shape_as_input, activation, 1},
    OperatorRule{"Bernoulli", shape_as_input, element_wise, 2},
    OperatorRule{"BitCast", shape_bit_cast, view, 0},
    OperatorRule{"BitShift", shape_binary, element_wise, 1},
    OperatorRule{"BitwiseAnd", shape_binary, element_wise, 1},
    OperatorRule{"BitwiseNot", shape_as_input, element_wise, 1},
    OperatorRule{"BitwiseOr", shape_binary, element_wise, 1},
    OperatorRule{"BitwiseXor", shape_binary, element_wise, 1},
    OperatorRule{"Cast", shape_cast, element_wise, 1},
    OperatorRule{"CastLike", shape_cast_like, element_wise, 1},
    OperatorRule{"Ceil", shape_as_input, activation, 1},
    // max(0, x) + min(0, a (exp(x / a) - 1))
    OperatorRule{"Celu", shape_as_input, activation, 7},
    OperatorRule{"Clip", shape_first, activation, 2},
    OperatorRule{"Cos", shape_as_input, activation, 1},
    OperatorRule{"Cosh", shape_as_input, activation, 1},
    OperatorRule{"DequantizeLinear", shape_dequantize, element_wise, 2},
    OperatorRule{"Div", shape_binary, element_wise, 1},
    OperatorRule{"Dropout", shape_dropout, dropout, 0},
    // Least, largest, then divide, round, shift, two bounds.
    OperatorRule{"DynamicQuantizeLinear", shape_quantize_dynamically, element_wise, 7},
    OperatorRule{"Elu", shape_as_input, activation, 4},
    OperatorRule{"Equal", shape_compare, element_wise, 1},
    OperatorRule{"Erf", shape_as_input, activation, 1},
    OperatorRule{"Exp", shape_as_input, activation, 1},
    OperatorRule{"Floor", shape_as_input, activation, 1},
    // Operator set 20; as that of com.microsoft.
    OperatorRule{"Gelu", shape_as_input, activation, 5},
    OperatorRule{"Greater", shape_compare, element_wise, 1},
    OperatorRule{"GreaterOrEqual", shape_compare, element_wise, 1},
    // max(0, min(1, a x + b))
    OperatorRule{"HardSigmoid", shape_as_input, activation, 4},
    OperatorRule{"HardSwish", shape_as_input, activation, 5},
    OperatorRule{"IsInf", shape_test, element_wise, 1},
    OperatorRule{"IsNaN", shape_test, element_wise, 1},
    OperatorRule{"LeakyRelu", shape_as_input, activation, 2},
    OperatorRule{"Less", shape_compare, element_wise, 1},
    OperatorRule{"LessOrEqual", shape_compare, element_wise, 1},
    OperatorRule{"Log", shape_as_input, activation, 1},
    OperatorRule{"Max", shape_broadcast, of_all, 0},
    OperatorRule{"Mean", shape_broadcast, of_all, 1},
    OperatorRule{"Min", shape_broadcast, of_all, 0},
    // x tanh(ln(1 + exp(x)))
    OperatorRule{"Mish", shape_as_input, activation, 5},
    OperatorRule{"Mod", shape_binary, element_wise, 1},
    OperatorRule{"Mul", shape_binary, element_wise, 1},
    OperatorRule{"Neg", shape_as_input, activation, 1},
    OperatorRule{"Not", shape_test, element_wise, 1},
    OperatorRule{"Or", shape_compare, element_wise, 1},
    OperatorRule{"PRelu", shape_slope, element_wise, 2},
    OperatorRule{"Pow", shape_binary, element_wise, 1},
    OperatorRule{"QuantizeLinear", shape_quantize, element_wise, 5},
    OperatorRule{"Reciprocal", shape_as_input, activation, 1},
    OperatorRule{"Relu", shape_as_input, activation, 1},
    // Two products and a sum: operator set 23.
    OperatorRule{"RotaryEmbedding", shape_first, element_wise, 3},
    OperatorRule{"Round", shape_as_input, activation, 1},
    // g (max(0, x) + min(0, a (exp(x) - 1)))
    OperatorRule{"Selu", shape_as_input, activation, 5},
    OperatorRule{"Shrink", shape_as_input, activation, 3},
    // 1 / (1 + exp(-x))
    OperatorRule{"Sigmoid", shape_as_input, activation, 4},
    OperatorRule{"Sign", shape_as_input, activation, 1},
    OperatorRule{"Sin", shape_as_input, activation, 1},
    OperatorRule{"Sinh", shape_as_input, activation, 1},
    OperatorRule{"Softplus", shape_as_input, activation, 3},
    OperatorRule{"Softsign", shape_as_input, activation, 3},
    OperatorRule{"Sqrt", shape_as_input, activation, 1},
    OperatorRule{"Sub", shape_binary, element_wise, 1},
    OperatorRule{"Sum", shape_broadcast, of_all, 0},
    // x / (1 + exp(-a x)): operator set 24.
    OperatorRule{"Swish", shape_as_input, activation, 5},
    OperatorRule{"Tan", shape_as_input, activation, 1},
    OperatorRule{"Tanh", shape_as_input, activation, 1},
    OperatorRule{"ThresholdedRelu", shape_as_input, activation, 1},
    OperatorRule{"Where", shape_where, element_wise, 1},
    OperatorRule{"Xor", shape_compare, element_wise, 1},
};

}  // namespace

std::span<const OperatorRule> element_wise_rules() {
  return element_wise_list;
}

}  // namespace tessera::onnx
