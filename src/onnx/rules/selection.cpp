// Operators that take, put or order elements by index.
#include <algorithm>
#include <array>
#include <bit>

#include "operators.hpp"

namespace tessera::onnx {
namespace {

constexpr const char* largest = "its output size depends on data: the largest was taken";

void shape_gather(Operands& node) {
  Shape shape = node.shape(0);
  const Shape& indices = node.shape(1);
  const auto axis = static_cast<std::ptrdiff_t>(node.axis(node.integer("axis", 0), shape.size()));
  const auto place = shape.erase(shape.begin() + axis);
  shape.insert(place, indices.begin(), indices.end());
  node.set(0, node.type(0), shape);
}

// Rows are what stands behind the axis.
Work gather(const Operands& node, std::uint64_t) {
  const Shape& shape = node.shape(0);
  const std::size_t axis = node.axis(node.integer("axis", 0), shape.size());
  const auto row = shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
  const std::uint64_t elements = elements_of(Shape(row, shape.end()));
  const std::uint64_t outputs = elements_of(node.output_shape(0));
  return Lookup{elements == 0 ? 0 : outputs / elements, elements};
}

void shape_by_index(Operands& node) {
  if (node.shape(1).size() != node.shape(0).size()) {
    node.fail("indices of the shape " + to_string(node.shape(1)) + " for a tensor of " +
              to_string(node.shape(0)));
  }
  node.set(0, node.type(0), node.shape(1));
}

void shape_gather_nd(Operands& node) {
  const Shape& data = node.shape(0);
  const Shape& indices = node.shape(1);
  const std::int64_t batch = node.integer("batch_dims", 0);
  if (data.empty() || indices.empty() || batch < 0 || indices.back() < 1 ||
      indices.back() > static_cast<std::int64_t>(data.size()) - batch ||
      batch >= static_cast<std::int64_t>(indices.size())) {
    node.fail("indices of the shape " + to_string(indices) + " for a tensor of " + to_string(data));
  }
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + indices.back(), data.end());
  node.set(0, node.type(0), shape);
}

// One element at a time.
Work single_elements(const Operands& node, std::uint64_t) {
  return Lookup{elements_of(node.output_shape(0)), 1};
}

// All data is copied and the updates written over it.
Work scatter(const Operands& node, std::uint64_t) {
  const std::uint64_t updates = elements_of(node.shape(2));
  const bool adds = node.text("reduction", "none") != "none";
  return adds ? Work(ElementWise{false, updates, 1})
              : Work(Movement{elements_of(node.output_shape(0))});
}

void shape_compress(Operands& node) {
  Shape shape = node.shape(0);
  const Values* const chosen = node.values(1);
  std::int64_t taken = node.shape(1).empty() ? 1 : node.shape(1).front();
  if (chosen != nullptr) {
    taken = 0;
    for (std::size_t i = 0; i < chosen->size(); ++i) {
      taken += chosen->as_real(i) != 0 ? 1 : 0;
    }
  } else {
    node.note(largest);
  }
  if (!node.has_attribute("axis")) {
    node.set(0, node.type(0), {taken});
    return;
  }
  shape[node.axis(node.integer("axis"), shape.size())] = taken;
  node.set(0, node.type(0), shape);
}

void shape_non_zero(Operands& node) {
  const Values* const values = node.values(0);
  auto found = static_cast<std::int64_t>(elements_of(node.shape(0)));
  if (values != nullptr) {
    found = 0;
    for (std::size_t i = 0; i < values->size(); ++i) {
      found += values->as_real(i) != 0 ? 1 : 0;
    }
  } else {
    node.note(largest);
  }
  const auto rank = static_cast<std::int64_t>(node.rank(0));
  node.set(0, ElementType::int64, {std::max<std::int64_t>(1, rank), found});
}

void shape_one_hot(Operands& node) {
  Shape shape = node.shape(0);
  std::int64_t axis = node.integer("axis", -1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis < -rank - 1 || axis > rank) {
    node.fail("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(rank + 1) +
              " sides");
  }
  axis += axis < 0 ? rank + 1 : 0;
  const double depth = node.real(1);
  if (!(depth >= 0 && depth < 1e14)) {
    node.fail("a depth that is no count");
  }
  shape.insert(shape.begin() + axis, static_cast<std::int64_t>(depth));
  node.set(0, node.type(2), shape);
}

void shape_top_k(Operands& node) {
  Shape shape = node.shape(0);
  const std::size_t axis = node.axis(node.integer("axis", -1), shape.size());
  const std::int64_t k = node.has(1) ? node.number(1) : node.integer("k");
  if (k < 0 || k > shape[axis]) {
    node.fail("the " + std::to_string(k) + " largest of " + std::to_string(shape[axis]));
  }
  shape[axis] = k;
  node.set(0, node.type(0), shape);
  node.set(1, ElementType::int64, shape);
}

// A heap of k: n log2(k) comparisons.
Work top_k(const Operands& node, std::uint64_t) {
  const std::size_t axis = node.axis(node.integer("axis", -1), node.rank(0));
  const auto k = static_cast<std::uint64_t>(node.output_shape(0)[axis]);
  const auto levels = static_cast<std::uint64_t>(std::bit_width(k));
  return Other{node.times({elements_of(node.shape(0)), levels})};
}

void shape_unique(Operands& node) {
  Shape shape = node.shape(0);
  std::int64_t count = static_cast<std::int64_t>(elements_of(shape));
  if (node.has_attribute("axis")) {
    const std::size_t axis = node.axis(node.integer("axis"), shape.size());
    count = shape[axis];
  } else {
    shape = {count};
  }
  node.note(largest);
  node.set(0, node.type(0), shape);
  for (std::size_t at = 1; at < node.outputs(); ++at) {
    node.set(at, ElementType::int64, {count});
  }
}

// A sort: n log2(n) comparisons.
Work sort(const Operands& node, std::uint64_t) {
  const std::uint64_t elements = elements_of(node.shape(0));
  return Other{node.times({elements, static_cast<std::uint64_t>(std::bit_width(elements))})};
}

// Boxes [batch, boxes, 4], scores [batch, classes, boxes]; as many as are allowed for each class.
void shape_non_max_suppression(Operands& node) {
  const Shape& scores = node.shape(1);
  if (scores.size() != 3) {
    node.fail("scores of the shape " + to_string(scores));
  }
  std::int64_t most = 0;
  if (node.has(2)) {
    most = std::clamp<std::int64_t>(node.number(2), 0, scores[2]);
  }
  node.note(largest);
  const auto all = static_cast<std::int64_t>(
      node.times({static_cast<std::uint64_t>(scores[0]), static_cast<std::uint64_t>(scores[1]),
                  static_cast<std::uint64_t>(most)}));
  node.set(0, ElementType::int64, {all, 3});
}

// Each box against those that were chosen: an overlap of 13 operations.
Work non_max_suppression(const Operands& node, std::uint64_t flops) {
  const Shape& scores = node.shape(1);
  const auto chosen = static_cast<std::uint64_t>(node.output_shape(0)[0]);
  return Other{node.times({chosen, static_cast<std::uint64_t>(scores[2]), flops})};
}

Work one_hot(const Operands& node, std::uint64_t) {
  return Movement{elements_of(node.output_shape(0))};
}

constexpr std::array selection_list{
    OperatorRule{"Compress", shape_compress, movement, 0},
    OperatorRule{"CumProd", shape_as_input, element_wise, 1},
    OperatorRule{"CumSum", shape_as_input, element_wise, 1},
    OperatorRule{"Gather", shape_gather, gather, 0},
    OperatorRule{"GatherElements", shape_by_index, single_elements, 0},
    OperatorRule{"GatherND", shape_gather_nd, single_elements, 0},
    OperatorRule{"NonMaxSuppression", shape_non_max_suppression, non_max_suppression, 13},
    OperatorRule{"NonZero", shape_non_zero, traffic, 0},
    OperatorRule{"OneHot", shape_one_hot, one_hot, 0},
    OperatorRule{"Scatter", shape_as_input, scatter, 0},
    OperatorRule{"ScatterElements", shape_as_input, scatter, 0},
    OperatorRule{"ScatterND", shape_as_input, scatter, 0},
    OperatorRule{"TopK", shape_top_k, top_k, 0},
    OperatorRule{"Unique", shape_unique, sort, 0},
};

}  // namespace

std::span<const OperatorRule> selection_rules() {
  return selection_list;
}

}  // namespace tessera::onnx
