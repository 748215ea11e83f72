#include "builder.hpp"

#include <algorithm>
#include <utility>

#include "evaluate/evaluate.hpp"
#include "operators.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::onnx {
namespace {

// Nodes that unrolled loops and nested calls may come to.
constexpr std::uint64_t most_nodes = 1U << 16U;
// Of all tensors together: beyond it nothing more is evaluated.
constexpr std::uint64_t most_value_elements = 1U << 26U;

}  // namespace

const Symbol* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    const auto found = scope->symbols_.find(name);
    if (found != scope->symbols_.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

bool Scope::define(const std::string& name, Symbol symbol) {
  return symbols_.try_emplace(name, std::move(symbol)).second;
}

Builder::Builder(const ModelFile& file, const ImportOptions& options, Import& result)
    : file_(file), options_(options), graph_(result.graph), result_(result) {
  frame_.opsets = &file.opsets;
}

void Builder::fail(const FileNode& node, const std::string& problem) const {
  fail_at(file_.path, node.origin, problem);
}

void Builder::spend(const Step& step) {
  if (++spent_ > std::max<std::uint64_t>(most_nodes, file_.nodes)) {
    fail(step.node, "loops and calls make more than " + std::to_string(most_nodes) + " nodes");
  }
}

std::int64_t Builder::version_of(const std::string& domain) const {
  const auto found = frame_.opsets->find(domain);
  return found == frame_.opsets->end() ? 1 : found->second;
}

TensorIndex Builder::add_tensor(Tensor tensor) {
  if (tensor.values) {
    value_elements_ += tensor.values->size();
    if (value_elements_ > most_value_elements) {
      tensor.values.reset();
    }
  }
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<TensorIndex>(graph_.tensors.size() - 1);
}

TensorIndex Builder::constant(const std::string& name, Values values, const Shape& shape,
                              ElementType type) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = shape;
  tensor.role = Role::parameter;
  tensor.values = std::move(values);
  return add_tensor(std::move(tensor));
}

void Builder::define(const Step& step, std::size_t output, Symbol symbol) {
  if (output >= step.node.outputs.size() || step.node.outputs[output].empty()) {
    return;
  }
  const std::string& name = step.node.outputs[output];
  if (!step.scope.define(name, std::move(symbol))) {
    fail(step.node, "makes '" + name + "', which there is already");
  }
}

TensorIndex Builder::tensor_of(const Step& step, std::size_t input) const {
  if (input >= step.inputs.size() || step.inputs[input].absent()) {
    fail(step.node, "input " + std::to_string(input) + " is left out, and the operator needs it");
  }
  if (step.inputs[input].items) {
    fail(step.node, "input " + std::to_string(input) + " is a sequence, and should be a tensor");
  }
  return step.inputs[input].tensor;
}

const Values* Builder::values_of(const Step& step, std::size_t input) const {
  if (input >= step.inputs.size() || step.inputs[input].tensor == no_tensor) {
    return nullptr;
  }
  const Tensor& tensor = graph_.tensor(step.inputs[input].tensor);
  return tensor.values && tensor.values->size() == 1 ? &*tensor.values : nullptr;
}

void Builder::add_graph(const FileGraph& graph, Scope& scope, const std::string& prefix) {
  for (const Tensor& initializer : graph.initializers) {
    if (!scope.define(initializer.name, {add_tensor(initializer), nullptr})) {
      fail_at(file_.path, {"initializer '" + initializer.name + "'", 0, false},
              "there is already a tensor of this name");
    }
  }
  for (const auto* const list : {&graph.inner, &graph.outputs}) {
    for (const Declared& declared : *list) {
      declared_[declared.name] = &declared;
    }
  }
  for (const FileNode& node : graph.nodes) {
    add_node(node, scope, prefix);
  }
}

void Builder::add_node(const FileNode& node, Scope& scope, const std::string& prefix) {
  const std::string own =
      node.name.empty() ? node.op + "#" + std::to_string(graph_.nodes.size()) : node.name;
  Step step{node, scope, prefix + own, prefix, {}};
  spend(step);
  for (const std::string& name : node.inputs) {
    const Symbol* const symbol = name.empty() ? nullptr : scope.find(name);
    if (symbol == nullptr && !name.empty()) {
      fail(node, "reads '" + name + "', which no node before it makes");
    }
    step.inputs.push_back(symbol == nullptr ? Symbol() : *symbol);
  }
  if (!add_special(step)) {
    add_operator(step);
  }
}

bool Builder::add_special(Step& step) {
  const auto function = file_.functions.find(step.node.domain + ":" + step.node.op);
  if (function != file_.functions.end()) {
    add_call(step, function->second);
    return true;
  }
  if (!step.node.domain.empty()) {
    return false;
  }
  using Adder = void (Builder::*)(Step&);
  static const std::map<std::string, Adder> adders{{"Constant", &Builder::add_constant},
                                                   {"If", &Builder::add_if},
                                                   {"Loop", &Builder::add_loop},
                                                   {"Scan", &Builder::add_scan}};
  const auto found = adders.find(step.node.op);
  if (found != adders.end()) {
    (this->*found->second)(step);
    return true;
  }
  return add_sequence(step);
}

void Builder::add_constant(Step& step) {
  const FileNode& node = step.node;
  const std::string name = node.outputs.empty() ? "" : step.prefix + node.outputs.front();
  for (const char* key : {"value", "sparse_value"}) {
    if (const auto tensor = node.tensors.find(key); tensor != node.tensors.end()) {
      Tensor copy = tensor->second;
      copy.name = name;
      define(step, 0, {add_tensor(std::move(copy)), nullptr});
      return;
    }
  }
  for (const auto& [key, value] : node.attributes) {
    Values values;
    Shape shape;
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) {
      values.integers = {*whole};
    } else if (const auto* const real = std::get_if<double>(&value)) {
      values.real = true;
      values.reals = {*real};
    } else if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&value)) {
      values.integers = *list;
      shape = {static_cast<std::int64_t>(list->size())};
    } else if (const auto* const reals = std::get_if<std::vector<double>>(&value)) {
      values.real = true;
      values.reals = *reals;
      shape = {static_cast<std::int64_t>(reals->size())};
    } else {
      Tensor text;
      text.name = name;
      text.type = ElementType::text;
      const auto* const texts = std::get_if<std::vector<std::string>>(&value);
      text.shape = texts == nullptr ? Shape() : Shape{static_cast<std::int64_t>(texts->size())};
      text.role = Role::parameter;
      define(step, 0, {add_tensor(std::move(text)), nullptr});
      return;
    }
    const ElementType type = values.real ? ElementType::float32 : ElementType::int64;
    define(step, 0, {constant(name, std::move(values), shape, type), nullptr});
    return;
  }
  fail(node, "has no value");
}

void Builder::add_operator(Step& step) {
  Node node;
  node.name = step.name;
  node.domain = step.node.domain;
  node.op = step.node.op;
  node.version = version_of(node.domain);
  node.offset = step.node.origin.offset;
  node.attributes = step.node.attributes;
  // The one tensor that operators have as an attribute: of ConstantOfShape.
  if (const auto value = step.node.tensors.find("value"); value != step.node.tensors.end()) {
    const Tensor& tensor = value->second;
    node.attributes["value_type"] = static_cast<std::int64_t>(tensor.type);
    if (tensor.values && tensor.values->size() == 1) {
      node.attributes["value"] = tensor.values->real ? Attribute(tensor.values->reals[0])
                                                     : Attribute(tensor.values->integers[0]);
    }
  }
  for (std::size_t at = 0; at < step.inputs.size(); ++at) {
    node.inputs.push_back(step.inputs[at].absent() ? no_tensor : tensor_of(step, at));
  }
  for (std::size_t at = 0; at < step.node.outputs.size(); ++at) {
    const std::string& name = step.node.outputs[at];
    if (name.empty()) {
      node.outputs.push_back(no_tensor);
      continue;
    }
    Tensor tensor;
    tensor.name = step.prefix + name;
    node.outputs.push_back(add_tensor(std::move(tensor)));
    define(step, at, {node.outputs.back(), nullptr});
  }
  infer(node, step);
  compare_declared(node, step);
  split_fused(node);
  graph_.nodes.push_back(std::move(node));
}

void Builder::infer(Node& node, const Step& step) {
  Operands operands(graph_, node);
  const OperatorRule* const rule = find_rule(node.domain, node.op);
  try {
    if (rule == nullptr || rule->shape == nullptr) {
      throw NotKnown{"the operator " + node.kind() + " is not known"};
    }
    rule->shape(operands);
  } catch (const NotKnown& reason) {
    node.unknown = reason.why;
    take_declared(node, step);
    // Of these the work follows from the size alone, whatever the file says of the sides.
    bool known = rule != nullptr && (rule->work == view || rule->work == movement);
    for (const auto* const list : {&node.inputs, &node.outputs}) {
      for (const TensorIndex at : *list) {
        known = known && (at == no_tensor || graph_.tensor(at).shape);
      }
    }
    if (known) {
      node.unknown.clear();  // the file says what could not be found out
    } else if (options_.unknown == Unknown::refuse) {
      fail(step.node,
           reason.why + "; " +
               (options_.wording == Wording::options ? "--unknown traffic" : "'unknown: traffic'") +
               " takes it as memory traffic");
    } else {
      note("not understood: " + node.kind() + " ('" + node.name + "'): " + reason.why);
    }
    return;
  }
  if (!operands.noted().empty()) {
    note(node.kind() + ": " + operands.noted());
  }
  evaluate_outputs(node, operands);
  std::vector<Tensor> outputs = operands.take_outputs();
  for (std::size_t at = 0; at < outputs.size(); ++at) {
    if (node.outputs[at] != no_tensor) {
      Tensor& tensor = graph_.tensors[node.outputs[at]];
      tensor.type = outputs[at].type;
      tensor.shape = outputs[at].shape;
    }
  }
}

void Builder::evaluate_outputs(const Node& node, const Operands& operands) {
  std::vector<std::optional<Values>> values = evaluate(operands);
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (values[at] && node.outputs[at] != no_tensor) {
      value_elements_ += values[at]->size();
      if (value_elements_ <= most_value_elements) {
        graph_.tensors[node.outputs[at]].values = std::move(values[at]);
      }
    }
  }
}

// Shapes that stand in the file, for outputs that no rule gives.
void Builder::take_declared(const Node& node, const Step& step) {
  for (std::size_t at = 0; at < node.outputs.size(); ++at) {
    const auto found =
        node.outputs[at] == no_tensor ? declared_.end() : declared_.find(step.node.outputs[at]);
    if (found == declared_.end() || !found->second->is_tensor) {
      continue;
    }
    const Declared& declared = *found->second;
    Tensor& tensor = graph_.tensors[node.outputs[at]];
    tensor.type = declared.type;
    Shape shape = declared.sides;
    std::uint64_t elements = 1;
    bool known = declared.has_shape && shape.size() <= most_sides;
    for (std::size_t i = 0; i < shape.size() && known; ++i) {
      const auto bound = options_.dimensions.find(declared.names[i]);
      shape[i] = shape[i] < 0 && bound != options_.dimensions.end() ? bound->second : shape[i];
      known = shape[i] >= 0 && static_cast<std::uint64_t>(shape[i]) <= most_elements;
      elements *= known ? static_cast<std::uint64_t>(shape[i]) : 1;
      known = known && elements <= most_elements;
    }
    if (known) {
      tensor.shape = shape;
    }
  }
}

// Sides that stand in the file beside those found. Names of bodies of loops and functions are their
// own.
void Builder::compare_declared(const Node& node, const Step& step) {
  for (std::size_t at = 0; at < node.outputs.size() && step.prefix.empty(); ++at) {
    const auto found =
        node.outputs[at] == no_tensor ? declared_.end() : declared_.find(step.node.outputs[at]);
    if (found == declared_.end() || !found->second->has_shape ||
        !graph_.tensor(node.outputs[at]).shape) {
      continue;
    }
    const Declared& declared = *found->second;
    const Shape& shape = *graph_.tensor(node.outputs[at]).shape;
    bool equal = shape.size() == declared.sides.size();
    for (std::size_t i = 0; i < shape.size() && equal; ++i) {
      equal = declared.sides[i] < 0 || declared.sides[i] == shape[i];
    }
    if (!equal && other_shapes_++ == 0) {
      first_other_shape_ = "'" + declared.name + "' (" + to_string(declared.sides) + ", found " +
                           to_string(shape) + ")";
    }
  }
}

// FusedConv and FusedGemm come with an activation, FusedConv with a skip.
void Builder::split_fused(Node& node) {
  if (node.domain != "com.microsoft" || node.outputs.empty() || node.outputs[0] == no_tensor) {
    return;
  }
  const std::uint64_t elements = graph_.tensor(node.outputs[0]).elements();
  if (node.op == "FusedConv" && node.inputs.size() > 3 && node.inputs[3] != no_tensor) {
    node.epilogue.push_back({"Add", elements, {node.inputs[3]}});
  }
  const auto found = node.attributes.find("activation");
  if ((node.op == "FusedConv" || node.op == "FusedGemm") && found != node.attributes.end() &&
      std::holds_alternative<std::string>(found->second)) {
    const std::string& name = std::get<std::string>(found->second);
    const OperatorRule* const rule = find_rule("", name);
    node.epilogue.push_back({name, elements * (rule == nullptr ? 1 : rule->flops), {}});
  }
}

TensorIndex Builder::synthesize(const Step& step, const std::string& op, Attributes attributes,
                                const std::vector<TensorIndex>& inputs) {
  spend(step);
  Node node;
  node.name = step.name + "/" + op + "#" + std::to_string(graph_.nodes.size());
  node.op = op;
  node.version = 12;  // Unsqueeze and Squeeze with axes as an attribute
  node.offset = step.node.origin.offset;
  node.attributes = std::move(attributes);
  node.inputs = inputs;
  Tensor tensor;
  tensor.name = node.name;
  node.outputs = {add_tensor(std::move(tensor))};
  infer(node, step);
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs.front();
}

std::vector<std::string> Builder::unused_choices() const {
  const bool by_options = options_.wording == Wording::options;
  std::vector<std::string> unused;
  for (const auto& [name, branch] : options_.branches) {
    if (!used_choices_.contains("branch " + name) && name != "*") {
      unused.push_back((by_options ? "--branch " : "branches: ") + name);
    }
  }
  for (const auto& [name, count] : options_.loops) {
    if (!used_choices_.contains("loop " + name) && name != "*") {
      unused.push_back((by_options ? "--loop " : "loops: ") + name);
    }
  }
  return unused;
}

void Builder::finish_notices() {
  for (const auto& [what, times] : notes_) {
    result_.notices.push_back(what + (times > 1 ? " (" + std::to_string(times) + " times)" : ""));
  }
  if (other_shapes_ > 0) {
    result_.notices.push_back(
        "the file states shapes that differ from those inferred from its inputs, for " +
        std::to_string(other_shapes_) + " tensors, such as " + first_other_shape_ +
        ": the inferred ones are used");
  }
}

}  // namespace tessera::onnx
