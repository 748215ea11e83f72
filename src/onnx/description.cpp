#include "tessera/onnx/description.hpp"

#include "tessera/config/key.hpp"

namespace tessera::onnx {
namespace {

constexpr std::int64_t longest_side = std::int64_t{1} << 40U;
constexpr std::int64_t most_iterations = 1 << 20;

const config::OtherKey model{"model", "file", "", "ONNX file"};
const config::OtherKey dimensions_key{"dimensions", "mapping", "none",
                                      "sizes of dynamic dimensions, by name or INPUT.AXIS"};
const config::OtherKey shapes_key{"shapes", "mapping", "those in the file",
                                  "whole shapes of inputs, by name"};
const config::OtherKey values_key{"values", "mapping", "none",
                                  "values of inputs that decide about shapes or branches"};
const config::OtherKey branches_key{"branches", "mapping", "by the condition",
                                    "then or else, by name of the If node or \"*\""};
const config::OtherKey loops_key{"loops", "mapping", "as the file says",
                                 "iterations, by name of the Loop node or \"*\""};

config::ChoiceKey<Level>::Choices levels() {
  config::ChoiceKey<Level>::Choices choices;
  for (const std::string& name : level_names()) {
    choices.emplace_back(name, level_from(name));
  }
  return choices;
}

// Made when asked for, as the names of levels are another file's.
const config::ChoiceKey<Level>& level_key() {
  static const config::ChoiceKey<Level> key{"optimize", levels(), "none",
                                            "none, basic, extended or all"};
  return key;
}

const config::ChoiceKey<Unknown> unknown{
    "unknown",
    {{"refuse", Unknown::refuse}, {"traffic", Unknown::traffic}},
    "refuse",
    "refuse operators that are not understood, or take them as memory traffic"};

void read_values(config::Section& values, const std::string& name, ImportOptions& options) {
  if (values.raw(name).kind == config::Value::Kind::sequence) {
    options.values[name] = values.get_list<double>(name);
  } else {
    options.values[name] = {values.get<double>(name)};
  }
}

}  // namespace

std::vector<std::string> unknown_names() {
  return unknown.info().names;
}

Unknown unknown_from(const std::string& name) {
  if (name != "refuse" && name != "traffic") {
    throw ConfigError(unknown_name("treatment of unknown operators", name, unknown_names()));
  }
  return name == "refuse" ? Unknown::refuse : Unknown::traffic;
}

Description read_description(config::Section& section) {
  Description description;
  description.path = section.get_file(model.key());
  ImportOptions& options = description.options;
  config::Section dimensions = section.section(dimensions_key.key());
  for (const std::string& name : dimensions.keys()) {
    options.dimensions[name] =
        dimensions.get<std::int64_t>(name, config::between<std::int64_t>(0, longest_side));
  }
  config::Section shapes = section.section(shapes_key.key());
  for (const std::string& name : shapes.keys()) {
    options.shapes[name] = shapes.get_list<std::int64_t>(name);
  }
  config::Section values = section.section(values_key.key());
  for (const std::string& name : values.keys()) {
    read_values(values, name, options);
  }
  config::Section branches = section.section(branches_key.key());
  for (const std::string& name : branches.keys()) {
    options.branches[name] = branches.get_name(name, {"then", "else"}) == "then";
  }
  config::Section loops = section.section(loops_key.key());
  for (const std::string& name : loops.keys()) {
    options.loops[name] =
        loops.get<std::int64_t>(name, config::between<std::int64_t>(0, most_iterations));
  }
  description.level = level_key().read(section);
  options.unknown = unknown.read(section);
  return description;
}

std::vector<ParameterInfo> description_parameters() {
  return {model,        dimensions_key, shapes_key,  values_key,
          branches_key, loops_key,      level_key(), unknown};
}

}  // namespace tessera::onnx
