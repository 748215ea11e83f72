// Images of another size: Resize, and Upsample before opset 10.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "model_file.hpp"
#include "operators.hpp"

namespace tessera::onnx {
namespace {

// In the numbers of the scales, as ONNX's own shapes: 10 times 0.7 are 7 in fp32.
std::int64_t scaled(const Operands& node, std::int64_t side, double scale) {
  const auto result =
      static_cast<double>(std::floor(static_cast<float>(side) * static_cast<float>(scale)));
  if (!(scale > 0) || !(result <= static_cast<double>(most_elements))) {
    node.fail("a side of " + std::to_string(side) + " cannot be scaled by that factor");
  }
  return static_cast<std::int64_t>(result);
}

std::vector<double> scales_of(const Operands& node, std::size_t at) {
  const Values* const values = node.values(at);
  if (values == nullptr) {
    throw NotKnown{"the scales '" + node.needed(at).name + "' are not known"};
  }
  std::vector<double> scales;
  for (std::size_t i = 0; i < values->size(); ++i) {
    scales.push_back(values->as_real(i));
  }
  return scales;
}

void set_scaled(Operands& node, const std::vector<double>& scales,
                const std::vector<std::size_t>& axes) {
  Shape shape = node.shape(0);
  if (scales.size() != axes.size()) {
    node.fail(std::to_string(scales.size()) + " scales for " + std::to_string(axes.size()) +
              " sides");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[axes[i]] = scaled(node, shape[axes[i]], scales[i]);
  }
  node.set(0, node.type(0), shape);
}

// Scales stand in input 1 (opset 10) or 2, sizes in 3; an empty tensor is one left out.
void shape_resize(Operands& node) {
  Shape shape = node.shape(0);
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  const std::vector<std::int64_t> some = node.integers("axes");
  if (!some.empty()) {
    axes.clear();
    for (const std::int64_t each : some) {
      axes.push_back(node.axis(each, shape.size()));
    }
  }
  const std::size_t scales = node.version() < 11 ? 1 : 2;
  const bool by_size = node.has(3) && !(node.needed(3).shape && node.needed(3).elements() == 0);
  if (!by_size) {
    set_scaled(node, scales_of(node, scales), axes);
    return;
  }
  std::vector<std::int64_t> sizes = node.numbers(3);
  if (sizes.size() != axes.size()) {
    node.fail(std::to_string(sizes.size()) + " sizes for " + std::to_string(axes.size()) +
              " sides");
  }
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  double factor = policy == "not_larger" ? std::numeric_limits<double>::max() : 0;
  for (std::size_t i = 0; i < axes.size() && policy != "stretch"; ++i) {
    const double own = static_cast<double>(sizes[i]) /
                       static_cast<double>(std::max<std::int64_t>(1, shape[axes[i]]));
    factor = policy == "not_larger" ? std::min(factor, own) : std::max(factor, own);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double kept = std::round(static_cast<double>(shape[axes[i]]) * factor);
    if (policy != "stretch" && !(kept >= 0 && kept <= static_cast<double>(most_elements))) {
      node.fail("sizes that no scale gives");
    }
    shape[axes[i]] = policy == "stretch" ? sizes[i] : static_cast<std::int64_t>(kept);
  }
  node.set(0, node.type(0), shape);
}

void shape_upsample(Operands& node) {
  std::vector<std::size_t> axes(node.rank(0));
  std::iota(axes.begin(), axes.end(), 0);
  std::vector<double> scales;
  const auto found = node.node().attributes.find("scales");
  if (found != node.node().attributes.end()) {
    const auto* const list = std::get_if<std::vector<double>>(&found->second);
    if (list == nullptr) {
      node.fail("attribute 'scales' should be a list of numbers");
    }
    scales = *list;
  } else {
    scales = scales_of(node, 1);
  }
  set_scaled(node, scales, axes);
}

// Nearest copies; linear takes two products and a sum a side, cubic four and three.
Work resize(const Operands& node, std::uint64_t) {
  const std::string mode = node.text("mode", "nearest");
  const std::uint64_t elements = elements_of(node.output_shape(0));
  std::uint64_t sides = 0;
  for (std::size_t i = 0; i < node.rank(0); ++i) {
    sides += node.shape(0)[i] != node.output_shape(0)[i] ? 1 : 0;
  }
  if (mode == "nearest" || sides == 0) {
    return Movement{elements};
  }
  return ElementWise{false, elements, sides * (mode == "cubic" ? 7 : 3)};
}

constexpr std::array resize_list{
    OperatorRule{"Resize", shape_resize, resize, 0},
    OperatorRule{"Upsample", shape_upsample, resize, 0},
};

}  // namespace

std::span<const OperatorRule> resize_rules() {
  return resize_list;
}

}  // namespace tessera::onnx
