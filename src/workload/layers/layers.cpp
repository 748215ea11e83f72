// The `layers` workload: a chain of layers written out, such as a convolutional network. The kinds
// of operators are in operator_kinds.cpp, the keys all workloads have in training.hpp.
//
// Shapes go from operator to operator and from layer to layer. An operator takes the output of the
// one before it, the first the input of the layer.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layers/layer_builder.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/text.hpp"
#include "tessera/workload/sections.hpp"
#include "tessera/workload/workload.hpp"
#include "training.hpp"

namespace tessera::workload {
namespace {

constexpr std::uint64_t most_layers = 1 << 14;
constexpr std::size_t most_operators_of_layer = 1 << 12;
constexpr std::size_t most_operators = 1 << 20;

struct LayerSpec {
  config::Section section;
  std::string name;
  std::uint64_t repeat = 0;
  std::vector<OperatorSpec> operators;
};

// Empty after a complaint only.
std::vector<config::Section> list_of(config::Section& section, const char* key) {
  std::vector<config::Section> items = section.sections(key);
  const auto kind = section.raw(key).kind;
  // What is no list has been complained about.
  if (kind == config::Value::Kind::null ||
      (items.empty() && kind == config::Value::Kind::sequence)) {
    section.error(key, "expected a list of at least one mapping");
  }
  return items;
}

enum class Keys : std::uint8_t { any, none };

// Of all kinds, or of those without keys of their own.
std::vector<std::string> kind_names(Keys keys) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : operator_kinds()) {
    if (keys == Keys::any || kind.keyless()) {
      names.push_back(name);
    }
  }
  return names;
}

const config::OtherKey input_key{
    "input", "shape", "",
    "shape of a sample: [height, width, channels], [tokens, features] or [tokens]"};
const config::OtherKey layers_key{"layers", "list", "",
                                  "the layers in order; pipeline stages are cut between them"};
const config::DerivedKey<std::string> layer_name{"layers.name", "layer N",
                                                 "name of the layer; with repeat, copies are "
                                                 "numbered from 1"};
const config::Key<std::uint64_t> repeat{"layers.repeat", 1,
                                        "number of consecutive copies of the layer",
                                        config::between<std::uint64_t>(1, most_layers)};
const config::OtherKey operators_key{"layers.operators", "list", "one, with the layer's keys",
                                     "operators of the layer; a layer with one operator may have "
                                     "that operator's keys instead"};
const config::NameKey kind_key{"kind", [] { return kind_names(Keys::any); }, "",
                               join(kind_names(Keys::any))};
const config::DerivedKey<std::string> operator_name{"name", "kind, kind2, ...",
                                                    "name of the operator, unique in its layer"};
const config::ListKey<std::string> inputs_key{
    "from",
    {},
    "inputs: names of earlier operators in its layer, or input; none: the previous operator"};
const config::ListKey<std::string> then_key{
    "then",
    {},
    "kinds without keys that follow directly, the last of which takes the name: " +
        join(kind_names(Keys::none))};

// Reads `kind` and the kind's own keys.
std::optional<OperatorSpec> read_operator(config::Section& section) {
  OperatorSpec spec(section);
  spec.kind = kind_key.read(section);
  spec.from = inputs_key.read(section);
  const auto kind = operator_kinds().find(spec.kind);
  if (kind == operator_kinds().end()) {
    for (const std::string& key : section.keys()) {
      section.raw(key);  // whatever it is for
    }
    return std::nullopt;  // the section holds the complaint
  }
  if (kind->second.read != nullptr && !kind->second.read(section, spec)) {
    return std::nullopt;  // likewise
  }
  if (kind->second.joins && spec.from.size() < 2) {
    section.error("from", "a " + spec.kind + " needs the names of two inputs or more");
    return std::nullopt;
  }
  if (!kind->second.joins && spec.from.size() > 1) {
    section.error("from", "a " + spec.kind + " takes one input");
    return std::nullopt;
  }
  return spec;
}

// One operator and those in its `then`, which end in its name; false after a complaint.
bool read_operators(config::Section section, std::vector<OperatorSpec>& operators) {
  // Known even when nothing comes of the operator.
  section.get_optional<std::string>(operator_name.key());
  std::optional<OperatorSpec> first = read_operator(section);
  bool complete = first.has_value();
  if (first) {
    operators.push_back(*std::move(first));
  }
  const std::vector<std::string> keyless = kind_names(Keys::none);
  for (const std::string& kind : then_key.read(section)) {
    if (std::find(keyless.begin(), keyless.end(), kind) == keyless.end()) {
      section.error("then", unknown_name("operator without keys", kind, keyless));
      complete = false;
      continue;
    }
    operators.emplace_back(section).kind = kind;
  }
  if (!operators.empty()) {
    operators.back().has_name = true;
  }
  return complete;
}

// Gives every operator a name of its own; false after a complaint.
bool name_operators(LayerSpec& layer) {
  bool complete = true;
  std::vector<std::string> names{"input"};
  for (OperatorSpec& spec : layer.operators) {
    const auto taken = [&names](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    std::string usual = spec.kind;
    for (int number = 2; taken(usual); ++number) {
      usual = spec.kind + std::to_string(number);
    }
    // A layer without a list of operators has the name for itself.
    const bool named = spec.has_name && layer.section.has("operators");
    spec.name = named ? operator_name.read(spec.section, usual) : usual;
    if (taken(spec.name)) {
      spec.section.error("name", "'" + spec.name + "' stands for something else in this layer");
      complete = false;
    }
    names.push_back(spec.name);
  }
  return complete;
}

std::optional<LayerSpec> read_layer(config::Section section, std::size_t number) {
  LayerSpec layer{section, "", 0, {}};
  layer.name = layer_name.read(section, "layer " + std::to_string(number));
  layer.repeat = repeat.read(section);
  std::vector<config::Section> operators{section};
  if (section.has("operators")) {
    operators = list_of(section, "operators");
  }
  if (operators.size() > most_operators_of_layer) {
    section.error("operators", "more than 4096 operators in a layer");
    return std::nullopt;
  }
  bool complete = !operators.empty();
  for (const config::Section& each : operators) {
    complete = read_operators(each, layer.operators) && complete;
  }
  complete = name_operators(layer) && complete;
  return complete ? std::optional(std::move(layer)) : std::nullopt;
}

std::optional<Shape> read_input(config::Section& section) {
  if (!section.has("input")) {
    section.error("input", "missing; give the shape of a sample, e.g. [224, 224, 3]");
    return std::nullopt;
  }
  Shape shape;
  const std::vector<std::int64_t> sides = section.get_list<std::int64_t>("input");
  for (const std::int64_t side : sides) {
    if (side < 1 || side > 1 << 24) {
      section.error("input", "sides must be between 1 and 16777216");
      return std::nullopt;
    }
    shape.sides.push_back(static_cast<std::uint64_t>(side));
  }
  double elements = 1;
  for (const std::uint64_t side : shape.sides) {
    elements *= static_cast<double>(side);
  }
  if (shape.sides.empty() || shape.sides.size() > 3 || elements > 0x1p40) {
    section.error("input", "expected one to three sides and at most 2^40 elements in all");
    return std::nullopt;
  }
  return shape;
}

// The inputs of an operator, by name; empty after a complaint.
std::vector<LayerTensor> inputs_of(OperatorSpec& spec,
                                   const std::map<std::string, LayerTensor>& known,
                                   const LayerTensor& previous, std::vector<bool>& used) {
  std::vector<LayerTensor> inputs;
  if (spec.from.empty()) {
    inputs.push_back(previous);
  }
  for (const std::string& name : spec.from) {
    const auto found = known.find(name);
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const auto& [other, tensor] : known) {
        names.push_back(other);
      }
      spec.section.error("from", unknown_name("operator", name, names));
      return {};
    }
    inputs.push_back(found->second);
  }
  for (const LayerTensor& input : inputs) {
    used[input.number] = true;
  }
  return inputs;
}

// Makes one layer, whose input has `shape`, and leaves the shape of its output there.
std::optional<Layer> build_layer(LayerSpec& spec, const OperatorMaker& make, bool training,
                                 Shape& shape) {
  LayerBuilder builder(make, training, shape);
  std::map<std::string, LayerTensor> known{{"input", builder.input()}};
  LayerTensor last = builder.input();
  // By number of the tensor; an operator makes three at most.
  std::vector<bool> used(3 * spec.operators.size() + 1, false);
  for (OperatorSpec& op : spec.operators) {
    const std::vector<LayerTensor> inputs = inputs_of(op, known, last, used);
    if (inputs.empty()) {
      return std::nullopt;
    }
    const std::optional<LayerTensor> output =
        operator_kinds().at(op.kind).build(builder, op, inputs);
    if (!output) {
      return std::nullopt;
    }
    last = *output;
    known.emplace(op.name, last);
  }
  if (builder.operators().empty()) {
    spec.section.error("", "a layer without work");
    return std::nullopt;
  }
  used[last.number] = true;
  for (OperatorSpec& op : spec.operators) {
    if (!used[known.at(op.name).number]) {
      op.section.error("", "nobody takes the output of '" + op.name + "'");
      return std::nullopt;
    }
  }
  if (last.cut) {
    spec.operators.back().section.error(
        "", "the output of a layer must be whole; a product with `sharding: row` makes it so");
    return std::nullopt;
  }
  shape = last.shape;
  return Layer{spec.name, std::move(builder.operators()), shape.elements()};
}

std::optional<std::vector<Layer>> build_layers(config::Section& section,
                                               std::vector<LayerSpec>& specs,
                                               const Workload& workload, Shape shape) {
  const OperatorMaker make(workload.data_type, false);
  std::vector<Layer> layers;
  double work = 0;
  std::size_t operators = 0;
  for (LayerSpec& spec : specs) {
    for (std::uint64_t i = 0; i < spec.repeat; ++i) {
      std::optional<Layer> layer = build_layer(spec, make, workload.training, shape);
      if (!layer) {
        return std::nullopt;
      }
      if (spec.repeat > 1) {
        layer->name += " " + std::to_string(i + 1);
      }
      // Parameters too, so that bytes of optimizer state fit.
      work += static_cast<double>((layer->forward_flops() + layer->backward_flops()).count()) +
              32 * static_cast<double>(layer->parameters());
      operators += layer->operators.size();
      layers.push_back(*std::move(layer));
      if (work > most_flops_per_sample) {
        section.error("layers", "the model is too large: one sample takes more than 2^62 FLOP");
        return std::nullopt;
      }
      if (layers.size() > most_layers || operators > most_operators) {
        section.error("layers", "more than 16384 layers or 1048576 operators");
        return std::nullopt;
      }
    }
  }
  layers.back().boundary_elements = 0;
  return layers;
}

std::optional<Workload> read_layers(config::Section& section) {
  std::optional<Workload> workload = read_training(section);
  const std::optional<Shape> input = read_input(section);
  std::vector<LayerSpec> specs;
  const std::vector<config::Section> items = list_of(section, "layers");
  bool complete = workload && input && !items.empty();
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::optional<LayerSpec> layer = read_layer(items[i], i);
    complete = complete && layer;
    if (layer) {
      specs.push_back(*std::move(layer));
    }
  }
  if (!complete) {
    return std::nullopt;  // the section holds the complaint
  }
  std::optional<std::vector<Layer>> layers = build_layers(section, specs, *workload, *input);
  if (!layers) {
    return std::nullopt;
  }
  workload->layers = *std::move(layers);
  workload->sequence_length = input->sides.size() == 1 ? input->sides[0] : input->positions();
  if (!workload->training) {
    drop_training(*workload);
  }
  return workload;
}

std::vector<ParameterInfo> parameters() {
  std::vector<ParameterInfo> list{input_key,     layers_key,    layer_name,
                                  repeat,        operators_key, config::where_used(kind_key),
                                  operator_name, inputs_key,    then_key};
  for (ParameterInfo& info : operator_parameters()) {
    list.push_back(std::move(info));
  }
  for (ParameterInfo& info : training_parameters()) {
    list.push_back(std::move(info));
  }
  return list;
}

// A key as it is named where it stands.
ParameterInfo inside(ParameterInfo info) {
  info.name = info.name.substr(info.name.rfind('.') + 1);
  return info;
}

// The kinds of operators, each with its own keys.
SectionInfo of_kinds(const config::OtherKey& list) {
  const ParameterInfo whole = inside(list);
  std::vector<PartInfo> kinds;
  for (const auto& [name, kind] : operator_kinds()) {
    kinds.push_back({name, "", kind.keys == nullptr ? std::vector<ParameterInfo>{} : kind.keys()});
  }
  SectionInfo section = section_of_parts(whole.name, whole.help, kind_key.info().name, "", kinds);
  section.shape = SectionInfo::Shape::list;
  section.is_required = true;
  return section;
}

// A layer has a list of operators, or is one.
SectionInfo describe(const PartInfo& kind) {
  SectionInfo operators = of_kinds(operators_key);
  operators.parameters = {operator_name, inputs_key, then_key};
  SectionInfo layer = of_kinds(layers_key);
  layer.parameters = {inside(layer_name), inside(repeat)};
  for (SectionInfo& choice : layer.choices) {
    choice.parameters.insert(choice.parameters.end(), {inputs_key, then_key});
  }
  SectionInfo listed;
  listed.sections = {std::move(operators)};
  layer.otherwise = {std::move(listed)};
  SectionInfo whole = choice_of(kind);
  whole.parameters = training_parameters();
  whole.parameters.push_back(input_key);
  whole.sections = {std::move(layer)};
  return whole;
}

const Registration described(sections_of_kinds(), {"layers", "", {}}, describe);
const Registration layers_registration(
    workloads(),
    {"layers", "a chain of layers listed one by one, such as a convolutional network",
     parameters()},
    read_layers);

}  // namespace
}  // namespace tessera::workload
