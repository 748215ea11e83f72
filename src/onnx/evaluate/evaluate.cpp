#include "evaluate/evaluate.hpp"

#include "evaluate/elements.hpp"
#include "evaluate/places.hpp"
#include "layout.hpp"
#include "model_file.hpp"

namespace tessera::onnx {
namespace {

using Result = std::optional<Values>;

Result values_of_shape(const Operands& node) {
  const Shape& shape = node.shape(0);
  const auto [begin, end] = shape_range(node);
  Values values;
  values.integers.assign(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                         shape.begin() + static_cast<std::ptrdiff_t>(end));
  return values;
}

Result values_of_size(const Operands& node) {
  Values values;
  values.integers = {static_cast<std::int64_t>(elements_of(node.shape(0)))};
  return values;
}

bool all_known(const Operands& node) {
  for (std::size_t at = 0; at < node.inputs(); ++at) {
    if (node.has(at) && !node.input(at)->values) {
      return false;
    }
  }
  return node.inputs() > 0;
}

bool small_outputs(const Operands& node) {
  for (std::size_t at = 0; at < node.outputs(); ++at) {
    if (node.wants(at) && !(node.output(at).shape && node.output(at).elements() <= most_values)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<Result> evaluate(const Operands& node) {
  std::vector<Result> results(node.outputs());
  const std::string& op = node.node().op;
  if (!node.node().domain.empty() || results.empty() || !node.wants(0) || !small_outputs(node)) {
    return results;
  }
  if (op == "Shape") {
    results[0] = values_of_shape(node);
  } else if (op == "Size") {
    results[0] = values_of_size(node);
  } else if (all_known(node)) {
    if (op == "Split") {
      evaluate_split(node, results);
    } else {
      results[0] = evaluate_elements(node);
      if (!results[0]) {
        results[0] = evaluate_places(node);
      }
    }
  }
  // A rule and an evaluation that differ would be a defect; without values nothing is wrong.
  for (std::size_t at = 0; at < results.size(); ++at) {
    if (results[at] && results[at]->size() != node.output(at).elements()) {
      results[at].reset();
    }
  }
  return results;
}

}  // namespace tessera::onnx
