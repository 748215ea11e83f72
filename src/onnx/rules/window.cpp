// Operators with a window that moves over images [batch, channels, sides ...].
#include "rules/window.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "operators.hpp"

namespace tessera::onnx {
namespace {

std::size_t spatial_sides(const Operands& node, const Shape& image) {
  if (image.size() < 3) {
    node.fail("an image of the shape " + to_string(image) +
              "; it should have batch, channels and at least one side");
  }
  return image.size() - 2;
}

// Positions of the window along each side, by explicit or automatic padding.
Shape positions(const Operands& node, const Shape& image, Window& window) {
  const std::size_t sides = window.kernel.size();
  const std::string automatic = node.text("auto_pad", "NOTSET");
  const bool round_up = node.flag("ceil_mode");
  Shape output;
  for (std::size_t i = 0; i < sides; ++i) {
    const std::int64_t side = image[i + 2];
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t stride = window.strides[i];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t places = (side + stride - 1) / stride;
      const std::int64_t pad = std::max<std::int64_t>(0, (places - 1) * stride + reach - side);
      const std::int64_t less = pad / 2;
      window.pads[i] = automatic == "SAME_UPPER" ? less : pad - less;
      window.pads[i + sides] = pad - window.pads[i];
      output.push_back(places);
      continue;
    }
    if (automatic == "VALID") {
      window.pads[i] = window.pads[i + sides] = 0;
    }
    const std::int64_t room = side + window.pads[i] + window.pads[i + sides] - reach;
    if (room < 0) {
      node.fail("a window that reaches over " + std::to_string(reach) + " on a side of " +
                std::to_string(side) + " with padding");
    }
    std::int64_t places = (room + (round_up ? stride - 1 : 0)) / stride + 1;
    // A window that would begin in the padding behind is none (ONNX, MaxPool: ceil_mode).
    if (round_up && (places - 1) * stride >= side + window.pads[i]) {
      --places;
    }
    output.push_back(places);
  }
  return output;
}

struct ConvolutionSides {
  Window window;
  std::int64_t groups;
  Shape output;  // of the whole tensor
};

ConvolutionSides convolution_sides(const Operands& node, std::size_t input, std::size_t weight) {
  const Shape& image = node.shape(input);
  const Shape& filter = node.shape(weight);
  const std::size_t sides = spatial_sides(node, image);
  if (filter.size() != image.size()) {
    node.fail("an image of the shape " + to_string(image) + " and weights of " + to_string(filter));
  }
  ConvolutionSides result;
  result.groups = node.integer("group", 1);
  if (result.groups < 1 || image[1] % result.groups != 0 || image[1] / result.groups != filter[1] ||
      filter[0] % result.groups != 0) {
    node.fail("an image of the shape " + to_string(image) + " and weights of " + to_string(filter) +
              " in " + std::to_string(result.groups) + " groups");
  }
  Shape kernel(filter.begin() + 2, filter.end());
  result.window = read_window(node, sides, kernel);
  result.output = {image[0], filter[0]};
  const Shape places = positions(node, image, result.window);
  result.output.insert(result.output.end(), places.begin(), places.end());
  return result;
}

Work convolution_of(const Operands& node, std::size_t input, std::size_t weight) {
  const ConvolutionSides sides = convolution_sides(node, input, weight);
  const Shape& image = node.shape(input);
  Convolution work;
  work.batch = count(image[0]);
  work.groups = count(sides.groups);
  work.input_channels = count(image[1]);
  work.output_channels = count(sides.output[1]);
  work.input.assign(image.begin() + 2, image.end());
  work.output.assign(sides.output.begin() + 2, sides.output.end());
  work.kernel = sides.window.kernel;
  work.strides = sides.window.strides;
  work.dilations = sides.window.dilations;
  work.pads = sides.window.pads;
  node.times(
      {2, elements_of(sides.output), work.input_channels / work.groups, elements_of(work.kernel)});
  return work;
}

void shape_conv(Operands& node) {
  node.set(0, node.type(0), convolution_sides(node, 0, 1).output);
}
void shape_conv_integer(Operands& node) {
  node.set(0, ElementType::int32, convolution_sides(node, 0, 1).output);
}
// x, scale, zero point, w, scale, zero point, scale, zero point, bias
void shape_quantized_conv(Operands& node) {
  node.set(0, node.has(7) ? node.type(7) : node.type(0), convolution_sides(node, 0, 3).output);
}
Work conv(const Operands& node, std::uint64_t) {
  return convolution_of(node, 0, 1);
}
Work quantized_conv(const Operands& node, std::uint64_t) {
  return convolution_of(node, 0, 3);
}

// Windows whose elements each lie where an offset says, between elements of the image.
void shape_deformed_conv(Operands& node) {
  const ConvolutionSides sides = convolution_sides(node, 0, 1);
  const Shape& offsets = node.shape(2);
  const std::int64_t groups = node.integer("offset_group", 1);
  Shape expected{sides.output[0], 0};
  expected.insert(expected.end(), sides.output.begin() + 2, sides.output.end());
  const auto axes = static_cast<std::int64_t>(expected.size()) - 2;
  const std::uint64_t elements = elements_of(sides.window.kernel);
  if (groups < 1 || node.shape(0)[1] % groups != 0) {
    node.fail("an image of the shape " + to_string(node.shape(0)) + " and " +
              std::to_string(groups) + " groups of offsets");
  }
  expected[1] = static_cast<std::int64_t>(node.times({count(groups), count(axes), elements}));
  if (offsets != expected) {
    node.fail("offsets of the shape " + to_string(offsets) + "; it should be " +
              to_string(expected));
  }
  node.note("its interpolation between elements of the image is left out");
  node.set(0, node.type(0), sides.output);
}

// Weights [input channels, output channels of a group, kernel ...].
void shape_transposed(Operands& node) {
  const Shape& image = node.shape(0);
  const Shape& filter = node.shape(1);
  const std::size_t sides = spatial_sides(node, image);
  const std::int64_t groups = node.integer("group", 1);
  if (filter.size() != image.size() || filter[0] != image[1] || groups < 1 ||
      image[1] % groups != 0) {
    node.fail("an image of the shape " + to_string(image) + " and weights of " + to_string(filter) +
              " in " + std::to_string(groups) + " groups");
  }
  if (groups > (std::int64_t{1} << 31U) || filter[1] > (std::int64_t{1} << 31U)) {
    node.fail("more channels than 2^31");
  }
  const Window window = read_window(node, sides, Shape(filter.begin() + 2, filter.end()));
  const Shape more = node.window("output_padding", sides, 0, 0);
  const Shape given = node.integers("output_shape");
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (!given.empty() && given.size() != sides) {
    node.fail("attribute 'output_shape' should be " + std::to_string(sides) + " numbers");
  }
  Shape output{image[0], filter[1] * groups};
  for (std::size_t i = 0; i < sides; ++i) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t side = image[i + 2];
    if (side > (std::int64_t{1} << 31U)) {
      node.fail("a side longer than 2^31");
    }
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    const std::int64_t pads = automatic == "VALID" ? 0 : window.pads[i] + window.pads[i + sides];
    output.push_back(!given.empty() ? given[i]
                     : same         ? side * window.strides[i]
                                    : window.strides[i] * (side - 1) + more[i] + reach - pads);
  }
  node.set(0, node.type(0), output);
}

Work transposed(const Operands& node, std::uint64_t) {
  const Shape& image = node.shape(0);
  const Shape& filter = node.shape(1);
  const Shape& output = node.output_shape(0);
  Convolution work;
  work.transposed = true;
  work.batch = count(image[0]);
  work.groups = count(node.integer("group", 1));
  work.input_channels = count(image[1]);
  work.output_channels = count(output[1]);
  work.input.assign(image.begin() + 2, image.end());
  work.output.assign(output.begin() + 2, output.end());
  const Window window =
      read_window(node, image.size() - 2, Shape(filter.begin() + 2, filter.end()));
  work.kernel = window.kernel;
  work.strides = window.strides;
  work.dilations = window.dilations;
  work.pads = window.pads;
  node.times({2, elements_of(image), count(filter[1]), elements_of(work.kernel)});
  return work;
}

Window pool_window(const Operands& node) {
  const std::size_t sides = spatial_sides(node, node.shape(0));
  const Shape kernel = node.window("kernel_shape", sides, 0, 1);
  if (kernel.front() == 0) {
    node.fail("has no attribute 'kernel_shape'");
  }
  return read_window(node, sides, kernel);
}

void shape_pool(Operands& node) {
  Window window = pool_window(node);
  const Shape& image = node.shape(0);
  Shape output{image[0], image[1]};
  const Shape places = positions(node, image, window);
  output.insert(output.end(), places.begin(), places.end());
  node.set(0, node.type(0), output);
  node.set(1, ElementType::int64, output);  // where each maximum was
}

// Positions on a side of an image, so long, that windows at `places` meet. Where windows leave gaps
// on a side that is too long to be walked along, what lies between the first and the last counts.
std::uint64_t met_on_side(const Window& window, std::size_t axis, std::int64_t side,
                          std::int64_t places) {
  constexpr std::int64_t longest_walk = 1 << 22;
  const std::int64_t kernel = window.kernel[axis];
  const std::int64_t stride = window.strides[axis];
  const std::int64_t dilation = window.dilations[axis];
  const std::int64_t first = -window.pads[axis];
  const std::int64_t end = first + (places - 1) * stride + (kernel - 1) * dilation + 1;
  const bool leaves_gaps = dilation > 1 || stride > kernel;
  if (places < 1 || side < 1) {
    return 0;
  }
  if (!leaves_gaps || side > longest_walk || kernel > longest_walk / places) {
    return count(std::clamp<std::int64_t>(end, 0, side));
  }
  std::vector<bool> met(count(side));
  for (std::int64_t place = 0; place < places; ++place) {
    for (std::int64_t step = 0; step < kernel; ++step) {
      const std::int64_t at = first + place * stride + step * dilation;
      if (at >= 0 && at < side) {
        met[count(at)] = true;
      }
    }
  }
  return static_cast<std::uint64_t>(std::count(met.begin(), met.end(), true));
}

Work pool(const Operands& node, std::uint64_t flops) {
  const Window window = pool_window(node);
  const Pooling work{elements_of(node.output_shape(0)), elements_of(window.kernel), flops};
  node.times({work.outputs, work.window, flops});
  return work;
}

void shape_quantized_window(Operands& node) {
  if (node.flag("channels_last")) {
    throw NotKnown{"images with channels last are not followed"};
  }
  shape_pool(node);
}

void shape_global_pool(Operands& node) {
  Shape output = node.shape(0);
  spatial_sides(node, output);
  std::fill(output.begin() + 2, output.end(), 1);
  node.set(0, node.type(0), output);
}

Work global_pool(const Operands& node, std::uint64_t flops) {
  const Shape& image = node.shape(0);
  return Pooling{elements_of(node.output_shape(0)),
                 elements_of(Shape(image.begin() + 2, image.end())), flops};
}

// To the sides of the image before the pooling, or as given.
void shape_unpool(Operands& node) {
  const Window window = pool_window(node);
  const Shape& image = node.shape(0);
  Shape output{image[0], image[1]};
  if (node.has(2)) {
    node.set(0, node.type(0), node.numbers(2));
    return;
  }
  const std::size_t sides = window.kernel.size();
  for (std::size_t i = 0; i < sides; ++i) {
    if (image[i + 2] > (std::int64_t{1} << 31U)) {
      node.fail("a side longer than 2^31");
    }
    output.push_back((image[i + 2] - 1) * window.strides[i] - window.pads[i] -
                     window.pads[i + sides] + window.kernel[i]);
  }
  node.set(0, node.type(0), output);
}

// Regions [regions, 5] or [regions, 4] of images.
void shape_regions(Operands& node) {
  const Shape& image = node.shape(0);
  const Shape& regions = node.shape(1);
  if (image.size() != 4 || regions.size() != 2) {
    node.fail("an image of the shape " + to_string(image) + " and regions of " +
              to_string(regions));
  }
  std::int64_t height = node.integer("output_height", 1);
  std::int64_t width = node.integer("output_width", 1);
  if (node.has_attribute("pooled_shape")) {
    const Shape pooled = node.window("pooled_shape", 2, 1, 1);
    height = pooled[0];
    width = pooled[1];
  }
  node.set(0, node.type(0), {regions[0], image[1], height, width});
}

// Four neighbours, weighted, for each of the samples of a bin; without a number of samples, as many
// as a bin has elements when the region is the image.
Work regions(const Operands& node, std::uint64_t flops) {
  const Shape& image = node.shape(0);
  const Shape& output = node.output_shape(0);
  const std::int64_t given = node.integer("sampling_ratio", 0);
  std::uint64_t samples = count(given) * count(given);
  if (given <= 0 || given > 4096) {
    const std::uint64_t bins = std::max<std::uint64_t>(1, count(output[2]) * count(output[3]));
    samples = std::max<std::uint64_t>(1, count(image[2]) * count(image[3]) / bins);
  }
  const Pooling work{elements_of(output), samples, flops};
  node.times({work.outputs, work.window, flops});
  return work;
}

// Columns [batch, channels * kernel, positions] added up to an image.
void shape_columns_to_image(Operands& node) {
  const Shape& columns = node.shape(0);
  const auto& image = node.numbers(1);
  const auto& block = node.numbers(2);
  std::int64_t elements = 1;
  for (const std::int64_t side : block) {
    if (side < 1 || side > (std::int64_t{1} << 31U) || elements > (std::int64_t{1} << 31U)) {
      node.fail("a block of the shape " + to_string(block));
    }
    elements *= side;
  }
  if (columns.size() != 3 || columns[1] % elements != 0) {
    node.fail("columns of the shape " + to_string(columns) + " and a block of " + to_string(block));
  }
  Shape output{columns[0], columns[1] / elements};
  output.insert(output.end(), image.begin(), image.end());
  node.set(0, node.type(0), output);
}

Work add_columns(const Operands& node, std::uint64_t flops) {
  return Other{node.times({elements_of(node.shape(0)), flops})};
}

constexpr std::array window_list{
    OperatorRule{"AveragePool", shape_pool, pool, 1},
    OperatorRule{"Col2Im", shape_columns_to_image, add_columns, 1},
    OperatorRule{"Conv", shape_conv, conv, 0},
    OperatorRule{"ConvInteger", shape_conv_integer, conv, 0},
    OperatorRule{"ConvTranspose", shape_transposed, transposed, 0},
    OperatorRule{"DeformConv", shape_deformed_conv, conv, 0},
    OperatorRule{"GlobalAveragePool", shape_global_pool, global_pool, 1},
    // |x|^p, added up
    OperatorRule{"GlobalLpPool", shape_global_pool, global_pool, 3},
    OperatorRule{"GlobalMaxPool", shape_global_pool, global_pool, 1},
    OperatorRule{"LpPool", shape_pool, pool, 3},
    OperatorRule{"MaxPool", shape_pool, pool, 1},
    OperatorRule{"MaxRoiPool", shape_regions, regions, 1},
    OperatorRule{"MaxUnpool", shape_unpool, movement, 0},
    OperatorRule{"QLinearConv", shape_quantized_conv, quantized_conv, 0},
    // Four products and three sums, one to add it up.
    OperatorRule{"RoiAlign", shape_regions, regions, 8},
    OperatorRule{"com.microsoft.FusedConv", shape_conv, conv, 0},
    OperatorRule{"com.microsoft.QLinearAveragePool", shape_quantized_window, pool, 1},
};

}  // namespace

Window read_window(const Operands& node, std::size_t sides, const Shape& kernel) {
  Window window;
  window.kernel = kernel;
  for (const std::int64_t side : kernel) {
    if (side < 1 || side > (std::int64_t{1} << 31U)) {
      node.fail("a window of " + to_string(kernel));
    }
  }
  window.strides = node.window("strides", sides, 1, 1);
  window.dilations = node.window("dilations", sides, 1, 1);
  window.pads = node.window("pads", 2 * sides, 0, 0);
  return window;
}

bool moves_a_window(const Node& node) {
  return node.domain.empty() &&
         (node.op == "AveragePool" || node.op == "LpPool" || node.op == "MaxPool");
}

std::uint64_t elements_under_windows(const Operands& node) {
  const Shape& image = node.shape(0);
  Window window = pool_window(node);
  const Shape places = positions(node, image, window);
  std::uint64_t elements = count(image[0]) * count(image[1]);
  for (std::size_t axis = 0; axis < places.size(); ++axis) {
    elements *= met_on_side(window, axis, image[axis + 2], places[axis]);
  }
  return elements;
}

std::span<const OperatorRule> window_rules() {
  return window_list;
}

}  // namespace tessera::onnx
