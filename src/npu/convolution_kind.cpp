// Reads convolutions. Where not even a tile of one position fits, or by choice (`im2col:
// explicit`), windows are gathered as columns by an IM2COL instruction and multiplied as a product:
// each step loads a part of the window of some positions.

#include <algorithm>
#include <optional>
#include <utility>

#include "convolution.hpp"
#include "reading.hpp"

namespace tessera::npu {
namespace {

Sides read_sides(config::Section& section, const char* key, std::int64_t least,
                 std::optional<std::int64_t> usual) {
  constexpr std::int64_t most = 8191;
  const auto fits = [&](std::int64_t side) { return side >= least && side <= most; };
  if (section.raw(key).kind == config::Value::Kind::sequence) {
    const auto sides = section.get_list<std::int64_t>(key);
    if (sides.size() == 2 && std::all_of(sides.begin(), sides.end(), fits)) {
      return {static_cast<std::uint64_t>(sides[0]), static_cast<std::uint64_t>(sides[1])};
    }
    section.error(key, "expected one number or [rows, columns], between " + std::to_string(least) +
                           " and " + std::to_string(most));
    return {1, 1};
  }
  const auto range = config::between<std::int64_t>(least, most);
  const auto side =
      static_cast<std::uint64_t>(usual ? section.get_or<std::int64_t>(key, *usual, range)
                                       : section.get<std::int64_t>(key, range));
  return {side, side};
}

// Gathered windows as a product; its activations are what the windows see, with repetition.
std::unique_ptr<TiledOperator> gathered(const ConvolutionSpec& spec, const Target& target) {
  const ConvolutionShape& s = spec.shape;
  const Sides positions = s.positions();
  ProductSpec product;
  product.shape = {s.images * positions[0] * positions[1], s.group_outputs(),
                   s.kernel[0] * s.kernel[1] * s.group_channels(), s.groups};
  product.bias = spec.bias;
  product.residuals = spec.residuals;
  product.gathers = true;
  product.then = spec.then;
  product.stored = spec.stored;
  return lower(product, target);
}

std::unique_ptr<TiledOperator> make(config::Section& section, const Target& target) {
  ConvolutionSpec spec;
  ConvolutionShape& s = spec.shape;
  s.images = read_extent_or(section, "images", 1);
  s.input = read_sides(section, "input", 1, std::nullopt);
  s.channels = read_extent(section, "channels");
  s.outputs = read_extent(section, "outputs");
  s.kernel = read_sides(section, "kernel", 1, std::nullopt);
  s.stride = read_sides(section, "stride", 1, 1);
  s.padding = read_sides(section, "padding", 0, 0);
  s.dilation = read_sides(section, "dilation", 1, 1);
  s.groups = read_extent_or(section, "groups", 1);
  spec.bias = section.get_or("bias", false);
  spec.residuals = section.get_or("residual", false) ? 1 : 0;
  spec.gathers = section.get_name("im2col", {"implicit", "explicit"}, "implicit") == "explicit";
  spec.then = read_then(section);
  spec.stored = read_stored_weights(section);
  if (!is_countable(section, {s.images, s.input[0], s.input[1], s.channels, s.outputs, s.kernel[0],
                              s.kernel[1]})) {
    return nullptr;
  }
  if (s.channels % s.groups != 0 || s.outputs % s.groups != 0) {
    section.error("groups", "must divide channels and outputs");
    return nullptr;
  }
  const Sides positions = s.positions();
  if (positions[0] == 0 || positions[1] == 0) {
    section.error("kernel", "larger than its input with padding");
    return nullptr;
  }
  return lower(spec, target);
}

const Registration registration(
    operators(),
    {"convolution", "convolutions of images, also grouped and depth-wise",
     with_stored_weights({{"images", "", "1", "in a batch"},
                          {"input", "", "", "[height, width] of an image, or one number"},
                          {"channels", "", "", "of the input"},
                          {"outputs", "", "", "channels of the output"},
                          {"kernel", "", "", "[rows, columns], or one number"},
                          {"stride", "", "1", "the same"},
                          {"padding", "", "0", "the same, on each side"},
                          {"dilation", "", "1", "the same"},
                          {"groups", "", "1", "of channels; as many as channels: depth-wise"},
                          {"bias", "", "false", "added to each position"},
                          {"residual", "", "false",
                           "an image that is added, as of a skip connection"},
                          {"im2col", "", "implicit", "implicit, or explicit: by an instruction"},
                          {"then", "", "none", "a vector operation on the output"}})},
    make);

}  // namespace

std::unique_ptr<TiledOperator> lower(const ConvolutionSpec& spec, const Target& target) {
  const StoredWeights weights = spec.stored.value_or(StoredWeights::plain(target.element()));
  const auto tiles = spec.gathers ? std::nullopt : convolution_tiles(spec.shape, weights, target);
  return tiles ? make_convolution(spec, *tiles, target) : gathered(spec, target);
}

}  // namespace tessera::npu
