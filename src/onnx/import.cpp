#include "tessera/onnx/import.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "builder.hpp"
#include "choice_text.hpp"
#include "model_file.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/file.hpp"
#include "tessera/core/text.hpp"
#include "tessera/onnx/passes/optimize.hpp"
#include "tessera/onnx/work.hpp"

namespace tessera::onnx {
namespace {

constexpr std::int64_t oldest_opset = 7;
constexpr std::int64_t newest_opset = 27;  // of ONNX 1.22

// Inputs of the model: given sides, names of dynamic ones, and who was named in the options.
class Inputs {
 public:
  Inputs(const ModelFile& file, const ImportOptions& options) : file_(file), options_(options) {}

  Tensor tensor_of(const Declared& declared) {
    Tensor tensor;
    tensor.name = declared.name;
    tensor.type = declared.type;
    tensor.role = Role::input;
    names_.push_back(declared.name);
    if (!declared.is_tensor) {
      complain("input '" + declared.name + "' is no tensor; sequences, maps and optionals from " +
               "outside are not known");
      return tensor;
    }
    tensor.shape = shape_of(declared);
    check(tensor);
    give_values(tensor);
    return tensor;
  }

  // All complaints at once, unused names among them.
  void finish() {
    for (const auto& [name, size] : options_.dimensions) {
      if (!used_.contains(name)) {
        complain(unknown_name("dimension", name, dimensions_));
      }
    }
    for (const auto& [name, values] : options_.values) {
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
        complain(unknown_name("input", name, names_));
      }
    }
    for (const auto& [name, shape] : options_.shapes) {
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
        complain(unknown_name("input", name, names_));
      }
    }
    if (!complaints_.empty()) {
      throw ConfigError(complaints_);
    }
  }

 private:
  void complain(const std::string& message) {
    complaints_.push_back(Diagnostic{file_.path, 0, 0, message});
  }

  Shape shape_of(const Declared& declared) {
    if (const auto given = options_.shapes.find(declared.name); given != options_.shapes.end()) {
      return given->second;
    }
    if (!declared.has_shape) {
      complain("input '" + declared.name + "' has no shape; give it with " +
               choice_text(options_, "shape", "shapes", declared.name, "…"));
      return {};
    }
    Shape shape = declared.sides;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] >= 0) {
        continue;
      }
      const std::string place = declared.name + "." + std::to_string(i);
      const std::string& name = declared.names[i].empty() ? place : declared.names[i];
      dimensions_.push_back(name);
      auto found = options_.dimensions.find(place);
      if (found == options_.dimensions.end()) {
        found = options_.dimensions.find(name);
      }
      if (found == options_.dimensions.end()) {
        if (unbound_.insert(name).second) {
          complain("dimension '" + name + "' of input '" + declared.name +
                   "' is dynamic; bind it with " +
                   choice_text(options_, "dim", "dimensions", name, "N"));
        }
        shape[i] = 1;
        continue;
      }
      used_.insert(found->first);
      shape[i] = found->second;
    }
    return shape;
  }

  void check(const Tensor& tensor) {
    std::uint64_t elements = 1;
    for (const std::int64_t side : *tensor.shape) {
      const bool sound = side >= 0 && static_cast<std::uint64_t>(side) <= most_elements;
      elements *= sound ? static_cast<std::uint64_t>(side) : most_elements + 1;
      if (elements > most_elements || tensor.shape->size() > most_sides) {
        throw ConfigError(Diagnostic{file_.path, 0, 0,
                                     "input '" + tensor.name + "' has the shape " +
                                         to_string(*tensor.shape) + ", more than 2^48 elements"});
      }
    }
  }

  void give_values(Tensor& tensor) {
    const auto found = options_.values.find(tensor.name);
    if (tensor.elements() == 0) {
      tensor.values.emplace().real = is_real(tensor.type);  // there is nothing to know
    }
    if (found == options_.values.end()) {
      return;
    }
    if (found->second.size() != tensor.elements()) {
      complain("input '" + tensor.name + "' has " + std::to_string(tensor.elements()) +
               " elements, and " + std::to_string(found->second.size()) + " values are given");
      return;
    }
    Values& values = tensor.values.emplace();
    values.real = is_real(tensor.type);
    for (const double value : found->second) {
      if (values.real) {
        values.reals.push_back(value);
      } else if (!(std::abs(value) < 9e15)) {
        complain("input '" + tensor.name + "': a value beyond 53 bits");
      } else {
        values.integers.push_back(static_cast<std::int64_t>(value));
      }
    }
  }

  const ModelFile& file_;
  const ImportOptions& options_;
  std::vector<Diagnostic> complaints_;
  std::vector<std::string> names_;
  std::vector<std::string> dimensions_;
  std::set<std::string> used_;
  std::set<std::string> unbound_;
};

void check_opset(const ModelFile& file) {
  const auto standard = file.opsets.find("");
  if (standard == file.opsets.end() && !file.opsets.empty()) {
    return;  // all of its operators are of other domains
  }
  if (standard == file.opsets.end()) {
    throw ConfigError(Diagnostic{file.path, 0, 0, "does not say which operator set it has"});
  }
  if (standard->second < oldest_opset || standard->second > newest_opset) {
    throw ConfigError(Diagnostic{file.path, 0, 0,
                                 "has operator set " + std::to_string(standard->second) +
                                     "; known are " + std::to_string(oldest_opset) + " to " +
                                     std::to_string(newest_opset)});
  }
}

void add_inputs(const ModelFile& file, const ImportOptions& options, Builder& builder, Scope& scope,
                Graph& graph) {
  Inputs inputs(file, options);
  std::set<std::string> constants;
  for (const Tensor& initializer : file.graph.initializers) {
    constants.insert(initializer.name);
  }
  for (const Declared& declared : file.graph.inputs) {
    // Old files list their initializers among the inputs.
    if (constants.contains(declared.name)) {
      continue;
    }
    const TensorIndex at = builder.add_tensor(inputs.tensor_of(declared));
    if (!scope.define(declared.name, {at, nullptr})) {
      throw ConfigError(
          Diagnostic{file.path, 0, 0, "there are two inputs '" + declared.name + "'"});
    }
    graph.inputs.push_back(at);
  }
  inputs.finish();
}

}  // namespace

std::vector<std::string> Import::all_notices() const {
  std::vector<std::string> all;
  if (without_data > 0) {
    all.push_back(std::to_string(without_data) + " constants have no data: shapes only");
  }
  all.insert(all.end(), notices.begin(), notices.end());
  return all;
}

Import import_model(const std::string& bytes, const std::string& path,
                    const ImportOptions& options) {
  const ModelFile file = read_model(bytes, path);
  check_opset(file);
  Import result;
  result.producer = file.producer;
  result.opsets = file.opsets;
  result.file_nodes = file.nodes;
  result.file_parameters = file.parameters;
  result.graph.name = file.graph.name;
  result.graph.path = path;
  Builder builder(file, options, result);
  Scope scope;
  add_inputs(file, options, builder, scope, result.graph);
  builder.add_graph(file.graph, scope, "");
  for (const Declared& output : file.graph.outputs) {
    const Symbol* const symbol = scope.find(output.name);
    if (symbol == nullptr) {
      throw ConfigError(
          Diagnostic{path, 0, 0, "has the output '" + output.name + "', which no node makes"});
    }
    if (symbol->items) {
      result.graph.outputs.insert(result.graph.outputs.end(), symbol->items->begin(),
                                  symbol->items->end());
    } else if (symbol->tensor != no_tensor) {
      result.graph.outputs.push_back(symbol->tensor);
    }
  }
  for (const std::string& choice : builder.unused_choices()) {
    throw ConfigError(Diagnostic{path, 0, 0, choice + ": there is no such node"});
  }
  result.without_data = file.without_data;
  builder.finish_notices();
  check_order(result.graph);
  total_cost(result.graph);  // work beyond 64 bits is found here, not later
  return result;
}

Import import_model(const std::string& path, const ImportOptions& options) {
  // What protobuf takes in one message at most.
  constexpr std::uint64_t most_bytes = (std::uint64_t{1} << 31) - 1;
  std::string bytes;
  try {
    bytes = read_regular_file(path, most_bytes);
  } catch (const FileError& error) {
    throw ConfigError(Diagnostic{path, 0, 0, "cannot be read: " + error.reason()});
  }
  return import_model(bytes, path, options);
}

}  // namespace tessera::onnx
