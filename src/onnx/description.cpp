#include "tessera/onnx/description.hpp"

namespace tessera::onnx {
namespace {

constexpr std::int64_t longest_side = std::int64_t{1} << 40U;
constexpr std::int64_t most_iterations = 1 << 20;

void read_values(config::Section& values, const std::string& name, ImportOptions& options) {
  if (values.raw(name).kind == config::Value::Kind::sequence) {
    options.values[name] = values.get_list<double>(name);
  } else {
    options.values[name] = {values.get<double>(name)};
  }
}

}  // namespace

std::vector<std::string> unknown_names() {
  return {"refuse", "traffic"};
}

Unknown unknown_from(const std::string& name) {
  if (name != "refuse" && name != "traffic") {
    throw ConfigError(unknown_name("treatment of unknown operators", name, unknown_names()));
  }
  return name == "refuse" ? Unknown::refuse : Unknown::traffic;
}

Description read_description(config::Section& section) {
  Description description;
  description.path = section.get_file("model");
  ImportOptions& options = description.options;
  config::Section dimensions = section.section("dimensions");
  for (const std::string& name : dimensions.keys()) {
    options.dimensions[name] =
        dimensions.get<std::int64_t>(name, config::between<std::int64_t>(0, longest_side));
  }
  config::Section shapes = section.section("shapes");
  for (const std::string& name : shapes.keys()) {
    options.shapes[name] = shapes.get_list<std::int64_t>(name);
  }
  config::Section values = section.section("values");
  for (const std::string& name : values.keys()) {
    read_values(values, name, options);
  }
  config::Section branches = section.section("branches");
  for (const std::string& name : branches.keys()) {
    options.branches[name] = branches.get_name(name, {"then", "else"}) == "then";
  }
  config::Section loops = section.section("loops");
  for (const std::string& name : loops.keys()) {
    options.loops[name] =
        loops.get<std::int64_t>(name, config::between<std::int64_t>(0, most_iterations));
  }
  // A complaint leaves the name empty.
  const std::string level = section.get_name("optimize", level_names(), "none");
  description.level = level.empty() ? Level::none : level_from(level);
  const std::string unknown = section.get_name("unknown", unknown_names(), "refuse");
  options.unknown = unknown == "traffic" ? Unknown::traffic : Unknown::refuse;
  return description;
}

std::vector<ParameterInfo> description_parameters() {
  return {{"model", "", "", "ONNX file"},
          {"dimensions", "", "none", "sizes of dynamic dimensions, by name or INPUT.AXIS"},
          {"shapes", "", "those in the file", "whole shapes of inputs, by name"},
          {"values", "", "none", "values of inputs that decide about shapes or branches"},
          {"branches", "", "by the condition", "then or else, by name of the If node or \"*\""},
          {"loops", "", "as the file says", "iterations, by name of the Loop node or \"*\""},
          {"optimize", "", "none", "none, basic, extended or all"},
          {"unknown", "", "refuse",
           "refuse operators that are not understood, or take them as "
           "memory traffic"}};
}

}  // namespace tessera::onnx
