// Operators that put elements to other places, or give them another shape.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "layout.hpp"
#include "model_file.hpp"
#include "operators.hpp"
#include "tessera/onnx/turned_matrix.hpp"

namespace tessera::onnx {
namespace {

void shape_transpose(Operands& node) {
  const Shape& shape = node.shape(0);
  Shape result;
  for (const std::size_t axis : transposed_axes(node)) {
    result.push_back(shape[axis]);
  }
  node.set(0, node.type(0), result);
}

// Of more than one element, in the order of the output. Sides of one may move freely.
std::vector<std::size_t> moved_axes(const Operands& node) {
  const Shape& shape = node.shape(0);
  std::vector<std::size_t> axes = transposed_axes(node);
  std::erase_if(axes, [&](std::size_t axis) { return shape[axis] == 1; });
  return axes;
}

Work transpose(const Operands& node, std::uint64_t) {
  const std::vector<std::size_t> axes = moved_axes(node);
  return std::is_sorted(axes.begin(), axes.end()) ? Work(View{})
                                                  : Work(Movement{elements_of(node.shape(0))});
}

void shape_reshape(Operands& node) {
  const Shape& from = node.shape(0);
  Shape shape = node.numbers(1);
  const bool zero_counts = node.flag("allowzero");
  std::ptrdiff_t open = -1;
  std::uint64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zero_counts) {
      if (i >= from.size()) {
        node.fail("the shape " + to_string(from) + " has no side " + std::to_string(i) +
                  " to keep");
      }
      shape[i] = from[i];
    }
    if (shape[i] == -1 && open < 0) {
      open = static_cast<std::ptrdiff_t>(i);
    } else if (shape[i] < 0 || static_cast<std::uint64_t>(shape[i]) > most_elements) {
      node.fail("cannot give " + to_string(from) + " the shape " + to_string(node.numbers(1)));
    } else {
      known = node.times({known, static_cast<std::uint64_t>(shape[i])});
    }
  }
  const std::uint64_t elements = elements_of(from);
  if (open >= 0) {
    if (known == 0 ? elements != 0 : elements % known != 0) {
      node.fail("cannot give " + to_string(from) + " the shape " + to_string(node.numbers(1)));
    }
    shape[static_cast<std::size_t>(open)] =
        known == 0 ? 0 : static_cast<std::int64_t>(elements / known);
  } else if (known != elements) {
    node.fail("cannot give " + to_string(from) + " the shape " + to_string(shape));
  }
  node.set(0, node.type(0), shape);
}

void shape_flatten(Operands& node) {
  const Shape& shape = node.shape(0);
  const std::int64_t given = node.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (given < -rank || given > rank) {
    node.fail("axis " + std::to_string(given) + " of a tensor with " + std::to_string(rank) +
              " sides");
  }
  const auto cut = shape.begin() + (given < 0 ? given + rank : given);
  const auto left = static_cast<std::int64_t>(elements_of(Shape(shape.begin(), cut)));
  const auto right = static_cast<std::int64_t>(elements_of(Shape(cut, shape.end())));
  node.set(0, node.type(0), {left, right});
}

std::vector<std::int64_t> axes_of(const Operands& node) {
  return node.has(1) ? node.numbers(1) : node.integers("axes");
}

void shape_squeeze(Operands& node) {
  const Shape& shape = node.shape(0);
  const std::vector<std::int64_t> list = axes_of(node);
  const std::vector<bool> axes = node.axes(list, shape.size());
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!(list.empty() ? shape[i] == 1 : axes[i])) {
      result.push_back(shape[i]);
    } else if (shape[i] != 1) {
      node.fail("side " + std::to_string(i) + " of " + to_string(shape) + " is not 1");
    }
  }
  node.set(0, node.type(0), result);
}

void shape_unsqueeze(Operands& node) {
  const Shape& shape = node.shape(0);
  const std::vector<std::int64_t> list = axes_of(node);
  if (list.size() > most_sides) {
    node.fail("an output of more than " + std::to_string(most_sides) + " sides");
  }
  const std::vector<bool> axes = node.axes(list, shape.size() + list.size());
  Shape result;
  std::size_t next = 0;
  for (const bool is_new : axes) {
    if (!is_new && next == shape.size()) {
      node.fail("an axis is given twice");
    }
    result.push_back(is_new ? 1 : shape[next++]);
  }
  node.set(0, node.type(0), result);
}

void shape_concat(Operands& node) {
  Shape shape = node.shape(0);
  const std::size_t axis = node.axis(node.integer("axis", 1), shape.size());
  for (std::size_t at = 1; at < node.inputs(); ++at) {
    const Shape& other = node.shape(at);
    for (std::size_t i = 0; i < std::max(shape.size(), other.size()); ++i) {
      if (shape.size() != other.size() || (i != axis && shape[i] != other[i])) {
        node.fail("the shapes " + to_string(node.shape(0)) + " and " + to_string(other) +
                  " do not go together along axis " + std::to_string(axis));
      }
    }
    shape[axis] += other[axis];
  }
  node.set(0, node.type(0), shape);
}

void shape_split(Operands& node) {
  const Shape& shape = node.shape(0);
  const std::size_t axis = node.axis(node.integer("axis", 0), shape.size());
  const std::vector<std::int64_t> parts = split_parts(node, shape[axis], node.outputs());
  for (std::size_t at = 0; at < node.outputs(); ++at) {
    Shape part = shape;
    part[axis] = parts[at];
    node.set(at, node.type(0), part);
  }
}

Work split(const Operands& node, std::uint64_t) {
  return Movement{elements_of(node.shape(0))};
}

void shape_slice(Operands& node) {
  Shape shape = node.shape(0);
  for (const Cut& cut : cuts_of(node)) {
    shape[cut.axis] = cut.count;
  }
  node.set(0, node.type(0), shape);
}

void shape_pad(Operands& node) {
  Shape shape = node.shape(0);
  std::vector<std::int64_t> pads =
      node.has(1) ? node.numbers(1) : node.integers(node.version() < 2 ? "paddings" : "pads");
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has(3)) {
    axes.clear();
    for (const std::int64_t each : node.numbers(3)) {
      axes.push_back(node.axis(each, shape.size()));
    }
  }
  if (pads.size() != 2 * axes.size()) {
    node.fail(std::to_string(pads.size()) + " paddings for " + std::to_string(axes.size()) +
              " sides");
  }
  const auto limit = static_cast<std::int64_t>(most_elements);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t before = pads[i];
    const std::int64_t behind = pads[i + axes.size()];
    if (std::max(before, behind) > limit || std::min(before, behind) < -limit) {
      node.fail("a padding beyond 2^48");
    }
    shape[axes[i]] += before + behind;
  }
  node.set(0, node.type(0), shape);
}

void shape_tile(Operands& node) {
  Shape shape = node.shape(0);
  const auto& repeats = node.numbers(1);
  if (repeats.size() != shape.size()) {
    node.fail(std::to_string(repeats.size()) + " repeats for a tensor with " +
              std::to_string(shape.size()) + " sides");
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (__builtin_mul_overflow(shape[i], repeats[i], &shape[i])) {
      node.fail("a side beyond 64 bits");
    }
  }
  node.set(0, node.type(0), shape);
}

void shape_expand(Operands& node) {
  for (const std::int64_t side : node.numbers(1)) {
    if (side < 0) {
      node.fail("cannot expand to the shape " + to_string(node.numbers(1)));
    }
  }
  node.set(0, node.type(0), node.broadcast(node.shape(0), node.numbers(1)));
}

void shape_depth_to_space(Operands& node) {
  const Shape& shape = node.shape(0);
  const std::int64_t block = node.integer("blocksize");
  if (shape.size() != 4 || block < 1 || block > (1 << 15) || shape[1] % (block * block) != 0) {
    node.fail("an image of the shape " + to_string(shape) + " in blocks of " +
              std::to_string(block));
  }
  node.set(0, node.type(0),
           {shape[0], shape[1] / (block * block), shape[2] * block, shape[3] * block});
}

void shape_space_to_depth(Operands& node) {
  const Shape& shape = node.shape(0);
  const std::int64_t block = node.integer("blocksize");
  if (shape.size() != 4 || block < 1 || block > (1 << 15) || shape[2] % block != 0 ||
      shape[3] % block != 0 || shape[1] > (std::int64_t{1} << 32U)) {
    node.fail("an image of the shape " + to_string(shape) + " in blocks of " +
              std::to_string(block));
  }
  node.set(0, node.type(0),
           {shape[0], shape[1] * block * block, shape[2] / block, shape[3] / block});
}

void shape_crop_or_pad(Operands& node) {
  Shape shape = node.shape(0);
  const auto& target = node.numbers(1);
  std::vector<std::int64_t> axes = node.integers("axes");
  if (axes.empty()) {
    axes.resize(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (axes.size() != target.size()) {
    node.fail(std::to_string(target.size()) + " sizes for " + std::to_string(axes.size()) +
              " sides");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[node.axis(axes[i], shape.size())] = target[i];
  }
  node.set(0, node.type(0), shape);
}

void shape_shape(Operands& node) {
  const auto [begin, end] = shape_range(node);
  node.set(0, ElementType::int64, {static_cast<std::int64_t>(end - begin)});
}

void shape_size(Operands& node) {
  node.shape(0);
  node.set(0, ElementType::int64, {});
}

constexpr std::array layout_list{
    OperatorRule{"CenterCropPad", shape_crop_or_pad, movement, 0},
    OperatorRule{"Concat", shape_concat, movement, 0},
    OperatorRule{"DepthToSpace", shape_depth_to_space, movement, 0},
    OperatorRule{"Expand", shape_expand, movement, 0},
    OperatorRule{"Flatten", shape_flatten, view, 0},
    OperatorRule{"Identity", shape_as_input, view, 0},
    OperatorRule{"Pad", shape_pad, movement, 0},
    OperatorRule{"Reshape", shape_reshape, view, 0},
    OperatorRule{"ReverseSequence", shape_as_input, movement, 0},
    OperatorRule{"Shape", shape_shape, view, 0},
    OperatorRule{"Size", shape_size, view, 0},
    OperatorRule{"Slice", shape_slice, movement, 0},
    OperatorRule{"SpaceToDepth", shape_space_to_depth, movement, 0},
    OperatorRule{"Split", shape_split, split, 0},
    OperatorRule{"Squeeze", shape_squeeze, view, 0},
    OperatorRule{"Tile", shape_tile, movement, 0},
    OperatorRule{"Transpose", shape_transpose, transpose, 0},
    OperatorRule{"Trilu", shape_as_input, movement, 0},
    OperatorRule{"Unsqueeze", shape_unsqueeze, view, 0},
};

}  // namespace

std::optional<TurnedMatrix> turned_matrix(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.op != "Transpose" || !graph.tensor(node.inputs[0]).shape) {
    return std::nullopt;
  }
  const Operands operands(graph, node);
  const std::vector<std::size_t> axes = moved_axes(operands);
  const auto rows = std::is_sorted_until(axes.begin(), axes.end());
  if (rows == axes.end() || !std::is_sorted(rows, axes.end()) || axes.back() > axes.front()) {
    return std::nullopt;
  }
  TurnedMatrix matrix{1, 1};
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    const auto side = static_cast<std::uint64_t>(operands.shape(0)[*axis]);
    (axis < rows ? matrix.columns : matrix.rows) *= side;
  }
  return matrix;
}

std::vector<std::size_t> transposed_axes(const Operands& node) {
  const std::size_t rank = node.rank(0);
  const std::vector<std::int64_t> list = node.integers("perm");
  std::vector<std::size_t> axes;
  if (list.empty()) {
    for (std::size_t i = rank; i > 0; --i) {
      axes.push_back(i - 1);
    }
    return axes;
  }
  std::vector<bool> seen(rank);
  for (const std::int64_t each : list) {
    const std::size_t axis = node.axis(each, rank);
    if (seen[axis]) {
      node.fail("attribute 'perm' has an axis twice");
    }
    seen[axis] = true;
    axes.push_back(axis);
  }
  if (axes.size() != rank) {
    node.fail("attribute 'perm' has " + std::to_string(axes.size()) + " axes for " +
              std::to_string(rank) + " sides");
  }
  return axes;
}

std::vector<std::int64_t> split_parts(const Operands& node, std::int64_t side,
                                      std::size_t outputs) {
  std::vector<std::int64_t> parts = node.has(1) ? node.numbers(1) : node.integers("split");
  if (parts.empty() && outputs > 0) {
    const auto count = static_cast<std::int64_t>(outputs);
    const std::int64_t each = (side + count - 1) / count;
    for (std::int64_t left = side; parts.size() < outputs; left -= parts.back()) {
      parts.push_back(std::min(each, left));
    }
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > side) {
      node.fail("a part of " + std::to_string(part) + " of a side of " + std::to_string(side));
    }
    sum += part;
    if (sum > side) {
      break;
    }
  }
  if (sum != side || parts.size() != outputs) {
    node.fail("a side of " + std::to_string(side) + " does not split into these " +
              std::to_string(outputs) + " parts");
  }
  return parts;
}

std::vector<Cut> cuts_of(const Operands& node) {
  const Shape& shape = node.shape(0);
  const bool by_input = node.has(1);
  const std::vector<std::int64_t> starts = by_input ? node.numbers(1) : node.integers("starts");
  const std::vector<std::int64_t> ends = by_input ? node.numbers(2) : node.integers("ends");
  const std::vector<std::int64_t> axes = node.has(3) ? node.numbers(3) : node.integers("axes");
  const std::vector<std::int64_t> steps =
      node.has(4) ? node.numbers(4) : std::vector<std::int64_t>(starts.size(), 1);
  if (ends.size() != starts.size() || steps.size() != starts.size() ||
      (!axes.empty() && axes.size() != starts.size())) {
    node.fail("starts, ends, axes and steps are not equally many");
  }
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis =
        node.axis(axes.empty() ? static_cast<std::int64_t>(i) : axes[i], shape.size());
    const std::int64_t side = shape[axis];
    const std::int64_t step = steps[i];
    if (step == 0) {
      node.fail("a step of 0");
    }
    const bool back = step < 0;
    const auto place = [&](std::int64_t value, std::int64_t low, std::int64_t high) {
      return std::clamp(value < 0 ? value + side : value, low, high);
    };
    const std::int64_t from = place(starts[i], 0, back ? side - 1 : side);
    const std::int64_t to = place(ends[i], back ? -1 : 0, back ? side - 1 : side);
    const std::int64_t way = back ? from - to : to - from;
    // The least number has no opposite.
    const std::int64_t pace =
        back ? -(std::max(step, -std::numeric_limits<std::int64_t>::max())) : step;
    cuts.push_back({axis, from, step, way <= 0 ? 0 : (way - 1) / pace + 1});
  }
  return cuts;
}

std::pair<std::size_t, std::size_t> shape_range(const Operands& node) {
  const auto rank = static_cast<std::int64_t>(node.rank(0));
  const auto place = [rank](std::int64_t value) {
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank));
  };
  const std::size_t begin = place(node.integer("start", 0));
  return {begin, std::max(begin, place(node.integer("end", rank)))};
}

std::span<const OperatorRule> layout_rules() {
  return layout_list;
}

}  // namespace tessera::onnx
