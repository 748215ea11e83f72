#include "tessera/sim/experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiment_parts.hpp"
#include "job_reader.hpp"
#include "run_options.hpp"
#include "settle_placement.hpp"
#include "tenants_experiment.hpp"
#include "tessera/machine/partition.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/sim/cuts.hpp"
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

// What only the work can say.
void check_partition(const Experiment& experiment, const Section& run) {
  const std::string objection = partition_objection(experiment, experiment.options.partition);
  if (!objection.empty()) {
    const config::Place place = run.place_of("partition");
    throw ConfigError(
        Diagnostic{place.file, place.line, place.column, "run.partition: " + objection});
  }
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

// Null when there is none.
Value workload_of(const Value& root) {
  const Value::Member* const workload = root.find("workload");
  return workload == nullptr ? Value() : workload->value;
}

// The parts that an experiment must have.
std::vector<const char*> parts_needed(const Value& root) {
  std::vector<const char*> needed{"machine"};
  const Value workload = workload_of(root);
  for (const char* part :
       has_tenants(workload) ? std::vector<const char*>{"workload"} : needed_parts(workload)) {
    needed.push_back(part);
  }
  return needed;
}

// Machine and models; what is wrong with them has been complained about.
bool read_machine_and_models(Experiment& experiment, Section& machine_section) {
  std::optional<machine::Machine> machine = machine::read_machine(machine_section);
  if (!machine) {
    return false;
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
  const SimTime latency = experiment.machine.topology->smallest_latency();
  experiment.lookahead = latency.is_never() ? width_without_links : latency;
  const auto reach =
      experiment.network ? experiment.network->reach(experiment.machine) : std::nullopt;
  experiment.lookahead = std::min(experiment.lookahead, reach.value_or(experiment.lookahead));
  return true;
}

// A job for all of the machine.
void read_whole(Experiment& experiment, Section& section, Section& machine_section,
                const config::TextLoader& load, Diagnostics& diagnostics) {
  JobReader reader(experiment, section, machine_section,
                   {experiment.machine.topology->computing_node_ids(), true}, load);
  if (!reader.read(experiment)) {
    diagnostics.throw_if_any();
    throw InternalError("a workload was not read and nothing was complained about");
  }
  experiment.options = read_run_options(section.section("run"), *experiment.machine.topology);
  experiment.iterations = experiment.options.iterations;
  Section run = section.section("run");
  if (const std::string fault = iterations_objection(experiment); !fault.empty()) {
    run.error("iterations", fault);
  }
  if (experiment.options.replay && !reader.replay_objection().empty()) {
    run.error("replay", reader.replay_objection());
  }
  section.finish();
  diagnostics.throw_if_any();
  reader.plan(experiment);
  reader.fit(experiment);
  diagnostics.throw_if_any();
}

void read_tenants(Experiment& experiment, Section& section, Section& machine_section,
                  const config::TextLoader& load, Diagnostics& diagnostics) {
  TenantsReader reader(experiment, section, machine_section, load);
  if (!reader.read()) {
    diagnostics.throw_if_any();
  }
  experiment.options = read_run_options(section.section("run"), *experiment.machine.topology);
  reader.apply(experiment.options);
  if (experiment.options.replay) {
    section.section("run").error("replay", "is for one workload; these are tenants");
  }
  section.finish();
  diagnostics.throw_if_any();
  reader.plan();
  diagnostics.throw_if_any();
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
  refuse_missing_parts(section, parts_needed(root), path, diagnostics);
  const Value workload = workload_of(root);
  Section machine_section = section.section("machine");
  if (!read_machine_and_models(experiment, machine_section)) {
    if (is_cut(workload)) {  // complaints of both at once
      Section workload_section = section.section("workload");
      workload::read_workload(workload_section);
    }
    diagnostics.throw_if_any();
    throw InternalError("a machine was not read and nothing was complained about");
  }
  if (has_tenants(workload)) {
    read_tenants(experiment, section, machine_section, load, diagnostics);
  } else {
    read_whole(experiment, section, machine_section, load, diagnostics);
  }
  experiment.resolved = section.resolved_yaml();
  settle_placement(experiment);
  read_weights(experiment, section.section("run"), measured, load);
  check_partition(experiment, section.section("run"));
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
  const std::vector<std::string> names = partition_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw ConfigError(unknown_name("partition", name, names));
  }
  if (const std::string objection = partition_objection(experiment, name); !objection.empty()) {
    throw ConfigError(objection);
  }
  experiment.options.partition = name;
}

void use_micro_batches(Experiment& experiment, std::uint32_t micro_batches) {
  plan::Strategy strategy = experiment.plan.strategy;
  strategy.micro_batches = micro_batches;
  experiment.plan = plan_of(experiment, experiment.workload, strategy);
}

void use_synchronization(Experiment& experiment, const std::string& name) {
  if (!pdes::sync_policies().contains(name)) {
    throw ConfigError(unknown_name("synchronization", name, pdes::sync_policies().names()));
  }
  experiment.options.synchronization = name;
}

}  // namespace tessera::sim
