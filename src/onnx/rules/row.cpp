// Norms, softmaxes and reductions: rows that go into each of their elements or into one number.
#include <algorithm>
#include <array>

#include "operators.hpp"

namespace tessera::onnx {
namespace {

// y, and in training the running and saved statistics of the channels.
void shape_batch_norm(Operands& node) {
  const Shape& shape = node.shape(0);
  if (shape.empty()) {
    node.fail("a batch norm of a scalar");
  }
  node.set(0, node.type(0), shape);
  for (std::size_t at = 1; at < node.outputs(); ++at) {
    node.set(at, node.type(0), {shape.size() == 1 ? 1 : shape[1]});
  }
}

void shape_layer_norm(Operands& node) {
  Shape shape = node.shape(0);
  node.set(0, node.type(0), shape);
  const std::size_t axis = node.axis(node.integer("axis", -1), shape.size());
  std::fill(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end(), 1);
  node.set(1, ElementType::float32, shape);
  node.set(2, ElementType::float32, shape);
}

RowWork rows_from(const Operands& node, RowWork::Form form, std::size_t axis, std::uint64_t flops) {
  const Shape& shape = node.shape(0);
  RowWork work{form, 1, 1, flops};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis ? work.rows : work.columns) *= static_cast<std::uint64_t>(shape[i]);
  }
  node.times({work.rows, work.columns, flops});
  return work;
}

Work layer_norm(const Operands& node, std::uint64_t flops) {
  const std::size_t axis = node.axis(node.integer("axis", -1), node.rank(0));
  return rows_from(node, RowWork::Form::normalization, axis, flops);
}

// Over the sides behind the channels.
Work image_norm(const Operands& node, std::uint64_t flops) {
  return rows_from(node, RowWork::Form::normalization, std::min<std::size_t>(2, node.rank(0)),
                   flops);
}

Work group_norm(const Operands& node, std::uint64_t flops) {
  const Shape& shape = node.shape(0);
  const std::int64_t groups = node.integer("num_groups", node.integer("groups", 1));
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0) {
    node.fail("a tensor of the shape " + to_string(shape) + " in " + std::to_string(groups) +
              " groups");
  }
  const std::uint64_t rows =
      static_cast<std::uint64_t>(shape[0]) * static_cast<std::uint64_t>(groups);
  const std::uint64_t elements = elements_of(shape);
  return RowWork{RowWork::Form::normalization, rows, rows == 0 ? 0 : elements / rows, flops};
}

Work batch_norm(const Operands& node, std::uint64_t flops) {
  return ElementWise{false, elements_of(node.shape(0)), flops};
}

// Squares of `size` neighbours added up, then scale, shift, power, divide.
Work neighbour_norm(const Operands& node, std::uint64_t flops) {
  const std::int64_t size = node.integer("size");
  if (size < 1 || size > (1 << 20)) {
    node.fail("attribute 'size' should be from 1 on");
  }
  const std::uint64_t each = flops + static_cast<std::uint64_t>(size);
  node.times({each, elements_of(node.shape(0))});
  return ElementWise{false, elements_of(node.shape(0)), each};
}

// Before opset 13 over all sides from the axis on, then over one.
Work softmax(const Operands& node, std::uint64_t flops) {
  const Shape& shape = node.shape(0);
  if (shape.empty()) {
    return RowWork{RowWork::Form::softmax, 1, 1, flops};
  }
  const bool flattened = node.version() < 13;
  const std::size_t axis = node.axis(node.integer("axis", flattened ? 1 : -1), shape.size());
  if (flattened) {
    return rows_from(node, RowWork::Form::softmax, axis, flops);
  }
  const auto columns = static_cast<std::uint64_t>(shape[axis]);
  return RowWork{RowWork::Form::softmax, columns == 0 ? 0 : elements_of(shape) / columns, columns,
                 flops};
}

// Axes are an attribute, or an input from opset 13 (ReduceSum) or 18 on.
std::vector<bool> reduced_axes(const Operands& node) {
  const std::size_t rank = node.rank(0);
  std::vector<std::int64_t> list = node.integers("axes");
  if (node.has(1)) {
    list = node.numbers(1);
  }
  if (list.empty()) {
    const bool nothing = node.flag("noop_with_empty_axes");
    return std::vector<bool>(rank, !nothing);
  }
  return node.axes(list, rank);
}

void shape_reduce(Operands& node) {
  const std::vector<bool> axes = reduced_axes(node);
  const bool keep = node.flag("keepdims", true);
  Shape shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i]) {
      shape.push_back(node.shape(0)[i]);
    } else if (keep) {
      shape.push_back(1);
    }
  }
  node.set(0, node.type(0), shape);
}

RowWork reduced(const Operands& node, std::uint64_t flops) {
  const std::uint64_t inputs = elements_of(node.shape(0));
  const std::uint64_t outputs = elements_of(node.output_shape(0));
  node.times({inputs, flops});
  return {RowWork::Form::reduction, outputs, outputs == 0 ? 0 : inputs / outputs, flops};
}

Work reduce(const Operands& node, std::uint64_t flops) {
  return reduced(node, flops);
}

void shape_arg(Operands& node) {
  Shape shape = node.shape(0);
  const std::size_t axis = node.axis(node.integer("axis", 0), shape.size());
  if (node.flag("keepdims", true)) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  node.set(0, ElementType::int64, shape);
}

// Scores [batch, classes, ...], labels [batch, ...].
void shape_loss(Operands& node) {
  const Shape none;
  const bool whole = node.text("reduction", "mean") != "none";
  node.set(0, node.type(0), whole ? none : node.shape(1));
  node.set(1, node.type(0), node.shape(0));
}

Work loss(const Operands& node, std::uint64_t flops) {
  return Other{node.times({elements_of(node.shape(0)), flops})};
}

constexpr std::array row_list{
    OperatorRule{"ArgMax", shape_arg, reduce, 1},
    OperatorRule{"ArgMin", shape_arg, reduce, 1},
    // Centre, divide, gain, shift.
    OperatorRule{"BatchNormalization", shape_batch_norm, batch_norm, 4},
    // Mean, centre, variance 2, divide, gain, shift.
    OperatorRule{"GroupNormalization", shape_as_input, group_norm, 7},
    OperatorRule{"Hardmax", shape_as_input, softmax, 2},
    OperatorRule{"InstanceNormalization", shape_as_input, image_norm, 7},
    OperatorRule{"LRN", shape_as_input, neighbour_norm, 5},
    OperatorRule{"LayerNormalization", shape_layer_norm, layer_norm, 7},
    OperatorRule{"LogSoftmax", shape_as_input, softmax, 5},
    OperatorRule{"LpNormalization", shape_as_input, norm_of_last, 3},
    OperatorRule{"MeanVarianceNormalization", shape_as_input, image_norm, 5},
    OperatorRule{"NegativeLogLikelihoodLoss", shape_loss, loss, 1},
    OperatorRule{"ReduceL1", shape_reduce, reduce, 2},
    OperatorRule{"ReduceL2", shape_reduce, reduce, 2},
    OperatorRule{"ReduceLogSum", shape_reduce, reduce, 1},
    OperatorRule{"ReduceLogSumExp", shape_reduce, reduce, 2},
    OperatorRule{"ReduceMax", shape_reduce, reduce, 1},
    OperatorRule{"ReduceMean", shape_reduce, reduce, 1},
    OperatorRule{"ReduceMin", shape_reduce, reduce, 1},
    OperatorRule{"ReduceProd", shape_reduce, reduce, 1},
    OperatorRule{"ReduceSum", shape_reduce, reduce, 1},
    OperatorRule{"ReduceSumSquare", shape_reduce, reduce, 2},
    // Square, sum, divide, gain: operator set 23.
    OperatorRule{"RMSNormalization", shape_as_input, layer_norm, 4},
    // Largest, subtract, exponential, sum, divide.
    OperatorRule{"Softmax", shape_as_input, softmax, 5},
    OperatorRule{"SoftmaxCrossEntropyLoss", shape_loss, loss, 6},
};

}  // namespace

std::span<const OperatorRule> row_rules() {
  return row_list;
}

}  // namespace tessera::onnx
