// Reads convolutions. Where not even a tile of one position fits, or by choice (`im2col:
// explicit`), windows are gathered as columns by an IM2COL instruction and multiplied as a product:
// each step loads a part of the window of some positions.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "convolution/convolution.hpp"
#include "reading.hpp"

namespace tessera::npu {
namespace {

// Of both directions: one number or two.
struct SidesKey {
  SidesKey(std::string name, std::int64_t low, std::optional<std::int64_t> absent, std::string help)
      : key(std::move(name), "integer or list of integer", absent ? std::to_string(*absent) : "",
            std::move(help)),
        least(low),
        usual(absent) {}

  config::OtherKey key;
  std::int64_t least;
  std::optional<std::int64_t> usual;
};

const auto images_key = extent_key("images", 1, "images in a batch");
const SidesKey input_key("input", 1, std::nullopt,
                         "[height, width] of an image, or one number for both");
const auto channels_key = extent_key("channels", "channels of the input");
const auto outputs_key = extent_key("outputs", "channels of the output");
const SidesKey kernel_key("kernel", 1, std::nullopt,
                          "[rows, columns] of the kernel, or one number for both");
const SidesKey stride_key("stride", 1, 1, "stride, [rows, columns] or one number for both");
const SidesKey padding_key("padding", 0, 0,
                           "padding on each side, [rows, columns] or one number for both");
const SidesKey dilation_key("dilation", 1, 1, "dilation, [rows, columns] or one number for both");
const auto groups_key =
    extent_key("groups", 1, "groups of channels; as many as channels: depth-wise");
const config::Key<bool> bias_key{"bias", false, "a bias is added at each position"};
const config::Key<bool> residual_key{"residual", false,
                                     "an image is added, as by a skip connection"};
const config::ChoiceKey<bool> gathers_key{"im2col",
                                          {{"implicit", false}, {"explicit", true}},
                                          "implicit",
                                          "gathering of windows: implicit, or explicit: by an "
                                          "instruction"};

Sides read_sides(config::Section& section, const SidesKey& sides_key) {
  constexpr std::int64_t most = 8191;
  const std::string_view key = sides_key.key.key();
  const std::int64_t least = sides_key.least;
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
  const auto side = static_cast<std::uint64_t>(
      sides_key.usual ? section.get_or<std::int64_t>(key, *sides_key.usual, range)
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
  s.images = images_key.read(section);
  s.input = read_sides(section, input_key);
  s.channels = channels_key.read(section);
  s.outputs = outputs_key.read(section);
  s.kernel = read_sides(section, kernel_key);
  s.stride = read_sides(section, stride_key);
  s.padding = read_sides(section, padding_key);
  s.dilation = read_sides(section, dilation_key);
  s.groups = groups_key.read(section);
  spec.bias = bias_key.read(section);
  spec.residuals = residual_key.read(section) ? 1 : 0;
  spec.gathers = gathers_key.read(section);
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
    {"convolution", "convolution of images, also grouped or depth-wise",
     with_stored_weights({images_key, input_key.key, channels_key, outputs_key, kernel_key.key,
                          stride_key.key, padding_key.key, dilation_key.key, groups_key, bias_key,
                          residual_key, gathers_key, then_parameter()})},
    make);

}  // namespace

std::unique_ptr<TiledOperator> lower(const ConvolutionSpec& spec, const Target& target) {
  const StoredWeights weights = spec.stored.value_or(StoredWeights::plain(target.element()));
  const auto tiles = spec.gathers ? std::nullopt : convolution_tiles(spec.shape, weights, target);
  return tiles ? make_convolution(spec, *tiles, target) : gathered(spec, target);
}

}  // namespace tessera::npu
