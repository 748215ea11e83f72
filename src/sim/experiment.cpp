#include "tessera/sim/experiment.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <utility>

#include "chip_experiment.hpp"
#include "graph_experiment.hpp"
#include "placement_file.hpp"
#include "serving_experiment.hpp"
#include "tessera/machine/partition.hpp"
#include "tessera/machine/routing.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/plan/graph_source.hpp"
#include "tessera/sim/weights.hpp"

namespace tessera::sim {
namespace {

using config::Diagnostics;
using config::Section;
using config::Value;

constexpr std::array<const char*, 3> parts{"machine", "workload", "strategy"};

// Bucket width of the calendar on a machine without links, where nothing is ever sent.
constexpr SimTime width_without_links = SimTime::from_ps(1'000'000);

Value::Member* member(Value& mapping, std::string_view key) {
  for (Value::Member& entry : mapping.members) {
    if (entry.key == key) {
      return &entry;
    }
  }
  return nullptr;
}

// Replaces `machine: file.yaml` and the like by what is in the file.
void include_parts(Value& root, const config::TextLoader& load, Diagnostics& diagnostics) {
  for (const char* key : parts) {
    Value::Member* part = member(root, key);
    if (part == nullptr || part->value.kind != Value::Kind::scalar) {
      continue;
    }
    Value* const value = &part->value;
    const std::string path = config::path_beside(value->place, value->text);
    std::string text;
    try {
      text = load(path);
    } catch (const IoError& error) {
      diagnostics.error(value->place, std::string(key) + ": " + error.what());
      *value = Value{};
      continue;
    }
    const std::size_t complaints = diagnostics.list().size();
    *value = config::parse(path, text, diagnostics);
    if (value->kind == Value::Kind::null && diagnostics.list().size() == complaints) {
      diagnostics.error({path, 1, 1}, std::string(key) + ": the file is empty");
    }
    part->key_place = {path, 1, 1};  // what is missing is missing there
  }
}

bool names_a_part(const std::string& assignment) {
  const std::string key = assignment.substr(0, assignment.find('='));
  return std::find(parts.begin(), parts.end(), key) != parts.end();
}

constexpr std::uint64_t most_iterations = 1'000'000'000;

RunOptions read_options(Section section, const machine::Topology& topology) {
  RunOptions options;
  options.iterations = static_cast<std::uint32_t>(
      section.get_or<std::int64_t>("iterations", 1, config::between<std::int64_t>(1, 1'000'000)));
  const std::string level = section.get_name("trace", {"none", "summary", "full"}, "summary");
  options.trace = level == "none"   ? TraceLevel::none
                  : level == "full" ? TraceLevel::full
                                    : TraceLevel::summary;
  options.bins = static_cast<std::uint32_t>(
      section.get_or<std::int64_t>("bins", 64, config::between<std::int64_t>(1, 100'000)));
  options.bin = section.get_optional<SimTime>("bin", config::at_least(SimTime::from_ps(1)));
  const std::string usual = machine::default_partitioner(topology);
  options.partition = section.get_name("partition", machine::partitioners().names(), usual);
  if (options.partition != usual) {
    // Only the partitioner knows what it can cut: ask before anything is simulated.
    try {
      machine::partitioners().at(options.partition)(topology, 1, {});
    } catch (const ConfigError& error) {
      section.error("partition", error.diagnostics().front().message);
    }
  }
  options.weights = section.get_or<std::string>("weights", "predicted");
  options.synchronization =
      section.get_name("synchronization", pdes::sync_policies().names(), "window");
  options.replay = section.get_name("replay", {"none", "exact"}, "none") == "exact";
  return options;
}

void check_machine_for(const machine::Machine& machine, const workload::Workload& workload,
                       Section& root) {
  for (const machine::Tile& tile : machine.tiles()) {
    if (tile.peak.empty()) {
      Section part = root.section("machine");
      if (!part.has("tile") && tile.name.empty()) {  // else it has been complained about
        part.error("tile", "missing; tile.peak must give the rate of " +
                               to_string(workload.data_type) + ", in which the workload computes");
      }
    } else if (tile.peak.find(workload.data_type) == tile.peak.end()) {
      std::vector<std::string> types;
      for (const auto& [type, peak] : tile.peak) {
        types.push_back(to_string(type));
      }
      root.error("workload", "the workload computes in " + to_string(workload.data_type) +
                                 ", but the machine gives a peak for " + join(types) +
                                 " only (machine." + tile.peak_key() + ")");
    }
  }
}

// The plan knows no places. A complaint of it that begins with the path of a key, as in
// "placement.group: ...", is put there, any other at the strategy.
ConfigError placed(const ConfigError& error, Section& root) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic& diagnostic : diagnostics) {
    if (!diagnostic.file.empty()) {
      continue;
    }
    const std::string key = diagnostic.message.substr(0, diagnostic.message.find(": "));
    const std::size_t dot = key.find('.');
    Section strategy = root.section("strategy");
    Section part = dot == std::string::npos ? strategy : strategy.section(key.substr(0, dot));
    const std::string last = key.substr(dot == std::string::npos ? 0 : dot + 1);
    const config::Place place = part.has(last) ? part.place_of(last) : root.place_of("strategy");
    diagnostic = {place.file, place.line, place.column, "strategy: " + diagnostic.message};
    if (part.has(last)) {
      diagnostic.message.replace(0, std::string("strategy: ").size(), "strategy.");
    }
  }
  return ConfigError(diagnostics);
}

}  // namespace

std::vector<ParameterInfo> run_parameters() {
  return {{"iterations", "", "1", "training steps to simulate"},
          {"trace", "", "summary", "none, summary or full"},
          {"bins", "", "64", "time bins of links and channels that are aimed at"},
          {"bin", "ps", "", "length of a bin, instead of bins"},
          {"partition", "", "blocks on grids, servers on clusters, else metis",
           "how the machine is cut over ranks"},
          {"weights", "", "predicted",
           "what makes a node heavy: none, predicted, or the folder of an earlier run"},
          {"synchronization", "", "window", "how ranks keep in step: window or null-message"},
          {"replay", "", "none",
           "none, or exact: do not simulate micro-batches that repeat the ones before"}};
}

std::string Experiment::configuration_hash() const {
  Digest digest;
  std::uint64_t place = 0;
  for (const char letter : resolved) {
    digest.add({place++, static_cast<unsigned char>(letter)});
  }
  return digest.to_string();
}

config::Value read_configuration(const std::string& path, const std::vector<std::string>& overrides,
                                 const config::TextLoader& load) {
  Diagnostics diagnostics;
  Value root = config::parse(path, config::load_named(path, load), diagnostics);
  if (root.kind == Value::Kind::null && diagnostics.empty()) {
    diagnostics.error({path, 1, 1},
                      "the file is empty; an experiment names machine, workload and "
                      "strategy");
  }
  diagnostics.throw_if_any();
  for (const std::string& assignment : overrides) {
    if (names_a_part(assignment)) {
      config::apply_override(root, assignment, diagnostics);
    }
  }
  include_parts(root, load, diagnostics);
  for (const std::string& assignment : overrides) {
    if (!names_a_part(assignment)) {
      config::apply_override(root, assignment, diagnostics);
    }
  }
  include_placement(root, load, diagnostics);
  include_tenants(root, load, diagnostics);
  diagnostics.throw_if_any();
  return root;
}

namespace {

// Of a run folder that moved, measured weights would not be found; they change no result.
enum class MeasuredWeights { read, leave };

void read_weights(Experiment& experiment, const Section& run, MeasuredWeights measured,
                  const config::TextLoader& load) {
  std::string weights = experiment.options.weights;
  const bool by_path = weights != "none" && weights != "predicted";
  if (by_path) {
    if (measured == MeasuredWeights::leave) {
      weights = "predicted";
    } else {
      weights = config::path_beside(run.place_of("weights"), weights);
    }
  }
  try {
    use_weights(experiment, weights, load);
  } catch (const ConfigError& error) {
    if (!error.diagnostics().front().file.empty()) {
      throw;  // of what stands in the file with the weights
    }
    const config::Place place = run.place_of("weights");
    throw ConfigError(Diagnostic{place.file, place.line, place.column,
                                 "run.weights: " + error.diagnostics().front().message});
  }
}

plan::Plan plan_of(const Experiment& experiment, const plan::Strategy& strategy) {
  const machine::Topology& topology = *experiment.machine.topology;
  const auto routing = machine::make_routing(experiment.network->routing(), topology);
  const plan::Transfers transfers{[&](EntityId from, EntityId to) {
                                    return machine::hops_between(topology, *routing, from, to);
                                  },
                                  experiment.network->overheads().message,
                                  experiment.network->overheads().collective};
  return plan::make_plan(
      experiment.machine, experiment.workload, strategy,
      [&](const machine::Tile& tile, const workload::Operation& operation) {
        return experiment.compute->duration(experiment.machine, tile, operation);
      },
      transfers);
}

// The parts that an experiment must have: `strategy` where its workload is cut by one.
std::vector<const char*> needed_parts(const Value& root) {
  const auto workload =
      std::find_if(root.members.begin(), root.members.end(),
                   [](const Value::Member& part) { return part.key == "workload"; });
  const bool is_whole =
      workload != root.members.end() &&
      (is_graph(workload->value) || is_chip(workload->value) || is_serving(workload->value));
  return is_whole ? std::vector<const char*>{"machine", "workload"}
                  : std::vector<const char*>{parts.begin(), parts.end()};
}

void refuse_missing_parts(Section& section, const std::vector<const char*>& needed,
                          const std::string& path, Diagnostics& diagnostics) {
  for (const char* key : needed) {
    if (!section.has(key)) {
      diagnostics.error({path, 1, 1}, std::string(key) +
                                          ": missing; give a mapping or the path of "
                                          "a file");
    }
  }
  if (!diagnostics.empty()) {
    for (const char* key : parts) {
      section.raw(key);
    }
    section.raw("run");
    section.raw("execution");
    section.finish();  // a missing part may be a misspelt one
  }
  diagnostics.throw_if_any();
}

// Workload and strategy, cut into programs.
void read_programs(Experiment& experiment, Section& section, const config::TextLoader& load,
                   Diagnostics& diagnostics) {
  Section workload_section = section.section("workload");
  std::optional<workload::Workload> workload = workload::read_workload(workload_section);
  if (!workload) {
    diagnostics.throw_if_any();
    throw InternalError("a workload was not read and nothing was complained about");
  }
  experiment.workload = std::move(*workload);
  Section strategy_section = section.section("strategy");
  const plan::Strategy strategy =
      plan::read_strategy(strategy_section, experiment.workload, *experiment.machine.topology);
  if (strategy.aggregation != plan::Aggregation::none && section.section("machine").has("faults")) {
    strategy_section.error("aggregation",
                           "a tile cannot stand for others on a machine with faults");
  }
  experiment.options = read_options(section.section("run"), *experiment.machine.topology);
  check_machine_for(experiment.machine, experiment.workload, section);
  if (section.has("execution")) {
    // The programs of the plan are run as graphs.
    experiment.graph = read_execution(section.section("execution"), experiment.machine,
                                      experiment.workload.data_type, load);
    if (experiment.options.replay) {
      section.section("run").error("replay", "graphs are simulated whole");
    }
  }
  section.finish();
  diagnostics.throw_if_any();
  try {
    experiment.plan = plan_of(experiment, strategy);
    experiment.ideal_time = experiment.plan.ideal_time();
    if (experiment.graph) {
      const auto plan = std::make_shared<plan::Plan>(std::exchange(experiment.plan, {}));
      add_source(*experiment.graph, plan::make_graph_source(plan, experiment.graph->nodes),
                 experiment.machine, nullptr, workload_section, section.section("execution"));
    }
  } catch (const ConfigError& error) {
    throw placed(error, section);
  }
  diagnostics.throw_if_any();
}

// Of graphs that access memory nodes; other work leaves it alone.
void use_coherence(Experiment& experiment, Section machine) {
  executor::GraphWork& graph = *experiment.graph;
  if (!experiment.coherence || graph.look.remote_accesses == 0) {
    return;
  }
  const memory::Coherence& coherence = *experiment.coherence;
  Section section = machine.section("coherence");
  if (graph.remote_of.empty()) {
    machine.error("coherence",
                  "is of nodes of kind memory, but remote accesses of these graphs go to machine." +
                      std::string(experiment.remote_memory ? "remote_memory" : "dram"));
    return;
  }
  if (coherence.options().outstanding && !experiment.network->limits_rates()) {
    section.error("outstanding",
                  "this network cannot hold a message to a rate; flow and analytical can");
  }
  if (coherence.has_directory() && coherence.owners() >= graph.npus()) {
    section.error(section.has("sharers") ? "sharers" : "",
                  std::to_string(coherence.owners()) +
                      " other caches must be there, but the machine has " +
                      std::to_string(graph.npus() - 1) + " other NPUs");
  }
  graph.coherence = coherence;
  graph.hits_in_channels = !experiment.machine.channels.empty();
}

void check_remote_access(const executor::GraphWork& graph, Section remote) {
  const executor::RemoteAccess& choice = graph.options.remote;
  if (graph.look.remote_accesses == 0 || (choice.requests && choice.acknowledged)) {
    return;
  }
  const std::string key = choice.requests ? "stores" : "request";
  if (graph.coherence) {
    remote.error(key, "machine.coherence says what goes to memory and back");
  } else if (graph.remote_of.empty()) {
    remote.error(key, "is of nodes of kind memory, which these graphs do not access");
  }
}

void read_graph_work(Experiment& experiment, Section& section, const config::TextLoader& load,
                     Diagnostics& diagnostics) {
  Section workload_section = section.section("workload");
  if (section.has("strategy")) {
    section.raw("strategy");
    section.error("strategy",
                  "the workload is graphs, which hold their own; execution says how "
                  "they run");
  }
  Section execution = section.section("execution");
  experiment.graph = read_execution(execution, experiment.machine, DataType::fp16, load);
  std::unique_ptr<workload::GraphSource> source =
      read_graph_source(workload_section, experiment.machine, experiment.remote_memory.get(),
                        experiment.graph->nodes, load);
  if (source) {
    add_source(*experiment.graph, std::move(source), experiment.machine,
               experiment.remote_memory.get(), workload_section, execution);
    use_coherence(experiment, section.section("machine"));
    check_remote_access(*experiment.graph, execution.section("remote"));
  }
  experiment.workload.name =
      workload_section.get_or<std::string>("name", workload_section.get<std::string>("kind"));
  experiment.options = read_options(section.section("run"), *experiment.machine.topology);
  const workload::GraphSource* graphs = experiment.graph->source.get();
  if (graphs != nullptr &&
      std::uint64_t{experiment.options.iterations} * graphs->iterations() > most_iterations) {
    section.section("run").error("iterations", "with " + std::to_string(graphs->iterations()) +
                                                   " iterations in each graph more than " +
                                                   std::to_string(most_iterations) + " in all");
  }
  if (experiment.options.replay) {
    section.section("run").error("replay", "is for pipelines of micro-batches; this is a graph");
  }
  section.finish();
  diagnostics.throw_if_any();
}

// Of work that the cores of a chip share.
void refuse_cutting(Section& section) {
  for (const char* key : {"strategy", "execution"}) {
    if (section.has(key)) {
      section.raw(key);
      section.error(key, "the workload is operators, which the cores of the machine share");
    }
  }
}

void read_serving_work(Experiment& experiment, Section& section, Diagnostics& diagnostics) {
  Section workload = section.section("workload");
  refuse_cutting(section);
  experiment.workload.name =
      workload.get_or<std::string>("name", workload.get<std::string>("kind"));
  if (experiment.compute) {
    Section machine = section.section("machine");
    experiment.serving = read_serving(workload, experiment.machine, *experiment.compute, machine);
  }
  Section run = section.section("run");
  experiment.options = read_options(run, *experiment.machine.topology);
  if (experiment.options.replay) {
    run.error("replay", "is for pipelines of micro-batches");
  }
  if (experiment.options.iterations > 1) {
    run.error("iterations", "requests are served once");
  }
  if (experiment.serving) {
    section.finish();
  }
  diagnostics.throw_if_any();
  ensure(experiment.serving != nullptr, "tenants were not read and nothing was complained about");
}

void read_chip_work(Experiment& experiment, Section& section, Diagnostics& diagnostics) {
  Section workload_section = section.section("workload");
  refuse_cutting(section);
  const auto kind = workload_section.get<std::string>("kind");
  experiment.workload.name = workload_section.get_or<std::string>("name", kind);
  if (experiment.compute) {
    Section machine_section = section.section("machine");
    ChipStart start =
        begin_chip(workload_section, experiment.machine, *experiment.compute, machine_section);
    experiment.chip = kind == model_kind
                          ? read_model(workload_section, std::move(start), experiment.model)
                          : read_operators(workload_section, std::move(start));
  }
  experiment.options = read_options(section.section("run"), *experiment.machine.topology);
  if (experiment.options.replay) {
    section.section("run").error("replay", "is for pipelines of micro-batches");
  }
  section.finish();
  diagnostics.throw_if_any();
  ensure(experiment.chip != nullptr, "operators were not read and nothing was complained about");
  experiment.ideal_time = ideal_time(*experiment.chip, experiment.machine);
}

Experiment read_experiment(const std::string& path, const std::vector<std::string>& overrides,
                           MeasuredWeights measured, const config::TextLoader& load) {
  const Value root = read_configuration(path, overrides, load);
  Diagnostics diagnostics;
  Experiment experiment;
  Section section(root, "", diagnostics);
  experiment.name =
      section.get_or<std::string>("name", std::filesystem::path(path).stem().string());
  if (!section.is_mapping()) {
    diagnostics.throw_if_any();
  }
  const std::vector<const char*> needed = needed_parts(root);
  refuse_missing_parts(section, needed, path, diagnostics);
  Section machine_section = section.section("machine");
  std::optional<machine::Machine> machine = machine::read_machine(machine_section);
  if (!machine) {
    if (needed.size() == parts.size()) {  // complaints of both at once
      Section workload_section = section.section("workload");
      workload::read_workload(workload_section);
    }
    diagnostics.throw_if_any();
    throw InternalError("a machine was not read and nothing was complained about");
  }
  experiment.machine = std::move(*machine);
  experiment.network =
      network::read_network(machine_section.section("network"), experiment.machine);
  experiment.memory = memory::read_memory(machine_section.section("memory"));
  if (machine_section.has("remote_memory")) {
    experiment.remote_memory = memory::read_remote_memory(machine_section.section("remote_memory"));
  }
  if (machine_section.has("coherence")) {
    experiment.coherence = memory::read_coherence(machine_section.section("coherence"));
  }
  experiment.compute = compute::read_compute_by_type(machine_section, experiment.machine);
  if (needed.size() == parts.size()) {
    read_programs(experiment, section, load, diagnostics);
  } else if (is_chip(section.raw("workload"))) {
    read_chip_work(experiment, section, diagnostics);
  } else if (is_serving(section.raw("workload"))) {
    read_serving_work(experiment, section, diagnostics);
  } else {
    read_graph_work(experiment, section, load, diagnostics);
  }
  experiment.resolved = section.resolved_yaml();
  const SimTime latency = experiment.machine.topology->smallest_latency();
  experiment.lookahead = latency.is_never() ? width_without_links : latency;
  if (const auto reach = experiment.network->reach(experiment.machine)) {
    experiment.lookahead = std::min(experiment.lookahead, *reach);
  }
  read_weights(experiment, section.section("run"), measured, load);
  return experiment;
}

}  // namespace

Experiment read_experiment(const std::string& path, const std::vector<std::string>& overrides,
                           const config::TextLoader& load) {
  return read_experiment(path, overrides, MeasuredWeights::read, load);
}

Experiment read_run_folder(const std::string& folder, const config::TextLoader& load) {
  const std::string path = folder + "/config.resolved.yaml";
  std::string text;
  try {
    text = load(path);
  } catch (const IoError& error) {
    throw ConfigError(folder + ": is no run to go on with: " + error.what());
  }
  Experiment experiment =
      read_experiment(path, {}, MeasuredWeights::leave,
                      [&](const std::string& name) { return name == path ? text : load(name); });
  if (experiment.resolved != text) {
    throw ConfigError(path + ": is not as the run wrote it");
  }
  return experiment;
}

void use_partition(Experiment& experiment, const std::string& name) {
  if (!machine::partitioners().contains(name)) {
    throw ConfigError(unknown_name("partition", name, machine::partitioners().names()));
  }
  machine::partitioners().at(name)(*experiment.machine.topology, 1, {});
  experiment.options.partition = name;
}

void use_micro_batches(Experiment& experiment, std::uint32_t micro_batches) {
  plan::Strategy strategy = experiment.plan.strategy;
  strategy.micro_batches = micro_batches;
  experiment.plan = plan_of(experiment, strategy);
}

void use_synchronization(Experiment& experiment, const std::string& name) {
  if (!pdes::sync_policies().contains(name)) {
    throw ConfigError(unknown_name("synchronization", name, pdes::sync_policies().names()));
  }
  experiment.options.synchronization = name;
}

}  // namespace tessera::sim
