// Operators that make tensors from little or nothing, signals, grids and texts.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "model_file.hpp"
#include "operators.hpp"

namespace tessera::onnx {
namespace {

ElementType named_type(const Operands& node, const char* name, ElementType otherwise) {
  if (!node.has_attribute(name)) {
    return otherwise;
  }
  const ElementType type = element_type_from(node.integer(name));
  if (type == ElementType::undefined) {
    node.fail(std::string("attribute '") + name + "' is no data type");
  }
  return type;
}

void shape_constant_of_shape(Operands& node) {
  node.set(0, named_type(node, "value_type", ElementType::float32), node.numbers(0));
}

void shape_eye_like(Operands& node) {
  node.set(0, named_type(node, "dtype", node.type(0)), node.shape(0));
}

void shape_random(Operands& node) {
  node.set(0, named_type(node, "dtype", ElementType::float32), node.integers("shape"));
}

void shape_random_like(Operands& node) {
  node.set(0, named_type(node, "dtype", node.type(0)), node.shape(0));
}

void shape_multinomial(Operands& node) {
  const Shape& shape = node.shape(0);
  if (shape.size() != 2) {
    node.fail("an input of the shape " + to_string(shape) + "; it should have two sides");
  }
  node.set(0, named_type(node, "dtype", ElementType::int32),
           {shape[0], node.integer("sample_size", 1)});
}

void shape_range_of(Operands& node) {
  const double start = node.real(0);
  const double limit = node.real(1);
  const double delta = node.real(2);
  const double steps = std::ceil((limit - start) / delta);
  if (!(steps <= static_cast<double>(most_elements))) {
    node.fail("a range of more than 2^48 numbers");
  }
  node.set(0, node.type(0), {steps > 0 ? static_cast<std::int64_t>(steps) : 0});
}

void shape_signal_window(Operands& node) {
  node.set(0, named_type(node, "output_datatype", ElementType::float32), {node.number(0)});
}

void shape_mel(Operands& node) {
  const std::int64_t bins = node.number(0);
  const std::int64_t length = node.number(1);
  if (length < 0) {
    node.fail("a transform of negative length");
  }
  node.set(0, named_type(node, "output_datatype", ElementType::float32), {length / 2 + 1, bins});
}

// [batch, ..., 1 or 2] to [batch, ..., 2]
// An attribute, from operator set 20 on an input.
std::size_t axis_of_transform(const Operands& node, std::size_t rank) {
  if (node.version() < 20) {
    return node.axis(node.integer("axis", 1), rank);
  }
  return node.axis(node.has(2) ? node.number(2) : -2, rank);
}

void shape_dft(Operands& node) {
  Shape shape = node.shape(0);
  if (shape.size() < 2) {
    node.fail("a signal of the shape " + to_string(shape));
  }
  const std::size_t axis = axis_of_transform(node, shape.size());
  if (node.has(1)) {
    shape[axis] = node.number(1);
  }
  if (node.flag("onesided")) {
    shape[axis] = shape[axis] / 2 + 1;
  }
  shape.back() = 2;
  node.set(0, node.type(0), shape);
}

// 5 n log2(n) for a complex transform of n, the usual count of a radix-2 algorithm.
std::uint64_t transform_flops(const Operands& node, std::uint64_t length, std::uint64_t times) {
  return node.times({5, length, static_cast<std::uint64_t>(std::bit_width(length)), times});
}

Work dft(const Operands& node, std::uint64_t) {
  const Shape& shape = node.shape(0);
  const std::size_t axis = axis_of_transform(node, shape.size());
  const std::uint64_t length = count(node.has(1) ? node.number(1) : shape[axis]);
  const std::uint64_t points = elements_of(shape) / std::max<std::uint64_t>(1, count(shape.back()));
  const std::uint64_t others = points / std::max<std::uint64_t>(1, count(shape[axis]));
  return Other{transform_flops(node, length, others)};
}

// Signal [batch, length, 1 or 2], step, window, frame length to [batch, frames, bins, 2].
std::int64_t frame_length(const Operands& node) {
  if (node.has(3)) {
    return node.number(3);
  }
  const Shape& window = node.shape(2);
  return window.empty() ? 0 : window[0];
}

void shape_stft(Operands& node) {
  const Shape& signal = node.shape(0);
  const std::int64_t step = node.number(1);
  const std::int64_t length = frame_length(node);
  if (signal.size() < 2 || step < 1 || length < 1 || length > signal[1]) {
    node.fail("frames of " + std::to_string(length) + " every " + std::to_string(step) +
              " of a signal of the shape " + to_string(signal));
  }
  const std::int64_t frames = (signal[1] - length) / step + 1;
  const std::int64_t bins = node.flag("onesided", true) ? length / 2 + 1 : length;
  node.set(0, node.type(0), {signal[0], frames, bins, 2});
}

Work stft(const Operands& node, std::uint64_t) {
  const Shape& output = node.output_shape(0);
  const std::uint64_t frames = node.times({count(output[0]), count(output[1])});
  const std::uint64_t length = count(frame_length(node));
  return Other{transform_flops(node, length, frames) + node.times({length, frames})};
}

// X [n, c, sides ...], grid [n, places ..., axes]
void shape_grid(Operands& node) {
  const Shape& image = node.shape(0);
  const Shape& grid = node.shape(1);
  if (image.size() < 3 || grid.size() != image.size()) {
    node.fail("an image of the shape " + to_string(image) + " and a grid of " + to_string(grid));
  }
  Shape shape{image[0], image[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  node.set(0, node.type(0), shape);
}

Work grid(const Operands& node, std::uint64_t) {
  const std::string mode = node.text("mode", "bilinear");
  const std::uint64_t each = mode == "nearest" ? 0 : mode == "bicubic" || mode == "cubic" ? 35 : 7;
  return ElementWise{false, elements_of(node.output_shape(0)), each};
}

// Matrices [n, axes, axes + 1] and the shape of an image [n, c, sides ...] to a grid [n, sides ...,
// axes].
void shape_affine_grid(Operands& node) {
  const Shape& matrices = node.shape(0);
  const auto& image = node.numbers(1);
  const std::size_t axes = image.size() < 2 ? 0 : image.size() - 2;
  if (axes < 2 || axes > 3 || matrices.size() != 3 || matrices[0] != image[0] ||
      count(matrices[1]) != axes || count(matrices[2]) != axes + 1) {
    node.fail("matrices of the shape " + to_string(matrices) + " and an image of " +
              to_string(Shape(image.begin(), image.end())));
  }
  Shape shape{image[0]};
  shape.insert(shape.end(), image.begin() + 2, image.end());
  shape.push_back(matrices[1]);
  node.set(0, node.type(0), shape);
}

// A product with each axis, and the last column.
Work affine_grid(const Operands& node, std::uint64_t) {
  const Shape& output = node.output_shape(0);
  return Other{node.times({2, elements_of(output), count(output.back())})};
}

// [..., n, n] to [...]
void shape_determinant(Operands& node) {
  const Shape& shape = node.shape(0);
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2]) {
    node.fail("the determinant of the shape " + to_string(shape));
  }
  node.set(0, node.type(0), Shape(shape.begin(), shape.end() - 2));
}

// Elimination: 2/3 n^3.
Work determinant(const Operands& node, std::uint64_t) {
  const std::uint64_t n = count(node.shape(0).back());
  return Other{node.times({2, n, n, n, elements_of(node.output_shape(0))}) / 3};
}

void shape_strings(Operands& node) {
  node.note("its output size depends on data: the largest was taken");
  node.set(0, ElementType::text, node.shape(0));
}

void shape_matches(Operands& node) {
  node.set(0, ElementType::boolean, node.shape(0));
}

void shape_joined_strings(Operands& node) {
  node.set(0, ElementType::text, node.broadcast(node.shape(0), node.shape(1)));
}

void shape_split_strings(Operands& /*node*/) {
  throw NotKnown{"how many parts its texts have is in the texts themselves"};
}

void shape_decoded_image(Operands& /*node*/) {
  throw NotKnown{"the sides of its image are in the image's own data"};
}

// One column for each n-gram of the pool.
void shape_tf_idf(Operands& node) {
  Shape shape = node.shape(0);
  std::int64_t most = -1;
  for (const std::int64_t each : node.integers("ngram_indexes")) {
    most = std::max(most, each);
  }
  if (most < 0 || most > (std::int64_t{1} << 40U) || shape.empty() || shape.size() > 2) {
    node.fail("an input of the shape " + to_string(shape) + " and no columns for n-grams");
  }
  shape.back() = most + 1;
  node.set(0, ElementType::float32, shape);
}

// Made, not read.
Work generated(const Operands& node, std::uint64_t flops) {
  return ElementWise{false, elements_of(node.output_shape(0)), flops};
}

constexpr std::array generator_list{
    OperatorRule{"AffineGrid", shape_affine_grid, affine_grid, 0},
    OperatorRule{"BlackmanWindow", shape_signal_window, generated, 7},
    OperatorRule{"ConstantOfShape", shape_constant_of_shape, movement, 0},
    OperatorRule{"DFT", shape_dft, dft, 0},
    OperatorRule{"Det", shape_determinant, determinant, 0},
    OperatorRule{"EyeLike", shape_eye_like, movement, 0},
    OperatorRule{"GridSample", shape_grid, grid, 0},
    OperatorRule{"HammingWindow", shape_signal_window, generated, 4},
    OperatorRule{"HannWindow", shape_signal_window, generated, 4},
    OperatorRule{"ImageDecoder", shape_decoded_image, traffic, 0},
    OperatorRule{"MelWeightMatrix", shape_mel, generated, 4},
    OperatorRule{"Multinomial", shape_multinomial, generated, 2},
    // A generator of a few operations, and a logarithm, a root and a cosine.
    OperatorRule{"RandomNormal", shape_random, generated, 10},
    OperatorRule{"RandomNormalLike", shape_random_like, generated, 10},
    OperatorRule{"RandomUniform", shape_random, generated, 5},
    OperatorRule{"RandomUniformLike", shape_random_like, generated, 5},
    OperatorRule{"Range", shape_range_of, generated, 1},
    OperatorRule{"RegexFullMatch", shape_matches, traffic, 0},
    OperatorRule{"STFT", shape_stft, stft, 0},
    OperatorRule{"StringConcat", shape_joined_strings, traffic, 0},
    OperatorRule{"StringNormalizer", shape_strings, traffic, 0},
    OperatorRule{"StringSplit", shape_split_strings, traffic, 0},
    OperatorRule{"TfIdfVectorizer", shape_tf_idf, traffic, 0},
};

}  // namespace

std::span<const OperatorRule> generator_rules() {
  return generator_list;
}

}  // namespace tessera::onnx
