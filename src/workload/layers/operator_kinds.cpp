// The kinds of operators in a `layers` workload. FLOPs and kept activations as in operators.hpp;
// besides these:
//
// convolution   a product with rows = positions of the output, columns = channels / groups, depth =
//               input channels / groups * kernel area, count = groups (Chellapilla et al., 2006);
//               the input moves once although windows overlap
// batch_norm    as layer norm; in inference gain and shift, into which the statistics are folded,
//               2 FLOP an element
// pool          an operation an element of the window (comparison; addition); backward 1 an output
//               for the maximum, which keeps the place of it (1 byte for windows up to 256
//               elements, else 4), and one an element of the window for the average
// sum           n - 1 additions for n inputs, forward, and backward where the gradients meet again
// concat        moves its inputs only
//
// Communication sizes are those of PALM, table III: a product cut by columns all-reduces its
// input's gradient, one cut by rows its output. The edges that neighbours share when a replicated
// convolution is cut along its positions are not sent, nor are statistics of batch norm.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "layers/kind_tools.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"

namespace tessera::workload {
namespace {

// Made when asked for, as the workload registers before this file's own objects are there.
struct OperatorKeys {
  using Count = std::uint64_t;

  config::RequiredKey<Count> rows{"rows", "embedding: rows of its table",
                                  config::between<Count>(1, 1 << 28)};
  config::RequiredKey<Count> width{"width", "embedding: features of a row",
                                   config::between<Count>(1, 1 << 24)};
  config::RequiredKey<Count> heads{"heads",
                                   "attention: heads; its input is queries, keys and "
                                   "values side by side",
                                   config::between<Count>(1, 1 << 20)};
  config::DerivedKey<Count> kv_heads{"kv_heads", "heads", "attention: heads of keys and values",
                                     config::between<Count>(1, 1 << 20)};
  config::ChoiceKey<AttentionKind> attention{
      "type",
      {{"plain", AttentionKind::plain},
       {"eager", AttentionKind::eager},
       {"flash", AttentionKind::flash}},
      AttentionShape{}.kind,
      "attention: plain, eager (softmax by single operations in fp32) or flash"};
  config::Key<bool> causal{"causal", false, "attention of type flash: the masked half is skipped"};
};

const OperatorKeys& operator_keys() {
  static const OperatorKeys made;
  return made;
}

Output add_norm(LayerBuilder& layer, OperatorSpec& spec, const LayerTensor& input, Norm norm) {
  const Shape& shape = input.shape;
  const std::uint64_t elements = shape.elements();
  Operator op =
      layer.make().norm(spec.name, norm, sharding_after(input), elements, shape.features());
  op.stored_cut = op.stored_whole = Bytes();
  layer.keep_input(op, input);
  if (norm == Norm::batch && !layer.training()) {
    op.forward_flops = Flops(2 * elements);
  }
  return layer.add(std::move(op), shape, input.cut);
}

Output build_batch_norm(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  return add_norm(layer, spec, inputs[0], Norm::batch);
}

Output build_layer_norm(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  if (inputs[0].cut) {
    return refuse(spec, "kind", "needs all features, but a column has cut its input");
  }
  return add_norm(layer, spec, inputs[0], Norm::layer);
}

Output build_relu(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const Shape& shape = inputs[0].shape;
  return layer.add(layer.make().activation(spec.name, Activation::relu, sharding_after(inputs[0]),
                                           shape.elements()),
                   shape, inputs[0].cut);
}

Output build_gelu(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const Shape& shape = inputs[0].shape;
  Operator op = layer.make().activation(spec.name, Activation::gelu, sharding_after(inputs[0]),
                                        shape.elements());
  op.stored_cut = op.stored_whole = Bytes();
  layer.keep_input(op, inputs[0]);
  return layer.add(std::move(op), shape, inputs[0].cut);
}

Output build_softmax(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const LayerTensor& input = inputs[0];
  if (input.cut) {
    return refuse(spec, "kind", "needs all features, but a column has cut its input");
  }
  return layer.add(layer.make().softmax(spec.name, Sharding::replicated, input.shape.elements()),
                   input.shape, false);
}

bool all_cut_alike(OperatorSpec& spec, const Inputs& inputs) {
  for (const LayerTensor& input : inputs) {
    if (input.cut != inputs[0].cut) {
      refuse(spec, "from", "some inputs are cut by a column, others are whole");
      return false;
    }
  }
  return true;
}

Output build_sum(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const Shape& shape = inputs[0].shape;
  for (const LayerTensor& input : inputs) {
    if (input.shape != shape) {
      return refuse(
          spec, "from",
          "inputs of different shapes, " + shape.to_string() + " and " + input.shape.to_string());
    }
  }
  if (!all_cut_alike(spec, inputs)) {
    return std::nullopt;
  }
  const std::uint64_t additions = inputs.size() - 1;
  Operator op = layer.make().vector(spec.name, spec.kind, sharding_after(inputs[0]),
                                    {additions, additions, 0}, inputs.size() * shape.elements(),
                                    shape.elements());
  op.kernel = Kernel::sum;
  op.additive = true;
  return layer.add(std::move(op), shape, inputs[0].cut);
}

Output build_concat(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const Shape& first = inputs[0].shape;
  Shape shape = first.with_features(0);
  for (const LayerTensor& input : inputs) {
    if (input.shape.with_features(0) != first.with_features(0)) {
      return refuse(spec, "from",
                    "inputs that differ in more than their features, " + first.to_string() +
                        " and " + input.shape.to_string());
    }
    shape.sides.back() += input.shape.features();
  }
  if (!all_cut_alike(spec, inputs) || too_large(spec, shape, 1)) {
    return std::nullopt;
  }
  const std::uint64_t elements = shape.elements();
  return layer.add(
      layer.make().vector(spec.name, spec.kind, sharding_after(inputs[0]), {}, elements, elements),
      std::move(shape), inputs[0].cut);
}

// No work: the elements stay where they are.
Output build_flatten(LayerBuilder&, OperatorSpec&, const Inputs& inputs) {
  LayerTensor tensor = inputs[0];
  tensor.shape = Shape{{tensor.shape.elements()}};
  return tensor;
}

bool read_embedding(config::Section& section, OperatorSpec& spec) {
  spec.rows = operator_keys().rows.read(section);
  spec.outputs = operator_keys().width.read(section);
  return spec.rows > 0 && spec.outputs > 0;
}

Output build_embedding(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  if (inputs[0].producer) {
    return refuse(spec, "from", "an embedding takes the input of its layer");
  }
  Shape shape = inputs[0].shape;
  const std::uint64_t tokens = shape.elements();
  shape.sides.push_back(spec.outputs);
  if (too_large(spec, shape, 1)) {
    return std::nullopt;
  }
  return layer.add(
      layer.make().embedding(spec.name, Sharding::replicated, spec.rows, tokens, spec.outputs),
      std::move(shape), false);
}

bool read_attention(config::Section& section, OperatorSpec& spec) {
  spec.attention.heads = operator_keys().heads.read(section);
  spec.attention.kv_heads = operator_keys().kv_heads.read(section, spec.attention.heads);
  spec.attention.kind = operator_keys().attention.read(section);
  spec.attention.causal = operator_keys().causal.read(section);
  if (spec.attention.heads == 0) {
    return false;
  }
  if (spec.attention.heads % spec.attention.kv_heads != 0) {
    section.error("kv_heads",
                  "heads (" + std::to_string(spec.attention.heads) + ") is not a multiple of " +
                      std::to_string(spec.attention.kv_heads) + " heads of keys and values");
    return false;
  }
  return true;
}

// What follows the name of an attention: attention_scores is its _scores, softmax its _softmax.
std::string part_of_attention(const std::string& name) {
  constexpr std::string_view whole = "attention";
  return name.starts_with(whole) ? name.substr(whole.size()) : "_" + name;
}

Output build_attention(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs) {
  const LayerTensor& input = inputs[0];
  if (input.shape.sides.size() != 2) {
    return refuse(spec, "kind",
                  "needs [tokens, features]; its input is " + input.shape.to_string());
  }
  if (!input.producer) {
    return refuse(spec, "from",
                  "needs an operator of its layer that makes queries, keys and values");
  }
  AttentionShape shape = spec.attention;
  const std::uint64_t parts = shape.heads + 2 * shape.kv_heads;
  if (input.shape.features() % parts != 0) {
    return refuse(spec, "heads",
                  std::to_string(input.shape.features()) + " features are not a multiple of the " +
                      std::to_string(parts) + " heads of queries, keys and values");
  }
  shape.queries = shape.keys = input.shape.sides[0];
  shape.head_width = input.shape.features() / parts;
  Shape output = input.shape.with_features(shape.heads * shape.head_width);
  const Shape weights{{shape.heads, shape.queries, shape.keys}};
  if (too_large(spec, weights, 2.0 * static_cast<double>(shape.head_width))) {
    return std::nullopt;
  }
  layer.keep_input(layer.operators()[*input.producer], input);
  std::vector<Operator> operators = layer.make().attention("", sharding_after(input), shape);
  Output last;
  for (Operator& op : operators) {
    op.name = spec.name + (operators.size() == 1 ? "" : part_of_attention(op.name));
    last = layer.add(std::move(op), output, input.cut);
  }
  return last;
}

std::vector<ParameterInfo> keys_of_embedding() {
  return {operator_keys().rows, operator_keys().width};
}

std::vector<ParameterInfo> keys_of_attention() {
  return {operator_keys().heads, operator_keys().kv_heads, operator_keys().attention,
          operator_keys().causal};
}

}  // namespace

const std::map<std::string, OperatorKind>& operator_kinds() {
  static const std::map<std::string, OperatorKind> kinds{
      {"attention", {read_attention, build_attention, false, keys_of_attention}},
      {"batch_norm", {nullptr, build_batch_norm}},
      {"concat", {nullptr, build_concat, true}},
      {"convolution", {read_convolution, build_convolution, false, keys_of_convolution}},
      {"embedding", {read_embedding, build_embedding, false, keys_of_embedding}},
      {"flatten", {nullptr, build_flatten}},
      {"gelu", {nullptr, build_gelu}},
      {"layer_norm", {nullptr, build_layer_norm}},
      {"linear", {read_linear, build_linear, false, keys_of_linear}},
      {"pool", {read_pool, build_pool, false, keys_of_pool}},
      {"relu", {nullptr, build_relu}},
      {"softmax", {nullptr, build_softmax}},
      {"sum", {nullptr, build_sum, true}}};
  return kinds;
}

std::vector<ParameterInfo> operator_parameters() {
  std::vector<ParameterInfo> all;
  for (const auto& [name, kind] : operator_kinds()) {
    for (ParameterInfo& own : kind.keys == nullptr ? std::vector<ParameterInfo>{} : kind.keys()) {
      const bool is_there = std::any_of(all.begin(), all.end(), [&](const ParameterInfo& other) {
        return other.name == own.name && other.help == own.help;
      });
      if (!is_there) {
        all.push_back(config::where_used(std::move(own)));
      }
    }
  }
  return all;
}

}  // namespace tessera::workload
