#include "evaluate/places.hpp"

#include <functional>
#include <map>
#include <string_view>

#include "indices.hpp"
#include "layout.hpp"

namespace tessera::onnx {
namespace {

using Result = std::optional<Values>;
using Place = std::vector<std::size_t>;

void append(Values& to, const Values& from, std::size_t at) {
  if (from.real) {
    to.reals.push_back(from.reals[at]);
  } else {
    to.integers.push_back(from.integers[at]);
  }
}

// Each element of the output from where `source` says in the input.
Result moved(const Operands& node, const std::function<Place(const Place&)>& source) {
  const Values& input = *node.values(0);
  const Shape& shape = node.output_shape(0);
  const std::vector<std::size_t> strides = strides_of(node.shape(0));
  Values result;
  result.real = input.real;
  const std::size_t count = elements_of(shape);
  for (std::size_t i = 0; i < count; ++i) {
    const Place from = source(place_of(i, shape));
    std::size_t at = 0;
    for (std::size_t side = 0; side < from.size(); ++side) {
      at += from[side] * strides[side];
    }
    append(result, input, at);
  }
  return result;
}

Result copied(const Operands& node) {
  return *node.values(0);
}

Result transposed(const Operands& node) {
  const std::vector<std::size_t> axes = transposed_axes(node);
  return moved(node, [&axes](const Place& to) {
    Place from(to.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      from[axes[i]] = to[i];
    }
    return from;
  });
}

Result sliced(const Operands& node) {
  const std::vector<Cut> cuts = cuts_of(node);
  return moved(node, [&cuts](const Place& to) {
    Place from = to;
    for (const Cut& cut : cuts) {
      from[cut.axis] =
          static_cast<std::size_t>(cut.from + cut.step * static_cast<std::int64_t>(to[cut.axis]));
    }
    return from;
  });
}

Result expanded(const Operands& node) {
  const Values& input = *node.values(0);
  const BroadcastIndex from(node.shape(0), node.output_shape(0));
  Values result;
  result.real = input.real;
  const std::size_t count = elements_of(node.output_shape(0));
  for (std::size_t i = 0; i < count; ++i) {
    append(result, input, from.at(i));
  }
  return result;
}

Result tiled(const Operands& node) {
  const Shape& shape = node.shape(0);
  return moved(node, [&shape](const Place& to) {
    Place from = to;
    for (std::size_t i = 0; i < to.size(); ++i) {
      from[i] = to[i] % static_cast<std::size_t>(shape[i]);
    }
    return from;
  });
}

// Negative indices count from the end; one outside has no value.
Result gathered(const Operands& node) {
  const Shape& shape = node.shape(0);
  const std::size_t axis = node.axis(node.integer("axis", 0), shape.size());
  const Values& indices = *node.values(1);
  if (indices.real) {
    return std::nullopt;
  }
  const std::int64_t side = shape[axis];
  for (const std::int64_t index : indices.integers) {
    if (index < -side || index >= side) {
      node.fail("index " + std::to_string(index) + " of a side of " + std::to_string(side));
    }
  }
  const std::size_t rank = node.rank(1);
  const std::vector<std::size_t> strides = strides_of(node.shape(1));
  return moved(node, [&](const Place& to) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      at += to[axis + i] * strides[i];
    }
    const std::int64_t index = indices.integers[at];
    Place from(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(axis));
    from.push_back(static_cast<std::size_t>(index < 0 ? index + side : index));
    from.insert(from.end(), to.begin() + static_cast<std::ptrdiff_t>(axis + rank), to.end());
    return from;
  });
}

Result concatenated(const Operands& node) {
  const Shape& shape = node.output_shape(0);
  const std::size_t axis = node.axis(node.integer("axis", 1), shape.size());
  Values result;
  result.real = node.values(0)->real;
  const std::size_t count = elements_of(shape);
  for (std::size_t i = 0; i < count; ++i) {
    Place place = place_of(i, shape);
    std::size_t input = 0;
    while (place[axis] >= static_cast<std::size_t>(node.shape(input)[axis])) {
      place[axis] -= static_cast<std::size_t>(node.shape(input)[axis]);
      ++input;
    }
    if (node.values(input)->real != result.real) {
      return std::nullopt;
    }
    const std::vector<std::size_t> strides = strides_of(node.shape(input));
    std::size_t at = 0;
    for (std::size_t side = 0; side < place.size(); ++side) {
      at += place[side] * strides[side];
    }
    append(result, *node.values(input), at);
  }
  return result;
}

Result filled(const Operands& node) {
  Values result;
  result.real = is_real(node.output(0).type);
  const std::size_t count = elements_of(node.output_shape(0));
  const auto found = node.node().attributes.find("value");
  if (result.real) {
    const double* const value =
        found == node.node().attributes.end() ? nullptr : std::get_if<double>(&found->second);
    result.reals.assign(count, value == nullptr ? 0 : *value);
  } else {
    const std::int64_t* const value =
        found == node.node().attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    result.integers.assign(count, value == nullptr ? 0 : *value);
  }
  return result;
}

Result ranged(const Operands& node) {
  Values result;
  result.real = node.values(0)->real;
  const double start = node.real(0);
  const double delta = node.real(2);
  const std::size_t count = elements_of(node.output_shape(0));
  for (std::size_t i = 0; i < count; ++i) {
    const double value = start + delta * static_cast<double>(i);
    if (result.real) {
      result.reals.push_back(value);
    } else if (value > -9e15 && value < 9e15) {
      result.integers.push_back(static_cast<std::int64_t>(value));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

Result non_zero(const Operands& node) {
  const Values& input = *node.values(0);
  const Shape& shape = node.shape(0);
  std::vector<Place> places;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input.as_real(i) != 0) {
      places.push_back(place_of(i, shape));
    }
  }
  Values result;
  for (std::size_t side = 0; side < shape.size(); ++side) {
    for (const Place& place : places) {
      result.integers.push_back(static_cast<std::int64_t>(place[side]));
    }
  }
  if (shape.empty()) {
    result.integers.assign(places.size(), 0);
  }
  return result;
}

const std::map<std::string_view, Result (*)(const Operands&)>& movers() {
  static const std::map<std::string_view, Result (*)(const Operands&)> table{
      {"Concat", concatenated},  {"ConstantOfShape", filled}, {"Expand", expanded},
      {"Flatten", copied},       {"Gather", gathered},        {"Identity", copied},
      {"NonZero", non_zero},     {"Range", ranged},           {"Reshape", copied},
      {"Slice", sliced},         {"Squeeze", copied},         {"Tile", tiled},
      {"Transpose", transposed}, {"Unsqueeze", copied}};
  return table;
}

}  // namespace

std::optional<Values> evaluate_places(const Operands& node) {
  const auto found = movers().find(node.node().op);
  return found == movers().end() ? std::nullopt : found->second(node);
}

void evaluate_split(const Operands& node, std::vector<std::optional<Values>>& results) {
  const Shape& shape = node.shape(0);
  const Values& input = *node.values(0);
  const std::size_t axis = node.axis(node.integer("axis", 0), shape.size());
  const std::vector<std::int64_t> parts = split_parts(node, shape[axis], results.size());
  for (std::optional<Values>& result : results) {
    result.emplace().real = input.real;
  }
  for (std::size_t i = 0; i < input.size(); ++i) {
    auto along = static_cast<std::int64_t>(place_of(i, shape)[axis]);
    std::size_t part = 0;
    while (along >= parts[part]) {
      along -= parts[part++];
    }
    append(*results[part], input, i);
  }
  for (std::size_t at = 0; at < results.size(); ++at) {
    if (!node.wants(at)) {
      results[at].reset();
    }
  }
}

}  // namespace tessera::onnx
