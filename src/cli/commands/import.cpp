#include <iostream>
#include <utility>

#include "migrate.hpp"
#include "tables/model_json.hpp"
#include "tables/model_tables.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/section_info.hpp"
#include "tessera/core/text.hpp"
#include "tessera/onnx/description.hpp"

namespace tessera::cli {
namespace {

Options import_options() {
  Options options("import",
                  "Read an ONNX model and report what it computes: each node's operator, shapes, "
                  "FLOPs, bytes and parameters, totals, and what was not understood. A YAML file "
                  "may give the model and the options below. With --from: convert files of "
                  "another simulator to files of this one, and report what was not carried over.",
                  "model or configuration", "MODEL.onnx | MODEL.yaml | FILE");
  options
      .add("dim", "size of a dynamic dimension, by name or INPUT.AXIS (repeatable)", texts_value(),
           "NAME=N")
      .add("shape", "complete shape of an input (repeatable)", texts_value(), "INPUT=1x3x224x224")
      .add("value", "values of an input that determines shapes or branches (repeatable)",
           texts_value(), "INPUT=V,...")
      .add("branch", "branch taken at an If node, or with * at all of them (repeatable)",
           texts_value(), "NODE=then|else")
      .add("loop", "iterations of a Loop node, or with * of all of them (repeatable)",
           texts_value(), "NODE=N")
      .add("optimize", "level of optimisation: none, basic, extended or all", text_value(), "LEVEL")
      .add("unknown", "unknown operators: refuse, or traffic: count them as memory traffic",
           text_value(), "NAME")
      .add("summary", "omit the table of nodes, or in JSON its list")
      .add("json", "print one JSON object");
  add_migration_options(options);
  return options;
}

// "NAME=VALUE"; names may hold '='.
std::pair<std::string, std::string> assignment(const std::string& option, const std::string& text) {
  const std::size_t sign = text.rfind('=');
  if (sign == std::string::npos || sign == 0) {
    throw ConfigError("--" + option + ": expected NAME=VALUE; got '" + text + "'");
  }
  return {text.substr(0, sign), text.substr(sign + 1)};
}

template <class T>
T number(const std::string& option, const std::string& text) {
  std::string problem;
  const auto value = config::parse_as<T>(text, problem);
  if (!value) {
    throw ConfigError("--" + option + ": " + problem);
  }
  return *value;
}

std::int64_t count(const std::string& option, const std::string& text) {
  constexpr std::int64_t most = std::int64_t{1} << 40U;
  const auto value = number<std::int64_t>(option, text);
  if (value < 0 || value > most) {
    throw ConfigError("--" + option + ": must be between 0 and 2^40; got " + text);
  }
  return value;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

void add_choices(const Options& given, onnx::ImportOptions& options) {
  for (const std::string& text : given.texts("dim")) {
    const auto [name, value] = assignment("dim", text);
    options.dimensions[name] = count("dim", value);
  }
  for (const std::string& text : given.texts("shape")) {
    const auto [name, value] = assignment("shape", text);
    onnx::Shape& shape = options.shapes[name] = {};
    for (const std::string& side : parts_of(value, 'x')) {
      shape.push_back(count("shape", side));
    }
  }
  for (const std::string& text : given.texts("value")) {
    const auto [name, value] = assignment("value", text);
    std::vector<double>& values = options.values[name] = {};
    for (const std::string& each : parts_of(value, ',')) {
      values.push_back(number<double>("value", each));
    }
  }
  for (const std::string& text : given.texts("branch")) {
    const auto [name, value] = assignment("branch", text);
    if (value != "then" && value != "else") {
      throw ConfigError("--branch: expected then or else; got '" + value + "'");
    }
    options.branches[name] = value == "then";
  }
  for (const std::string& text : given.texts("loop")) {
    const auto [name, value] = assignment("loop", text);
    options.loops[name] = count("loop", value);
  }
}

bool is_yaml(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

onnx::Description description_of(const Options& given) {
  onnx::Description description;
  if (is_yaml(given.subject())) {
    config::Diagnostics diagnostics;
    const std::string& path = given.subject();
    config::Value root =
        config::parse(path, config::load_named(path, config::load_text_file), diagnostics);
    diagnostics.throw_if_any();
    config::Section section(std::move(root), "", diagnostics);
    section.declare([] { return section_of_keys("", "", onnx::description_parameters()); });
    description = onnx::read_description(section);
    section.finish();
    diagnostics.throw_if_any();
  } else {
    description.path = given.subject();
  }
  add_choices(given, description.options);
  description.options.wording = onnx::Wording::options;
  if (given.has("optimize")) {
    description.level = onnx::level_from(given.text("optimize"));
  }
  if (given.has("unknown")) {
    description.options.unknown = onnx::unknown_from(given.text("unknown"));
  }
  return description;
}

LevelTotals totals_of(const onnx::Graph& graph, onnx::Level level,
                      std::vector<onnx::PassReport> passes) {
  return {level, graph.nodes.size(), onnx::total_cost(graph), std::move(passes)};
}

// Totals at each level up to the one asked for, at which the graph then is.
std::vector<LevelTotals> climb(onnx::Graph& graph, onnx::Level level) {
  std::vector<LevelTotals> levels{totals_of(graph, onnx::Level::none, {})};
  const onnx::Graph original = graph;
  for (int step = 1; step <= static_cast<int>(level); ++step) {
    graph = original;
    auto passes = onnx::optimize(graph, static_cast<onnx::Level>(step));
    levels.push_back(totals_of(graph, static_cast<onnx::Level>(step), std::move(passes)));
  }
  return levels;
}

int describe_model(const Options& options, comm::Communicator& world) {
  const onnx::Description description = description_of(options);
  // On all ranks, so that all fail alike.
  onnx::Import model = onnx::import_model(description.path, description.options);
  if (world.rank() != 0) {
    return 0;
  }
  const std::vector<LevelTotals> levels = climb(model.graph, description.level);
  if (options.flag("json")) {
    std::cout << model_json(model, levels, !options.flag("summary")) << std::flush;
    return 0;
  }
  if (!options.flag("summary")) {
    std::cout << node_table(model.graph) << "\n";
  }
  std::cout << kind_table(model.graph) << "\n";
  if (levels.size() > 1) {
    std::cout << level_table(levels) << "\n";
  }
  std::cout << totals(model, levels.back());
  for (const std::string& notice : model.all_notices()) {
    std::cout << "notice: " << notice << "\n";
  }
  std::cout << std::flush;
  return 0;
}

// Options of the one use of this command beside the other.
void refuse_mixed(const Options& options) {
  const bool migrates = options.has("from");
  for (const char* name :
       {"dim", "shape", "value", "branch", "loop", "optimize", "unknown", "summary"}) {
    if (migrates && options.has(name)) {
      throw ConfigError("--" + std::string(name) + " is for models of ONNX, not for --from");
    }
  }
  for (const char* name : {"with", "output", "force"}) {
    if (!migrates && options.has(name)) {
      throw ConfigError("--" + std::string(name) + " goes with --from");
    }
  }
}

int import_command(const Words& words, comm::Communicator& world) {
  Options options = import_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  refuse_mixed(options);
  return options.has("from") ? migrate_files(options, world) : describe_model(options, world);
}

const Registration import_registration(
    commands(),
    {"import", "report what an ONNX model computes, or convert another simulator's files", {}},
    Command{"import FILE [options]", import_command});

}  // namespace
}  // namespace tessera::cli
