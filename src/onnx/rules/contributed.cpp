// Operators of com.microsoft, as inference runtimes write them into models that they have
// optimised, and a few of ai.onnx.ml. Source: onnxruntime's ContribOperators.md.
#include <algorithm>
#include <array>

#include "operators.hpp"

namespace tessera::onnx {
namespace {

Shape turned(Shape shape, bool turn) {
  if (turn && shape.size() >= 2) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  }
  return shape;
}

struct ProductSides {
  Shape left;
  Shape right;
};

// With the last two sides as the product takes them.
ProductSides fused_sides(const Operands& node) {
  if (node.flag("transBatchA") || node.flag("transBatchB")) {
    throw NotKnown{"transposed batches are not followed"};
  }
  ProductSides sides{turned(node.shape(0), node.flag("transA")),
                     turned(node.shape(1), node.flag("transB"))};
  if (sides.left.size() < 2 || sides.right.size() < 2 ||
      sides.left.back() != sides.right[sides.right.size() - 2]) {
    node.fail("the shapes " + to_string(sides.left) + " and " + to_string(sides.right) +
              " do not go together");
  }
  return sides;
}

Shape product_shape(const Operands& node, const ProductSides& sides) {
  Shape shape = node.broadcast(Shape(sides.left.begin(), sides.left.end() - 2),
                               Shape(sides.right.begin(), sides.right.end() - 2));
  shape.push_back(sides.left[sides.left.size() - 2]);
  shape.push_back(sides.right.back());
  return shape;
}

Work product_work(const Operands& node, const ProductSides& sides) {
  const Shape shape = product_shape(node, sides);
  Product work;
  work.rows = count(shape[shape.size() - 2]);
  work.columns = count(shape.back());
  work.depth = count(sides.left.back());
  work.count = elements_of(Shape(shape.begin(), shape.end() - 2));
  work.one_right_side = elements_of(Shape(sides.right.begin(), sides.right.end() - 2)) == 1;
  node.times({2, work.count, work.rows, work.columns, work.depth});
  return work;
}

void shape_fused_matmul(Operands& node) {
  node.set(0, node.type(0), product_shape(node, fused_sides(node)));
}
void shape_matmul_to_float(Operands& node) {
  node.set(0, ElementType::float32, product_shape(node, fused_sides(node)));
}
Work fused_matmul(const Operands& node, std::uint64_t) {
  return product_work(node, fused_sides(node));
}

// A [..., K] times weights of few bits, [N, blocks, bytes].
ProductSides few_bits(const Operands& node) {
  ProductSides sides{node.shape(0), {node.integer("K"), node.integer("N")}};
  if (sides.left.size() == 1) {
    sides.left.insert(sides.left.begin(), 1);
  }
  if (sides.left.empty() || sides.left.back() != sides.right[0] || sides.right[1] < 0) {
    node.fail("an input of the shape " + to_string(node.shape(0)) + " and weights of " +
              to_string(sides.right));
  }
  return sides;
}
void shape_few_bits(Operands& node) {
  node.set(0, node.type(0), product_shape(node, few_bits(node)));
}
Work few_bits_product(const Operands& node, std::uint64_t) {
  return product_work(node, few_bits(node));
}

// x, scale, zero point, y, scale, zero point, …
void shape_quantized_pair(Operands& node) {
  node.set(0, node.type(0), node.broadcast(node.shape(0), node.shape(3)));
}

void shape_as_first(Operands& node) {
  node.set(0, node.type(0), node.shape(0));
}

// The zero point has the type that is wanted.
void shape_quantize_bytes(Operands& node) {
  node.set(0, node.has(2) ? node.type(2) : ElementType::uint8, node.shape(0));
}
void shape_dequantize_bytes(Operands& node) {
  node.set(0, node.type(1), node.shape(0));
}

// scale, zero point, then x, scale, zero point of each
void shape_quantized_concat(Operands& node) {
  Shape shape = node.shape(2);
  const std::size_t axis = node.axis(node.integer("axis"), shape.size());
  for (std::size_t at = 5; at < node.inputs(); at += 3) {
    if (node.rank(at) != shape.size()) {
      node.fail("tensors of different rank");
    }
    shape[axis] += node.shape(at)[axis];
  }
  node.set(0, node.type(2), shape);
}

void shape_quantized_pool(Operands& node) {
  Shape shape = node.shape(0);
  const bool channels_last = node.flag("channels_last");
  if (shape.size() < 3) {
    node.fail("an image of the shape " + to_string(shape));
  }
  std::fill(shape.begin() + (channels_last ? 1 : 2), shape.end() - (channels_last ? 1 : 0), 1);
  node.set(0, node.type(0), shape);
}

Work quantized_pool(const Operands& node, std::uint64_t flops) {
  const std::uint64_t outputs = elements_of(node.output_shape(0));
  return Pooling{outputs, outputs == 0 ? 0 : elements_of(node.shape(0)) / outputs, flops};
}

// Output, mean, deviation, and the sum before the norm.
void shape_skip_norm(Operands& node) {
  const Shape& shape = node.shape(0);
  if (shape.empty()) {
    node.fail("a norm of a scalar");
  }
  Shape statistic = shape;
  statistic.back() = 1;
  node.set(0, node.type(0), shape);
  node.set(1, ElementType::float32, statistic);
  node.set(2, ElementType::float32, statistic);
  node.set(3, node.type(0), shape);
}

// Ids [batch, tokens], segments, three tables of rows, gain, shift.
void shape_embedding_norm(Operands& node) {
  const Shape& ids = node.shape(0);
  const Shape& table = node.shape(2);
  if (ids.size() != 2 || table.size() != 2) {
    node.fail("ids of the shape " + to_string(ids) + " and a table of " + to_string(table));
  }
  node.set(0, node.type(2), {ids[0], ids[1], table[1]});
  node.set(1, ElementType::int32, {ids[0]});
  node.set(2, node.type(2), {ids[0], ids[1], table[1]});
}

// Two sums and a norm.
Work embedding_norm(const Operands& node, std::uint64_t flops) {
  const Shape& shape = node.output_shape(0);
  return RowWork{RowWork::Form::normalization, node.times({count(shape[0]), count(shape[1])}),
                 count(shape[2]), flops};
}

// Half of the last side, by the other half.
void shape_halved(Operands& node) {
  Shape shape = node.shape(0);
  if (shape.empty()) {
    node.fail("half of a scalar");
  }
  shape.back() /= 2;
  node.set(0, node.type(0), shape);
}

constexpr std::array contributed_list{
    OperatorRule{"SimplifiedLayerNormalization", shape_skip_norm, norm_of_last, 4},
    OperatorRule{"ai.onnx.ml.Binarizer", shape_as_first, element_wise, 1},
    OperatorRule{"ai.onnx.ml.Imputer", shape_as_first, element_wise, 1},
    OperatorRule{"ai.onnx.ml.Normalizer", shape_as_first, element_wise, 3},
    OperatorRule{"ai.onnx.ml.Scaler", shape_as_first, element_wise, 2},
    OperatorRule{"com.microsoft.BiasGelu", shape_as_first, activation, 6},
    OperatorRule{"com.microsoft.BiasSplitGelu", shape_halved, activation, 8},
    OperatorRule{"com.microsoft.DequantizeLinear", shape_dequantize_bytes, element_wise, 2},
    OperatorRule{"com.microsoft.DynamicQuantizeMatMul", shape_fused_matmul, fused_matmul, 0},
    OperatorRule{"com.microsoft.EmbedLayerNormalization", shape_embedding_norm, embedding_norm, 9},
    // x/2 (1 + tanh(k x (1 + c x^2)))
    OperatorRule{"com.microsoft.FastGelu", shape_as_first, activation, 9},
    OperatorRule{"com.microsoft.FusedMatMul", shape_fused_matmul, fused_matmul, 0},
    // x/2 (1 + erf(x / sqrt 2))
    OperatorRule{"com.microsoft.Gelu", shape_as_first, activation, 5},
    OperatorRule{"com.microsoft.GroupNorm", shape_as_first, element_wise, 7},
    OperatorRule{"com.microsoft.MatMulIntegerToFloat", shape_matmul_to_float, fused_matmul, 0},
    OperatorRule{"com.microsoft.MatMulNBits", shape_few_bits, few_bits_product, 0},
    OperatorRule{"com.microsoft.QLinearAdd", shape_quantized_pair, element_wise, 8},
    OperatorRule{"com.microsoft.QLinearConcat", shape_quantized_concat, element_wise, 2},
    OperatorRule{"com.microsoft.QLinearGlobalAveragePool", shape_quantized_pool, quantized_pool, 1},
    OperatorRule{"com.microsoft.QLinearLeakyRelu", shape_as_first, activation, 9},
    OperatorRule{"com.microsoft.QLinearMul", shape_quantized_pair, element_wise, 8},
    OperatorRule{"com.microsoft.QLinearSigmoid", shape_as_first, activation, 11},
    OperatorRule{"com.microsoft.QLinearSoftmax", shape_as_first, norm_of_last, 12},
    OperatorRule{"com.microsoft.QuantizeLinear", shape_quantize_bytes, element_wise, 5},
    // x / (1 + exp(-a x))
    OperatorRule{"com.microsoft.QuickGelu", shape_as_first, activation, 5},
    // Two products and a sum.
    OperatorRule{"com.microsoft.RotaryEmbedding", shape_as_first, element_wise, 3},
    OperatorRule{"com.microsoft.SimplifiedLayerNormalization", shape_skip_norm, norm_of_last, 4},
    // A sum, and the norm.
    OperatorRule{"com.microsoft.SkipLayerNormalization", shape_skip_norm, norm_of_last, 8},
    OperatorRule{"com.microsoft.SkipSimplifiedLayerNormalization", shape_skip_norm, norm_of_last,
                 5},
    OperatorRule{"com.microsoft.TransposeMatMul", shape_fused_matmul, fused_matmul, 0},
    OperatorRule{"com.microsoft.Trilu", shape_as_first, movement, 0},
};

}  // namespace

std::span<const OperatorRule> contributed_rules() {
  return contributed_list;
}

}  // namespace tessera::onnx
