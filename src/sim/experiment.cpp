#include "tessera/sim/experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "chip_experiment.hpp"
#include "experiment_parts.hpp"
#include "graph_experiment.hpp"
#include "program_experiment.hpp"
#include "run_options.hpp"
#include "serving_experiment.hpp"
#include "tessera/machine/partition.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/sim/weights.hpp"

namespace tessera::sim {
namespace {

using config::Diagnostics;
using config::Section;
using config::Value;

// Bucket width of the calendar on a machine without links, where nothing is ever sent.
constexpr SimTime width_without_links = SimTime::from_ps(1'000'000);

// Of a run folder that moved, measured weights would not be found; they change no result.
enum class MeasuredWeights { read, leave };

void read_weights(Experiment& experiment, const Section& run, MeasuredWeights measured,
                  const config::TextLoader& load) {
  std::string weights = experiment.options.weights;
  if (is_measured(weights) && measured == MeasuredWeights::leave) {
    weights = "predicted";
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

// The parts that an experiment must have: `strategy` where its workload is cut by one.
std::vector<const char*> needed_parts(const Value& root) {
  const auto workload =
      std::find_if(root.members.begin(), root.members.end(),
                   [](const Value::Member& part) { return part.key == "workload"; });
  const bool is_whole =
      workload != root.members.end() &&
      (is_graph(workload->value) || is_chip(workload->value) || is_serving(workload->value));
  return is_whole ? std::vector<const char*>{"machine", "workload"}
                  : std::vector<const char*>{experiment_parts.begin(), experiment_parts.end()};
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
    for (const char* key : experiment_parts) {
      section.raw(key);
    }
    section.raw("run");
    section.raw("execution");
    section.finish();  // a missing part may be a misspelt one
  }
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
  experiment.options = read_run_options(run, *experiment.machine.topology);
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
  experiment.options = read_run_options(section.section("run"), *experiment.machine.topology);
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
    if (needed.size() == experiment_parts.size()) {  // complaints of both at once
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
  if (needed.size() == experiment_parts.size()) {
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

std::string Experiment::configuration_hash() const {
  Digest digest;
  std::uint64_t place = 0;
  for (const char letter : resolved) {
    digest.add({place++, static_cast<unsigned char>(letter)});
  }
  return digest.to_string();
}

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

void use_synchronization(Experiment& experiment, const std::string& name) {
  if (!pdes::sync_policies().contains(name)) {
    throw ConfigError(unknown_name("synchronization", name, pdes::sync_policies().names()));
  }
  experiment.options.synchronization = name;
}

}  // namespace tessera::sim
