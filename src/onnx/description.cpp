#include "tessera/onnx/description.hpp"

#include "tessera/config/key.hpp"

namespace tessera::onnx {
namespace {

constexpr std::int64_t longest_side = std::int64_t{1} << 40U;
constexpr std::int64_t most_iterations = 1 << 20;

config::ChoiceKey<Level>::Choices levels() {
  config::ChoiceKey<Level>::Choices choices;
  for (const std::string& name : level_names()) {
    choices.emplace_back(name, level_from(name));
  }
  return choices;
}

struct DescriptionKeys {
  config::OtherKey model{"model", "file", "", "ONNX file"};
  config::OtherKey dimensions{"dimensions", "mapping", "none",
                              "sizes of dynamic dimensions, by name or INPUT.AXIS"};
  config::OtherKey shapes{"shapes", "mapping", "those in the file",
                          "complete shapes of inputs, by name"};
  config::OtherKey values{"values", "mapping", "none",
                          "values of inputs that determine shapes or branches"};
  config::OtherKey branches{"branches", "mapping", "by the condition",
                            "branch taken, then or else, by name of the If node or \"*\""};
  config::OtherKey loops{"loops", "mapping", "as the file says",
                         "number of iterations, by name of the Loop node or \"*\""};
  config::ChoiceKey<Level> level{"optimize", levels(), "none",
                                 "level of graph optimizations: none, basic, extended or all"};
  config::ChoiceKey<Unknown> unknown{
      "unknown",
      {{"refuse", Unknown::refuse}, {"traffic", Unknown::traffic}},
      ImportOptions{}.unknown,
      "refuse: an unknown operator is an error; traffic: it counts as memory traffic only"};
};

// Made when they are first asked for: tables in other files have them before main.
const DescriptionKeys& keys() {
  static const DescriptionKeys made;
  return made;
}

void read_values(config::Section& values, const std::string& name, ImportOptions& options) {
  if (values.raw(name).kind == config::Value::Kind::sequence) {
    options.values[name] = values.get_list<double>(name);
  } else {
    options.values[name] = {values.get<double>(name)};
  }
}

}  // namespace

std::vector<std::string> unknown_names() {
  return keys().unknown.info().names;
}

Unknown unknown_from(const std::string& name) {
  if (name != "refuse" && name != "traffic") {
    throw ConfigError(unknown_name("treatment of unknown operators", name, unknown_names()));
  }
  return name == "refuse" ? Unknown::refuse : Unknown::traffic;
}

Description read_description(config::Section& section) {
  Description description;
  description.path = section.get_file(keys().model.key());
  ImportOptions& options = description.options;
  config::Section dimensions = section.section(keys().dimensions.key());
  for (const std::string& name : dimensions.keys()) {
    options.dimensions[name] =
        dimensions.get<std::int64_t>(name, config::between<std::int64_t>(0, longest_side));
  }
  config::Section shapes = section.section(keys().shapes.key());
  for (const std::string& name : shapes.keys()) {
    options.shapes[name] = shapes.get_list<std::int64_t>(name);
  }
  config::Section values = section.section(keys().values.key());
  for (const std::string& name : values.keys()) {
    read_values(values, name, options);
  }
  config::Section branches = section.section(keys().branches.key());
  for (const std::string& name : branches.keys()) {
    options.branches[name] = branches.get_name(name, {"then", "else"}) == "then";
  }
  config::Section loops = section.section(keys().loops.key());
  for (const std::string& name : loops.keys()) {
    options.loops[name] =
        loops.get<std::int64_t>(name, config::between<std::int64_t>(0, most_iterations));
  }
  description.level = keys().level.read(section);
  options.unknown = keys().unknown.read(section);
  return description;
}

void tell_notices(config::Section& section, const Description& description,
                  const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) {
    section.tell("of " + description.path + ": " + notice);
  }
}

std::vector<ParameterInfo> description_parameters() {
  const DescriptionKeys& all = keys();
  return {all.model,    all.dimensions, all.shapes, all.values,
          all.branches, all.loops,      all.level,  all.unknown};
}

}  // namespace tessera::onnx
