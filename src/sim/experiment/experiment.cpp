#include "tessera/sim/experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiment/parts.hpp"
#include "experiment/unused_parts.hpp"
#include "jobs/npu_memories.hpp"
#include "jobs/reader.hpp"
#include "jobs/tiles.hpp"
#include "programs/job.hpp"
#include "run/options.hpp"
#include "tessera/config/name.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/npu/core/too_small.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/experiment_keys.hpp"
#include "tessera/sim/sections.hpp"
#include "tessera/sim/slow_rates.hpp"

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

// The parts that an experiment must have.
std::vector<const char*> parts_needed(const Value& root) {
  std::vector<const char*> needed{"machine"};
  for (const char* part : needed_parts(root)) {
    needed.push_back(part);
  }
  return needed;
}

// Rates of channels that only estimates go by.
void note_unused_rates(const Experiment& experiment, Section& machine_section) {
  if (!experiment.memory || experiment.memory->goes_by_channels() ||
      experiment.machine.channels.empty()) {
    return;
  }
  Section dram = machine_section.section("dram");
  const std::string own = "a memory with its own timing (machine.memory), except for estimates";
  config::note_without_effect(dram, "bandwidth", own + " and for operands of tiles in DRAM");
  config::note_without_effect(dram, "latency", own);
}

void note_unused_faults(const Experiment& experiment, Section& machine_section) {
  if (machine_section.has("faults") && experiment.network && !experiment.network->uses_links()) {
    Section faults = machine_section.section("faults");
    config::note_without_effect(faults, "links", "a network without links (machine.network.model)");
  }
}

// Whether traces tell of links, channels or cores by time.
bool keeps_bins(const Experiment& experiment) {
  const machine::Machine& machine = experiment.machine;
  return !experiment.network || experiment.network->keeps_bins() || !experiment.memory ||
         (experiment.memory->account() != memory::MemoryModel::Account::none &&
          !machine.channels.empty()) ||
         std::ranges::any_of(machine.tiles(), [&](const machine::Tile& tile) {
           return experiment.compute && npu::core_of(experiment.compute->of(tile)) != nullptr;
         });
}

// What plans are to know of compute models.
void note_loads(machine::Machine& machine, const compute::ComputeModel& compute) {
  machine.tile.loads_operands = compute.of(machine.tile).accesses_memory();
  for (machine::Tile& type : machine.types) {
    type.loads_operands = compute.of(type).accesses_memory();
  }
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
  note_unused_faults(experiment, machine_section);
  experiment.memory = memory::read_memory(machine_section.section("memory"));
  note_unused_rates(experiment, machine_section);
  if (machine_section.has("remote_memory")) {
    experiment.remote_memory = memory::read_remote_memory(machine_section.section("remote_memory"));
  }
  if (machine_section.has("coherence")) {
    experiment.coherence = memory::read_coherence(machine_section.section("coherence"));
  }
  experiment.compute = compute::read_compute_by_type(machine_section, experiment.machine);
  if (experiment.compute) {
    note_loads(experiment.machine, *experiment.compute);
  }
  const SimTime latency = experiment.machine.topology->smallest_latency();
  experiment.lookahead = latency.is_never() ? width_without_links : latency;
  const auto reach =
      experiment.network ? experiment.network->reach(experiment.machine) : std::nullopt;
  experiment.lookahead = std::min(experiment.lookahead, reach.value_or(experiment.lookahead));
  return true;
}

// Pools are closed forms of so many NPUs, whatever the machine has.
void note_remote_npus(const Experiment& experiment, Section& machine_section) {
  const memory::RemoteMemory* const remote = experiment.remote_memory.get();
  const std::optional<std::uint64_t> npus = remote != nullptr ? remote->npus() : std::nullopt;
  const std::uint64_t there = experiment.machine.topology->computing_nodes();
  if (npus && (remote->is_repeated() ? there % *npus != 0 : there != *npus)) {
    machine_section.tell("machine.remote_memory is for " + std::to_string(*npus) +
                         (remote->is_repeated() ? " NPUs per memory" : " NPUs") +
                         ", whose loads share its links, but the machine has " +
                         std::to_string(there));
  }
}

// Rates of SRAM where no tile that has them computes on operands there.
void note_unused_sram_rates(const machine::Machine& machine, Section machine_section) {
  note_key_of_tiles(
      machine, machine_section, "sram_bandwidth", &machine::Tile::sram_bandwidth,
      &machine::Tile::streams_nothing,
      "operands in memory (tile.operands: dram, or machine.compute.operands: memory)");
}

// What memories send where no access leaves its node.
void note_unsent_requests(const Experiment& experiment, Section& machine_section) {
  const machine::Machine& machine = experiment.machine;
  if (!experiment.memory || !experiment.network || machine.channels.empty() ||
      !experiment.memory->serves_at_node() || experiment.network->carries_to_itself()) {
    return;
  }
  if (each_has_own_channel(machine)) {
    Section memory = machine_section.section("memory");
    experiment.memory->note_keys_of_messages(memory, "a channel at every tile (dram.at: each)");
  }
}

// Keys of compute models, where plans are made.
void note_unused_compute(const Experiment& experiment, const Section& machine_section,
                         const compute::WorkTraits& work, Diagnostics& diagnostics) {
  if (work.computes_nothing || !experiment.compute) {
    return;
  }
  compute::note_keys_without_effect(machine_section, experiment.machine, *experiment.compute, work);
  for (std::string& note : compute::notes_of_peaks(experiment.machine, *experiment.compute, work)) {
    diagnostics.note(std::move(note));
  }
}

// Parts of the machine that messages leave alone, or keys of its models.
void note_unused_models(const Experiment& experiment, Section& machine_section,
                        const compute::WorkTraits& work) {
  if (work.only_sends) {
    note_compute_of_other_work(machine_section);
    note_parts_of_other_work(machine_section, experiment.machine);
    note_power_of_other_work(machine_section, experiment.machine);
  }
  if (!work.only_sends) {
    note_remote_npus(experiment, machine_section);
    note_unused_sram_rates(experiment.machine, machine_section);
    note_unsent_requests(experiment, machine_section);
    if (work.computes_nothing) {
      note_parts_of_computing(machine_section, experiment.machine);
    }
    if (work.accesses_nothing) {
      if (experiment.memory && !experiment.memory->is_usual()) {
        config::note_without_effect(machine_section, "memory", "work that accesses no memory");
      }
      note_power_of_accesses(machine_section, experiment.machine);
    }
  }
}

void read_jobs(Experiment& experiment, Section& section, Section& machine_section,
               const config::TextLoader& load, Diagnostics& diagnostics) {
  JobsReader reader(experiment, section, machine_section, load);
  try {
    if (!reader.read()) {
      diagnostics.throw_if_any();
      throw InternalError("a workload was not read and nothing was complained about");
    }
    Section run = section.section("run");
    experiment.options = read_run_options(run, *experiment.machine.topology);
    if (experiment.options.trace != TraceLevel::none && !keeps_bins(experiment)) {
      note_unused_bins(run, experiment.options,
                       "network, memory and compute models that record nothing over time");
    }
    reader.apply(experiment.options);
    if (!reader.uses_host()) {
      config::note_without_effect(
          machine_section, "host",
          "work that copies nothing to hosts (strategy.offload, or tiers and adapters "
          "of served models)");
    }
    if (experiment.coherence && !reader.uses_coherence() && !reader.traits().only_sends) {
      config::note_without_effect(
          machine_section, "coherence",
          "work that does not access memory by cache lines, as graphs with remote accesses do");
    }
    if (experiment.remote_memory && !reader.uses_remote_memory() && !reader.traits().only_sends) {
      config::note_without_effect(machine_section, "remote_memory",
                                  "work that accesses no remote memory");
    }
    if (!reader.uses_framework() && !reader.traits().only_sends) {
      note_unused_framework(machine_section, experiment.machine, "work that is no plan (strategy)");
    }
    note_unused_models(experiment, machine_section, reader.traits());
    section.finish();
    diagnostics.throw_if_any();
    reader.plan();
    note_unused_compute(experiment, machine_section, reader.traits(), diagnostics);
  } catch (const npu::CoreTooSmall& small) {
    machine_section.error("compute", small.diagnostics().front().message);
  }
  diagnostics.throw_if_any();
}

std::string read_name(const std::string& path, Section& section) {
  return config::checked_name(
      section, "name",
      experiment_name().read(section, std::filesystem::path(path).stem().string()));
}

Experiment read_parts(const std::string& path, const Value& root, MeasuredWeights measured,
                      const config::TextLoader& load) {
  Diagnostics diagnostics;
  Experiment experiment;
  Section section(root, "", diagnostics);
  section.declare([] { return sections_of_file("experiment"); });
  experiment.name = read_name(path, section);
  if (!section.is_mapping()) {
    diagnostics.throw_if_any();
  }
  refuse_missing_parts(section, parts_needed(root), path, diagnostics);
  Section machine_section = section.section("machine");
  if (!read_machine_and_models(experiment, machine_section)) {
    Section workload = section.section("workload");  // complaints of both at once
    const WorkKind* const kind = find_work_kind(work_kind_key().read(workload));
    if (kind != nullptr && kind->complain) {
      kind->complain(workload);
    }
    diagnostics.throw_if_any();
    throw InternalError("a machine was not read and nothing was complained about");
  }
  read_jobs(experiment, section, machine_section, load, diagnostics);
  experiment.resolved = section.resolved_yaml();
  experiment.notes = diagnostics.notes();
  experiment.files = diagnostics.files();
  std::erase(experiment.files,  // which change no result
             std::filesystem::absolute(experiment.options.weights).lexically_normal().string());
  read_weights(experiment, section.section("run"), measured, load);
  check_partition(experiment, section.section("run"));
  return experiment;
}

// `root` is as read_configuration gives it.
Experiment read_whole(const std::string& path, const Value& root, MeasuredWeights measured,
                      const config::TextLoader& load) {
  try {
    return read_parts(path, root, measured, load);
  } catch (const TimeTooLong& error) {
    throw ConfigError(slow_rate(error, root));
  }
}

}  // namespace

const Job* Experiment::only_job() const {
  return jobs.size() == 1 && jobs.front().name.empty() ? jobs.front().job.get() : nullptr;
}

Job* Experiment::only_job() {
  return jobs.size() == 1 && jobs.front().name.empty() ? jobs.front().job.get() : nullptr;
}

const Job* Experiment::single_job() const {
  return jobs.size() == 1 ? jobs.front().job.get() : nullptr;
}

Job* Experiment::single_job() {
  return jobs.size() == 1 ? jobs.front().job.get() : nullptr;
}

const PlannedWork* Experiment::planned() const {
  const Job* const job = single_job();
  return job == nullptr ? nullptr : job->planned();
}

const plan::Plan& Experiment::plan() const {
  ensure(planned() != nullptr, "an experiment whose work a strategy cuts");
  return planned()->plan;
}

namespace {

// When the last of several is over.
template <class TimeOf>
SimTime last_end(const std::vector<PlacedJob>& jobs, const TimeOf& time_of) {
  SimTime last;
  for (const PlacedJob& placed : jobs) {
    last =
        std::max(last, placed.start + time_of(*placed.job) * std::int64_t{placed.job->iterations});
  }
  return last;
}

}  // namespace

SimTime Experiment::ideal_time() const {
  return single_job() != nullptr ? single_job()->least_time()
                                 : last_end(jobs, [](const Job& job) { return job.least_time(); });
}

SimTime Experiment::begin() const {
  return jobs.size() == 1 ? jobs.front().start : SimTime::zero();
}

SimTime Experiment::ideal_span() const {
  return last_end(jobs, [](const Job& job) { return job.ideal_time; });
}

std::string Experiment::configuration_hash() const {
  Digest digest;
  std::uint64_t place = 0;
  for (const char letter : resolved) {
    digest.add({place++, static_cast<unsigned char>(letter)});
  }
  return digest.to_string();
}

std::string name_of_experiment(const std::string& path, const std::vector<std::string>& overrides,
                               const config::TextLoader& load) {
  const Value root = read_configuration(path, overrides, load);
  Diagnostics diagnostics;
  Section section(root, "", diagnostics);
  const std::string name = read_name(path, section);
  diagnostics.throw_if_any();
  return name;
}

Experiment read_experiment(const std::string& path, const std::vector<std::string>& overrides,
                           const config::TextLoader& load) {
  return read_whole(path, read_configuration(path, overrides, load), MeasuredWeights::read, load);
}

Experiment read_single_job_experiment(const std::string& path,
                                      const std::vector<std::string>& overrides,
                                      const std::vector<std::string>& settings,
                                      const config::TextLoader& load) {
  return read_whole(path, read_single_job(path, overrides, settings, load), MeasuredWeights::read,
                    load);
}

namespace {

// Whether all of `old` stands in `now`; keys that `now` has beside them are added to `keys`.
bool holds_all_of(const config::Value& old, const config::Value& now, const std::string& path,
                  std::vector<std::string>& keys) {
  if (old.kind != now.kind || old.text != now.text || old.items.size() != now.items.size()) {
    return false;
  }
  for (std::size_t i = 0; i < old.items.size(); ++i) {
    if (!holds_all_of(old.items[i], now.items[i], path + "[" + std::to_string(i) + "]", keys)) {
      return false;
    }
  }
  for (const config::Value::Member& member : old.members) {
    const config::Value::Member* const same = now.find(member.key);
    const std::string name = path.empty() ? member.key : path + "." + member.key;
    if (same == nullptr || !holds_all_of(member.value, same->value, name, keys)) {
      return false;
    }
  }
  for (const config::Value::Member& member : now.members) {
    if (old.find(member.key) == nullptr) {
      keys.push_back(path.empty() ? member.key : path + "." + member.key);
    }
  }
  return true;
}

// Keys that stand in the second text and not in the first; none where more than that is different.
std::vector<std::string> keys_added(const std::string& path, const std::string& old,
                                    const std::string& now) {
  config::Diagnostics diagnostics;
  std::vector<std::string> keys;
  const bool more = holds_all_of(config::parse(path, old, diagnostics),
                                 config::parse(path, now, diagnostics), "", keys);
  return more && diagnostics.empty() ? keys : std::vector<std::string>();
}

}  // namespace

Experiment read_run_folder(const std::string& folder, const config::TextLoader& load) {
  const std::string path = folder + "/config.resolved.yaml";
  std::string text;
  try {
    text = load(path);
  } catch (const IoError& error) {
    throw ConfigError(folder + ": is no run to go on with: " + error.what());
  }
  const config::TextLoader loader = [&](const std::string& name) {
    return name == path ? text : load(name);
  };
  Experiment experiment =
      read_whole(path, read_configuration(path, {}, loader), MeasuredWeights::leave, loader);
  if (experiment.resolved != text) {
    const std::vector<std::string> added = keys_added(path, text, experiment.resolved);
    if (added.empty()) {
      throw ConfigError(path + ": is not as the run wrote it");
    }
    experiment.notes.push_back(
        "the version that wrote the configuration did not have these keys, which take their "
        "defaults: " +
        join(added, ", "));
    experiment.resolved = text;  // by which the run and its checkpoints are known
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

void use_synchronization(Experiment& experiment, const std::string& name) {
  if (!pdes::sync_policies().contains(name)) {
    throw ConfigError(unknown_name("synchronization", name, pdes::sync_policies().names()));
  }
  experiment.options.synchronization = name;
}

}  // namespace tessera::sim
