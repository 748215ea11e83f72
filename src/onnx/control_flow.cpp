// Subgraphs and functions in place of the nodes that hold or call them.
#include <algorithm>
#include <utility>

#include "builder.hpp"
#include "choice_text.hpp"
#include "tessera/core/error.hpp"

namespace tessera::onnx {
namespace {

constexpr int deepest_call = 64;

}  // namespace

const FileGraph& Builder::body_of(const Step& step, const char* name) const {
  const auto found = step.node.graphs.find(name);
  if (found == step.node.graphs.end()) {
    fail(step.node, std::string("has no graph '") + name + "'");
  }
  return *found->second;
}

Symbol Builder::output_of(const Step& step, const Scope& scope, const std::string& name) const {
  const Symbol* const symbol = scope.find(name);
  if (symbol == nullptr) {
    fail(step.node, "its graph has the output '" + name + "', which no node makes");
  }
  return *symbol;
}

// A choice by name goes before the condition, one for all others behind it.
void Builder::add_if(Step& step) {
  const auto named = options_.branches.find(step.name);
  const auto others = options_.branches.find("*");
  const Values* const condition = values_of(step, 0);
  tensor_of(step, 0);
  bool then_branch = false;
  if (named != options_.branches.end()) {
    used_choices_.insert("branch " + step.name);
    then_branch = named->second;
  } else if (condition != nullptr) {
    then_branch = condition->as_real(0) != 0;
  } else if (others != options_.branches.end()) {
    then_branch = others->second;
  } else {
    const bool by_options = options_.wording == Wording::options;
    fail(step.node, "its condition is not known; choose a branch with " +
                        choice_text(options_, "branch", "branches", step.name, "then") + " or '" +
                        (by_options ? "=" : "") +
                        "else', or give the inputs that it follows from with " +
                        (by_options ? "--value" : "'values'"));
  }
  const FileGraph& graph = body_of(step, then_branch ? "then_branch" : "else_branch");
  if (graph.outputs.size() != step.node.outputs.size()) {
    fail(step.node, "its branch has " + std::to_string(graph.outputs.size()) + " outputs");
  }
  Scope inner(&step.scope);
  add_graph(graph, inner, step.prefix);
  for (std::size_t at = 0; at < graph.outputs.size(); ++at) {
    define(step, at, output_of(step, inner, graph.outputs[at].name));
  }
}

// -1: as the file says.
std::int64_t Builder::iterations_of(const Step& step, const char* option) const {
  auto found = options_.loops.find(step.name);
  if (found != options_.loops.end()) {
    used_choices_.insert(std::string(option) + " " + step.name);
    return found->second;
  }
  found = options_.loops.find("*");
  return found == options_.loops.end() ? -1 : found->second;
}

TensorIndex Builder::stacked(const Step& step, const std::vector<TensorIndex>& parts,
                             std::int64_t axis) {
  if (parts.empty()) {
    Tensor nothing;
    nothing.name = step.name + "/nothing";
    nothing.type = ElementType::float32;
    nothing.shape = {0};
    nothing.role = Role::parameter;
    return add_tensor(std::move(nothing));
  }
  std::vector<TensorIndex> rows;
  for (const TensorIndex part : parts) {
    rows.push_back(
        synthesize(step, "Unsqueeze", {{"axes", std::vector<std::int64_t>{axis}}}, {part}));
  }
  return synthesize(step, "Concat", {{"axis", axis}}, rows);
}

// Inputs: most iterations, condition, state …; body: iteration, condition, state … to condition,
// state …, one slice of each further output.
void Builder::add_loop(Step& step) {
  const FileGraph& body = body_of(step, "body");
  const std::size_t states = step.inputs.size() < 2 ? 0 : step.inputs.size() - 2;
  if (body.inputs.size() != states + 2 || body.outputs.size() < states + 1 ||
      body.outputs.size() - 1 != step.node.outputs.size()) {
    fail(step.node, "its body has " + std::to_string(body.inputs.size()) + " inputs and " +
                        std::to_string(body.outputs.size()) + " outputs");
  }
  const std::int64_t given = iterations_of(step, "loop");
  std::int64_t count = given;
  const Values* const most = values_of(step, 0);
  const Values* const condition = values_of(step, 1);
  if (given < 0) {
    if (most == nullptr || most->real) {
      fail(step.node, "how often it runs is not known; say so with " +
                          choice_text(options_, "loop", "loops", step.name, "N"));
    }
    const bool begins = condition == nullptr || condition->as_real(0) != 0;
    count = begins ? std::max<std::int64_t>(0, most->integers[0]) : 0;
  }
  std::vector<Symbol> state(
      step.inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(step.inputs)),
      step.inputs.end());
  std::vector<std::vector<TensorIndex>> slices(body.outputs.size() - 1 - states);
  for (std::int64_t i = 0; i < count; ++i) {
    spend(step);
    const std::string prefix = step.name + "[" + std::to_string(i) + "]/";
    Scope inner(&step.scope);
    Values iteration;
    iteration.integers = {i};
    Values go_on;
    go_on.integers = {1};
    inner.define(body.inputs[0].name,
                 {constant(prefix + "iteration", iteration, {}, ElementType::int64), nullptr});
    inner.define(body.inputs[1].name,
                 {constant(prefix + "condition", go_on, {}, ElementType::boolean), nullptr});
    for (std::size_t at = 0; at < states; ++at) {
      inner.define(body.inputs[at + 2].name, state[at]);
    }
    add_graph(body, inner, prefix);
    for (std::size_t at = 0; at < states; ++at) {
      state[at] = output_of(step, inner, body.outputs[at + 1].name);
    }
    for (std::size_t at = 0; at < slices.size(); ++at) {
      const Symbol slice = output_of(step, inner, body.outputs[states + 1 + at].name);
      if (slice.tensor == no_tensor) {
        fail(step.node, "a slice of an output is no tensor");
      }
      slices[at].push_back(slice.tensor);
    }
    const Symbol next = output_of(step, inner, body.outputs[0].name);
    const auto* const goes_on =
        next.tensor == no_tensor ? nullptr : &graph_.tensor(next.tensor).values;
    if (given < 0 && goes_on != nullptr && *goes_on && (*goes_on)->size() == 1 &&
        (*goes_on)->as_real(0) == 0) {
      break;
    }
  }
  for (std::size_t at = 0; at < states; ++at) {
    define(step, at, state[at]);
  }
  for (std::size_t at = 0; at < slices.size(); ++at) {
    define(step, states + at, {stacked(step, slices[at], 0), nullptr});
  }
}

// Inputs: state …, sequences …; body: state …, one slice of each sequence to state …, slices ….
void Builder::add_scan(Step& step) {
  const FileGraph& body = body_of(step, "body");
  const auto number = step.node.attributes.find("num_scan_inputs");
  const auto* const scanned =
      number == step.node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&number->second);
  if (version_of("") < 9) {
    fail(step.node, "a Scan of opset 8 is not known; opset 9 changed its inputs");
  }
  const auto inputs = static_cast<std::int64_t>(step.inputs.size());
  if (scanned == nullptr || *scanned < 1 || *scanned > inputs ||
      body.inputs.size() != step.inputs.size()) {
    fail(step.node, "its body has " + std::to_string(body.inputs.size()) + " inputs");
  }
  const auto states = static_cast<std::size_t>(inputs - *scanned);
  if (body.outputs.size() < states || body.outputs.size() != step.node.outputs.size()) {
    fail(step.node, "its body has " + std::to_string(body.outputs.size()) + " outputs");
  }
  const auto listed = [&](const char* name, std::size_t at) -> std::int64_t {
    const auto found = step.node.attributes.find(name);
    const auto* const list = found == step.node.attributes.end()
                                 ? nullptr
                                 : std::get_if<std::vector<std::int64_t>>(&found->second);
    return list != nullptr && at < list->size() ? (*list)[at] : 0;
  };
  std::vector<Symbol> state(step.inputs.begin(),
                            step.inputs.begin() + static_cast<std::ptrdiff_t>(states));
  const Tensor& first = graph_.tensor(tensor_of(step, states));
  const std::int64_t rank = first.shape ? std::ssize(*first.shape) : 0;
  std::int64_t axis = listed("scan_input_axes", 0);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank) {
    fail(step.node, "its first sequence has no axis " + std::to_string(axis));
  }
  const std::int64_t count = (*first.shape)[static_cast<std::size_t>(axis)];
  std::vector<std::vector<TensorIndex>> slices(body.outputs.size() - states);
  for (std::int64_t i = 0; i < count; ++i) {
    spend(step);
    const std::string prefix = step.name + "[" + std::to_string(i) + "]/";
    Scope inner(&step.scope);
    for (std::size_t at = 0; at < states; ++at) {
      inner.define(body.inputs[at].name, state[at]);
    }
    for (std::size_t at = states; at < step.inputs.size(); ++at) {
      const bool backwards = listed("scan_input_directions", at - states) != 0;
      Values index;
      index.integers = {backwards ? count - 1 - i : i};
      const TensorIndex which = constant(prefix + "index", index, {}, ElementType::int64);
      inner.define(body.inputs[at].name,
                   {synthesize(step, "Gather", {{"axis", listed("scan_input_axes", at - states)}},
                               {tensor_of(step, at), which}),
                    nullptr});
    }
    add_graph(body, inner, prefix);
    for (std::size_t at = 0; at < body.outputs.size(); ++at) {
      const Symbol symbol = output_of(step, inner, body.outputs[at].name);
      if (at < states) {
        state[at] = symbol;
      } else if (symbol.tensor != no_tensor) {
        slices[at - states].push_back(symbol.tensor);
      }
    }
  }
  for (std::size_t at = 0; at < states; ++at) {
    define(step, at, state[at]);
  }
  for (std::size_t at = 0; at < slices.size(); ++at) {
    define(step, states + at, {stacked(step, slices[at], listed("scan_output_axes", at)), nullptr});
  }
}

// A function of the model: its nodes, with what the call gives for inputs and attributes.
void Builder::add_call(Step& step, const FileFunction& function) {
  if (frame_.depth == deepest_call) {
    fail(step.node, "functions call each other deeper than " + std::to_string(deepest_call));
  }
  const Frame outer = std::exchange(frame_, {&function.opsets, frame_.depth + 1});
  Scope inner;
  for (std::size_t at = 0; at < function.inputs.size(); ++at) {
    inner.define(function.inputs[at], at < step.inputs.size() ? step.inputs[at] : Symbol());
  }
  for (const FileNode& original : function.body.nodes) {
    FileNode node = original;
    for (const auto& [own, given] : original.references) {
      const auto attribute = step.node.attributes.find(given);
      if (attribute != step.node.attributes.end()) {
        node.attributes[own] = attribute->second;
      }
      const auto tensor = step.node.tensors.find(given);
      if (tensor != step.node.tensors.end()) {
        node.tensors[own] = tensor->second;
      }
      const auto graph = step.node.graphs.find(given);
      if (graph != step.node.graphs.end()) {
        node.graphs[own] = graph->second;
      }
    }
    add_node(node, inner, step.name + "/");
  }
  frame_ = outer;
  for (std::size_t at = 0; at < std::min(function.outputs.size(), step.node.outputs.size()); ++at) {
    define(step, at, output_of(step, inner, function.outputs[at]));
  }
}

}  // namespace tessera::onnx
