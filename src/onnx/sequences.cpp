// Sequences and optionals are nothing but their parts: operators on them choose tensors while the
// model is read, and cost nothing.
#include <algorithm>
#include <map>

#include "builder.hpp"

namespace tessera::onnx {

const std::vector<TensorIndex>& Builder::items_of(const Step& step, std::size_t input) const {
  if (input >= step.inputs.size() || !step.inputs[input].items) {
    fail(step.node, "input " + std::to_string(input) + " is no sequence that is known");
  }
  return *step.inputs[input].items;
}

std::size_t Builder::position_in(const Step& step, std::size_t input, std::size_t size) const {
  const Values* const values = values_of(step, input);
  if (values == nullptr || values->real) {
    fail(step.node, "a position in a sequence is not known");
  }
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t at = values->integers[0];
  if (at < -count || at >= count) {
    fail(step.node, "position " + std::to_string(at) + " of a sequence of " + std::to_string(size));
  }
  return static_cast<std::size_t>(at < 0 ? at + count : at);
}

void Builder::split_to_sequence(Step& step) {
  const TensorIndex input = tensor_of(step, 0);
  const Tensor& tensor = graph_.tensor(input);
  if (!tensor.shape) {
    fail(step.node, "the shape of what it splits is not known");
  }
  const auto number = [&](const char* name, std::int64_t otherwise) {
    const auto found = step.node.attributes.find(name);
    const auto* const value =
        found == step.node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return value == nullptr ? otherwise : *value;
  };
  const std::int64_t rank = std::ssize(*tensor.shape);
  const std::int64_t given = number("axis", 0);
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) {
    fail(step.node,
         "a tensor of " + std::to_string(rank) + " sides has no axis " + std::to_string(given));
  }
  const std::int64_t side = (*tensor.shape)[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> parts;
  const bool has_split = step.inputs.size() > 1 && !step.inputs[1].absent();
  const bool keep = has_split || number("keepdims", 1) != 0;
  if (has_split) {
    const Tensor& split = graph_.tensor(tensor_of(step, 1));
    if (!split.values || split.values->real) {
      fail(step.node, "the parts are not known");
    }
    parts = split.values->integers;
    if (split.shape && split.shape->empty() && parts.size() == 1) {
      const std::int64_t each = parts[0];
      parts.clear();
      for (std::int64_t at = 0; each > 0 && at < side; at += each) {
        spend(step);
        parts.push_back(std::min(each, side - at));
      }
    }
  } else {
    for (std::int64_t at = 0; at < side; ++at) {
      spend(step);
      parts.push_back(1);
    }
  }
  auto items = std::make_shared<std::vector<TensorIndex>>();
  std::int64_t from = 0;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > side - from) {
      fail(step.node, "a side of " + std::to_string(side) + " does not split into these parts");
    }
    const std::vector<std::int64_t> axes{axis};
    TensorIndex item = synthesize(step, "Slice",
                                  {{"axes", axes},
                                   {"starts", std::vector<std::int64_t>{from}},
                                   {"ends", std::vector<std::int64_t>{from + part}}},
                                  {input});
    if (!keep) {
      item = synthesize(step, "Squeeze", {{"axes", axes}}, {item});
    }
    items->push_back(item);
    from += part;
  }
  define(step, 0, {no_tensor, items});
}

void Builder::concat_from_sequence(Step& step) {
  const std::vector<TensorIndex>& items = items_of(step, 0);
  const auto number = [&](const char* name) {
    const auto found = step.node.attributes.find(name);
    const auto* const value =
        found == step.node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return value == nullptr ? 0 : *value;
  };
  if (number("new_axis") != 0 || items.empty()) {
    define(step, 0, {stacked(step, items, number("axis")), nullptr});
  } else {
    define(step, 0, {synthesize(step, "Concat", {{"axis", number("axis")}}, items), nullptr});
  }
}

// The body once for each item of the first sequence.
void Builder::map_sequence(Step& step) {
  const FileGraph& body = body_of(step, "body");
  const std::size_t count = items_of(step, 0).size();
  if (body.inputs.size() != step.inputs.size() || body.outputs.size() != step.node.outputs.size()) {
    fail(step.node, "its body has " + std::to_string(body.inputs.size()) + " inputs and " +
                        std::to_string(body.outputs.size()) + " outputs");
  }
  std::vector<std::shared_ptr<std::vector<TensorIndex>>> results;
  for (std::size_t at = 0; at < body.outputs.size(); ++at) {
    results.push_back(std::make_shared<std::vector<TensorIndex>>());
  }
  for (std::size_t i = 0; i < count; ++i) {
    spend(step);
    Scope inner(&step.scope);
    for (std::size_t at = 0; at < step.inputs.size(); ++at) {
      Symbol symbol = step.inputs[at];
      if (symbol.items) {
        if (symbol.items->size() != count) {
          fail(step.node, "sequences of different length");
        }
        symbol = {(*symbol.items)[i], nullptr};
      }
      inner.define(body.inputs[at].name, symbol);
    }
    add_graph(body, inner, step.name + "[" + std::to_string(i) + "]/");
    for (std::size_t at = 0; at < results.size(); ++at) {
      const Symbol item = output_of(step, inner, body.outputs[at].name);
      if (item.tensor == no_tensor) {
        fail(step.node, "an item is no tensor");
      }
      results[at]->push_back(item.tensor);
    }
  }
  for (std::size_t at = 0; at < results.size(); ++at) {
    define(step, at, {no_tensor, results[at]});
  }
}

// False for an operator that has nothing to do with them.
bool Builder::add_sequence(Step& step) {
  using Items = std::vector<TensorIndex>;
  const std::string& op = step.node.op;
  const bool has_second = step.inputs.size() > 1 && !step.inputs[1].absent();
  if (op == "SequenceConstruct") {
    auto items = std::make_shared<Items>();
    for (std::size_t at = 0; at < step.inputs.size(); ++at) {
      items->push_back(tensor_of(step, at));
    }
    define(step, 0, {no_tensor, items});
  } else if (op == "SequenceEmpty") {
    define(step, 0, {no_tensor, std::make_shared<Items>()});
  } else if (op == "SequenceAt") {
    const Items& items = items_of(step, 0);
    define(step, 0, {items[position_in(step, 1, items.size())], nullptr});
  } else if (op == "SequenceInsert") {
    auto items = std::make_shared<Items>(items_of(step, 0));
    const bool placed = step.inputs.size() > 2 && !step.inputs[2].absent();
    // Behind the last is a place, too.
    const std::size_t at = placed ? position_in(step, 2, items->size() + 1) : items->size();
    items->insert(items->begin() + static_cast<std::ptrdiff_t>(at), tensor_of(step, 1));
    define(step, 0, {no_tensor, items});
  } else if (op == "SequenceErase") {
    auto items = std::make_shared<Items>(items_of(step, 0));
    if (items->empty()) {
      fail(step.node, "nothing to take out of an empty sequence");
    }
    const std::size_t at = has_second ? position_in(step, 1, items->size()) : items->size() - 1;
    items->erase(items->begin() + static_cast<std::ptrdiff_t>(at));
    define(step, 0, {no_tensor, items});
  } else if (op == "SequenceLength") {
    Values length;
    length.integers = {static_cast<std::int64_t>(items_of(step, 0).size())};
    define(step, 0, {constant(step.name, length, {}, ElementType::int64), nullptr});
  } else if (op == "SplitToSequence") {
    split_to_sequence(step);
  } else if (op == "ConcatFromSequence") {
    concat_from_sequence(step);
  } else if (op == "SequenceMap") {
    map_sequence(step);
  } else if (op == "Optional" || op == "OptionalGetElement") {
    define(step, 0, step.inputs.empty() ? Symbol() : step.inputs[0]);
  } else if (op == "OptionalHasElement") {
    Values has;
    has.integers = {step.inputs.empty() || step.inputs[0].absent() ? 0 : 1};
    define(step, 0, {constant(step.name, has, {}, ElementType::boolean), nullptr});
  } else if (op == "Identity" && !step.inputs.empty() && step.inputs[0].items) {
    define(step, 0, step.inputs[0]);
  } else {
    return false;
  }
  return true;
}

}  // namespace tessera::onnx
