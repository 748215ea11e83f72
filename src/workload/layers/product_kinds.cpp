// Operators with a window or a weight: linear, convolution, pool.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "layers/kind_tools.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"

namespace tessera::workload {
namespace {

constexpr std::uint64_t byte_window = 256;

// One or two whole numbers, [rows, columns].
struct PairKey {
  config::OtherKey key;
  std::int64_t least;
};
constexpr std::int64_t longest_side = 4096;

// Made when asked for, as the workload registers before this file's own objects are there.
struct ProductKeys {
  using Count = std::uint64_t;

  config::RequiredKey<Count> outputs{"outputs", "linear: features of the output",
                                     config::between<Count>(1, 1 << 24)};
  config::RequiredKey<Count> channels{"channels", "convolution: channels of the output",
                                      config::between<Count>(1, 1 << 24)};
  PairKey kernel{{"kernel", "shape", "", "convolution, pool: one number or [rows, columns]"}, 1};
  PairKey stride{{"stride", "shape", "1",
                  "convolution, pool: one number or [rows, columns]; "
                  "default of a pool: its kernel"},
                 1};
  PairKey padding{{"padding", "shape", "0", "convolution, pool: on every side"}, 0};
  PairKey dilation{{"dilation", "shape", "1", "convolution: one number or [rows, columns]"}, 1};
  config::Key<Count> groups{"groups", 1, "convolution: groups of channels",
                            config::between<Count>(1, 1 << 24)};
  config::Key<bool> bias{"bias", true, "linear, convolution: a bias is added to the output"};
  config::ChoiceKey<Sharding> sharding{
      "sharding",
      {{"replicated", Sharding::replicated}, {"column", Sharding::column}, {"row", Sharding::row}},
      "replicated",
      "linear, convolution: tensor-parallel cut: replicated, column or row"};
  config::NameKey pooling{"type",
                          [] {
                            return std::vector<std::string>{"max", "average"};
                          },
                          "", "pool: max or average"};
  config::Key<bool> global{"global", false, "pool: over the whole input"};
};

const ProductKeys& product_keys() {
  static const ProductKeys made;
  return made;
}

// Zeros after a complaint.
Pair read_pair(config::Section& section, const PairKey& pair) {
  const std::string_view key = pair.key.key();
  const auto range = config::between(pair.least, longest_side);
  if (section.raw(key).kind != config::Value::Kind::sequence) {
    const auto side = static_cast<std::uint64_t>(section.get<std::int64_t>(key, range));
    return {side, side};
  }
  const std::vector<std::int64_t> sides = section.get_list<std::int64_t>(key);
  const auto in_range = [&](std::int64_t side) {
    return side >= *range.low && side <= *range.high;
  };
  if (sides.size() != 2 || !std::all_of(sides.begin(), sides.end(), in_range)) {
    section.error(key, "expected one number or [rows, columns], between " +
                           std::to_string(*range.low) + " and " + std::to_string(*range.high));
    return {0, 0};
  }
  return {static_cast<std::uint64_t>(sides[0]), static_cast<std::uint64_t>(sides[1])};
}

Pair read_pair_or(config::Section& section, const PairKey& pair, Pair usual) {
  return section.has(pair.key.key()) ? read_pair(section, pair) : usual;
}

void read_sharding(config::Section& section, OperatorSpec& spec) {
  spec.sharding = product_keys().sharding.read(section);
  spec.bias = product_keys().bias.read(section);
}

bool moves(const OperatorSpec& spec) {
  return spec.kernel.rows > 0 && spec.stride.rows > 0 && spec.dilation.rows > 0;
}

// A window that moves over [height, width]; the positions it takes.
std::optional<Pair> window_positions(OperatorSpec& spec, const Shape& input) {
  if (input.sides.size() != 3) {
    refuse(spec, "kind", "needs [height, width, channels]; its input is " + input.to_string());
    return std::nullopt;
  }
  const auto along = [](std::uint64_t side, std::uint64_t kernel, std::uint64_t stride,
                        std::uint64_t padding, std::uint64_t dilation) -> std::uint64_t {
    const std::uint64_t reach = dilation * (kernel - 1) + 1;
    const std::uint64_t room = side + 2 * padding;
    return room < reach ? 0 : (room - reach) / stride + 1;
  };
  const Pair positions{along(input.sides[0], spec.kernel.rows, spec.stride.rows, spec.padding.rows,
                             spec.dilation.rows),
                       along(input.sides[1], spec.kernel.columns, spec.stride.columns,
                             spec.padding.columns, spec.dilation.columns)};
  if (positions.rows == 0 || positions.columns == 0) {
    refuse(spec, "kernel", "larger than its input " + input.to_string() + " with padding");
    return std::nullopt;
  }
  return positions;
}

// A product with a weight of `product.columns` x `product.depth`, `product.count` times.
Output add_product(LayerBuilder& layer, OperatorSpec& spec, const LayerTensor& input, Shape shape,
                   const MatrixProduct& product) {
  if (spec.sharding == Sharding::row && !input.cut) {
    return refuse(spec, "sharding", "a row needs an input that a column has cut");
  }
  if (spec.sharding != Sharding::row && input.cut && product.count == 1) {
    return refuse(spec, "sharding", "a column has cut the input; expected row");
  }
  const bool by_group = input.cut && product.count > 1;
  const Sharding sharding = by_group ? Sharding::heads : spec.sharding;
  Operator op = layer.make().product(spec.name, spec.kind, sharding, product);
  op.weight_gradient_flops = op.forward_flops;
  const std::uint64_t biases = spec.bias ? product.columns * product.count : 0;
  op.parameters = product.columns * product.depth * product.count + biases;
  op.input_elements = input.shape.elements();
  if (sharding == Sharding::row) {
    op.replicated_parameters = biases;
    op.forward_all_reduce_elements = op.output_elements;
  } else if (sharding == Sharding::column) {
    op.backward_all_reduce_elements = op.input_elements;
  }
  layer.keep_input(op, input);
  return layer.add(std::move(op), std::move(shape), sharding == Sharding::column || by_group);
}

}  // namespace

std::vector<ParameterInfo> keys_of_linear() {
  return {product_keys().outputs, product_keys().bias, product_keys().sharding};
}

std::vector<ParameterInfo> keys_of_convolution() {
  return {product_keys().channels,    product_keys().kernel.key,   product_keys().stride.key,
          product_keys().padding.key, product_keys().dilation.key, product_keys().groups,
          product_keys().bias,        product_keys().sharding};
}

// Without a kernel where it is global.
std::vector<ParameterInfo> keys_of_pool() {
  return {product_keys().pooling, config::where_used(product_keys().kernel.key),
          product_keys().stride.key, product_keys().padding.key, product_keys().global};
}

bool read_linear(config::Section& section, OperatorSpec& spec) {
  spec.outputs = product_keys().outputs.read(section);
  read_sharding(section, spec);
  return spec.outputs > 0;
}

Output build_linear(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const Shape& from = inputs[0].shape;
  Shape shape = from.with_features(spec.outputs);
  if (too_large(spec, shape, static_cast<double>(from.features()))) {
    return std::nullopt;
  }
  const MatrixProduct product{from.positions(), spec.outputs, from.features(), 1};
  return add_product(layer, spec, inputs[0], std::move(shape), product);
}

bool read_convolution(config::Section& section, OperatorSpec& spec) {
  spec.outputs = product_keys().channels.read(section);
  spec.kernel = read_pair(section, product_keys().kernel);
  spec.stride = read_pair_or(section, product_keys().stride, {1, 1});
  spec.padding = read_pair_or(section, product_keys().padding, {0, 0});
  spec.dilation = read_pair_or(section, product_keys().dilation, {1, 1});
  spec.groups = product_keys().groups.read(section);
  read_sharding(section, spec);
  if (spec.groups > 1 && spec.sharding != Sharding::replicated) {
    section.error("sharding", "a convolution in groups is cut by groups when its input is cut");
    return false;
  }
  return spec.outputs > 0 && moves(spec);
}

Output build_convolution(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const Shape& from = inputs[0].shape;
  const std::optional<Pair> positions = window_positions(spec, from);
  if (!positions) {
    return std::nullopt;
  }
  if (from.features() % spec.groups != 0 || spec.outputs % spec.groups != 0) {
    return refuse(spec, "groups",
                  "must divide the channels of input (" + std::to_string(from.features()) +
                      ") and output (" + std::to_string(spec.outputs) + ")");
  }
  Shape shape{{positions->rows, positions->columns, spec.outputs}};
  const std::uint64_t window = spec.kernel.rows * spec.kernel.columns;
  const std::uint64_t channels = from.features() / spec.groups;
  if (too_large(spec, shape, static_cast<double>(channels) * static_cast<double>(window))) {
    return std::nullopt;
  }
  const MatrixProduct product{shape.positions(), spec.outputs / spec.groups, channels * window,
                              spec.groups};
  return add_product(layer, spec, inputs[0], std::move(shape), product);
}

bool read_pool(config::Section& section, OperatorSpec& spec) {
  const std::string type = product_keys().pooling.read(section);
  spec.average = type == "average";
  spec.global = product_keys().global.read(section);
  if (!spec.global) {
    spec.kernel = read_pair(section, product_keys().kernel);
    spec.stride = read_pair_or(section, product_keys().stride, spec.kernel);
    spec.padding = read_pair_or(section, product_keys().padding, {0, 0});
  }
  return !type.empty() && (spec.global || moves(spec));
}

Output build_pool(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const Shape& from = inputs[0].shape;
  if (spec.global && from.sides.size() == 3) {
    spec.kernel = {from.sides[0], from.sides[1]};
  }
  const std::optional<Pair> positions = window_positions(spec, from);
  if (!positions) {
    return std::nullopt;
  }
  Shape shape{{positions->rows, positions->columns, from.features()}};
  const std::uint64_t window = spec.kernel.rows * spec.kernel.columns;
  if (too_large(spec, shape, static_cast<double>(window))) {
    return std::nullopt;
  }
  Operator op = layer.make().vector(spec.name, spec.kind, sharding_after(inputs[0]),
                                    {window, spec.average ? window : 1, 0}, from.elements(),
                                    shape.elements());
  if (!spec.average) {
    keep(op, Bytes(shape.elements() * (window <= byte_window ? 1 : 4)));
  }
  return layer.add(std::move(op), std::move(shape), inputs[0].cut);
}

}  // namespace tessera::workload
