#include "job_reader.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "chip_experiment.hpp"
#include "graph_experiment.hpp"
#include "npu_memories.hpp"
#include "served_memory.hpp"
#include "serving_experiment.hpp"
#include "tessera/machine/routing.hpp"
#include "tessera/plan/graph_source.hpp"
#include "tessera/plan/placed_time.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using config::Value;

constexpr std::uint64_t most_iterations = 1'000'000'000;

// Nodes that are memory and have a channel.
std::set<EntityId> memories_with_channels(const machine::Machine& machine) {
  std::set<EntityId> nodes;
  for (const machine::MemoryChannel& channel : machine.channels) {
    if (machine.topology->role(channel.node) == machine::NodeRole::memory) {
      nodes.insert(channel.node);
    }
  }
  return nodes;
}

// Where memories that graphs access have channels, these serve coherent accesses, and nobody else.
void use_channels(const Experiment& experiment, Section machine, executor::GraphWork& graph) {
  const std::set<EntityId> nodes = memories_with_channels(experiment.machine);
  const auto has_channel = [&](EntityId node) { return nodes.count(node) > 0; };
  const auto& devices = graph.remote_of;
  const auto with = std::find_if(devices.begin(), devices.end(), has_channel);
  if (with == devices.end()) {
    return;
  }
  Section dram = machine.section("dram");
  const char* const key = dram.has("memories") ? "memories" : "at";
  const auto name = [&](EntityId node) { return experiment.machine.topology->node_name(node); };
  const auto without = std::find_if_not(devices.begin(), devices.end(), has_channel);
  if (!experiment.coherence) {
    dram.error(key, "puts a channel at " + name(*with) +
                        ", which answers at once without machine.coherence: nothing would use it");
  } else if (without != devices.end()) {
    dram.error("at",
               "puts a channel at " + name(*with) + ", but none at " + name(*without) +
                   ", which is accessed by lines as well; all such memories need one or none");
  } else if (!experiment.memory->serves_at_node()) {
    machine.section("memory").error("spread",
                                    "'all' has one address space over all memories, but lines are "
                                    "those of one device (machine.coherence)");
  } else {
    graph.coherent_in_channels = true;
  }
}

// [npus] Whether the memory that an NPU uses is local: no node for all to access by lines.
std::vector<bool> hits_in_channels(const machine::Machine& machine,
                                   const std::vector<EntityId>& npus) {
  const std::set<EntityId> remote = memories_with_channels(machine);
  std::vector<bool> hits;
  for (const EntityId npu : npus) {
    hits.push_back(!machine.channels.empty() &&
                   remote.count(machine.channels[machine.channel_of[npu.value()]].node) == 0);
  }
  return hits;
}

// Of graphs that access memory nodes; other work leaves it alone.
void use_coherence(const Experiment& experiment, Section machine, executor::GraphWork& graph) {
  if (graph.look.remote_accesses == 0) {
    return;
  }
  use_channels(experiment, machine, graph);
  if (!experiment.coherence) {
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
  if (coherence.options().outstanding && !graph.coherent_in_channels &&
      !experiment.network->limits_rates()) {
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
  graph.hits_in_channels = hits_in_channels(experiment.machine, graph.nodes);
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

}  // namespace

bool is_cut(const Value& workload) {
  return !is_graph(workload) && !is_chip(workload) && !is_serving(workload);
}

std::vector<const char*> needed_parts(const Value& workload) {
  return is_cut(workload) ? std::vector<const char*>{"workload", "strategy"}
                          : std::vector<const char*>{"workload"};
}

std::string iterations_objection(const Job& job) {
  if (job.serving && job.iterations > 1) {
    return "requests are served once";
  }
  const std::uint64_t inside =
      job.graph && job.graph->source ? job.graph->source->iterations() : std::uint64_t{1};
  return job.iterations * inside > most_iterations
             ? "with " + std::to_string(inside) + " iterations in each graph more than " +
                   std::to_string(most_iterations) + " in all"
             : "";
}

std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const std::vector<EntityId>& nodes) {
  std::vector<const machine::Tile*> kinds;
  if (machine.types.empty()) {
    return {&machine.tile};
  }
  std::vector<bool> there(machine.types.size());
  for (const EntityId node : nodes) {
    there[machine.type_of[node.value()]] = true;
  }
  for (std::size_t type = 0; type < there.size(); ++type) {
    if (there[type]) {
      kinds.push_back(&machine.types[type]);
    }
  }
  return kinds;
}

namespace {

// The experiment's own compute model; it must outlive what is given.
plan::OperationTime operation_time_of(const Experiment& experiment) {
  return [&experiment](const machine::Tile& tile, const workload::Operation& operation) {
    return experiment.compute->duration(experiment.machine, tile, operation);
  };
}

// Calls `use` with what messages take on the idle machine.
template <class Use>
auto with_transfers(const Experiment& experiment, const Use& use) {
  const machine::Topology& topology = *experiment.machine.topology;
  const auto routing = machine::make_routing(experiment.network->routing(), topology);
  return use(plan::Transfers{[&](EntityId from, EntityId to) {
                               return machine::hops_between(topology, *routing, from, to);
                             },
                             experiment.network->overheads().message,
                             experiment.network->overheads().collective});
}

}  // namespace

plan::Plan plan_of(const Experiment& experiment, const workload::Workload& workload,
                   const plan::Strategy& strategy) {
  return with_transfers(experiment, [&](const plan::Transfers& transfers) {
    return plan::make_plan(experiment.machine, workload, strategy, operation_time_of(experiment),
                           transfers);
  });
}

SimTime estimated_iteration(const Experiment& experiment, const plan::Plan& plan) {
  return with_transfers(experiment, [&](const plan::Transfers& transfers) {
    return plan::placed_time(experiment.machine, plan, operation_time_of(experiment), transfers);
  });
}

JobReader::JobReader(const Experiment& experiment, Section section, Section machine, Tiles tiles,
                     const config::TextLoader& load)
    : experiment_(experiment),
      section_(std::move(section)),
      machine_(std::move(machine)),
      tiles_(std::move(tiles)),
      load_(load) {}

bool JobReader::read(Job& job) {
  const Value workload = section_.raw("workload");
  if (is_cut(workload)) {
    return read_programs(job);
  }
  if (is_serving(workload)) {
    return read_served(job);
  }
  if (is_chip(workload)) {
    read_chip(job);
  } else {
    read_graphs(job);
  }
  return true;
}

std::string JobReader::replay_objection() const {
  return replay_objection_;
}

// Workload and strategy, cut into programs.
bool JobReader::read_programs(Job& job) {
  Section workload_section = section_.section("workload");
  std::optional<workload::Workload> workload = workload::read_workload(workload_section);
  if (!workload) {
    return false;  // it has been complained about
  }
  job.workload = std::move(*workload);
  Section strategy_section = section_.section("strategy");
  strategy_ = plan::read_strategy(strategy_section, job.workload, *experiment_.machine.topology,
                                  tiles_.are_all ? std::vector<EntityId>{} : tiles_.nodes);
  if (strategy_->aggregation != plan::Aggregation::none && machine_.has("faults")) {
    strategy_section.error("aggregation",
                           "a tile cannot stand for others on a machine with faults");
  }
  check_peaks(job.workload);
  if (section_.has("execution")) {
    // The programs of the plan are run as graphs.
    executor::GraphOptions usual;
    usual.data_type = job.workload.data_type;
    usual.slots[static_cast<std::size_t>(executor::Lane::memory)] = 0;  // programs wait by slot
    job.graph = read_execution(section_.section("execution"), experiment_.machine, tiles_.nodes,
                               usual, load_);
    replay_objection_ = "graphs are simulated whole";
  }
  return true;
}

void JobReader::read_graphs(Job& job) {
  Section workload_section = section_.section("workload");
  replay_objection_ = "is for pipelines of micro-batches; this is a graph";
  if (section_.has("strategy")) {
    section_.raw("strategy");
    section_.error("strategy",
                   "the workload is graphs, which hold their own; execution says how "
                   "they run");
  }
  Section execution = section_.section("execution");
  job.graph = read_execution(execution, experiment_.machine, tiles_.nodes, {}, load_);
  const MemoryParts parts = memory_parts(experiment_);
  std::unique_ptr<workload::GraphSource> source =
      read_graph_source(workload_section, parts, job.graph->nodes, load_);
  if (source) {
    add_source(*job.graph, std::move(source), parts, workload_section, execution);
    use_coherence(experiment_, machine_, *job.graph);
    check_remote_access(*job.graph, execution.section("remote"));
  }
  job.workload.name =
      workload_section.get_or<std::string>("name", workload_section.get<std::string>("kind"));
}

// Of work that the cores of a chip share.
void JobReader::refuse_cutting() {
  replay_objection_ = "is for pipelines of micro-batches";
  for (const char* key : {"strategy", "execution"}) {
    if (section_.has(key)) {
      section_.raw(key);
      section_.error(key, "the workload is operators, which the cores of the machine share");
    }
  }
}

bool JobReader::read_served(Job& job) {
  Section workload = section_.section("workload");
  refuse_cutting();
  job.workload.name = workload.get_or<std::string>("name", workload.get<std::string>("kind"));
  if (experiment_.compute) {
    job.serving = read_serving(workload, experiment_.machine, tiles_.nodes, *experiment_.compute,
                               machine_, tiles_.are_all ? nullptr : &section_);
  }
  return job.serving != nullptr;
}

void JobReader::read_chip(Job& job) {
  Section workload_section = section_.section("workload");
  refuse_cutting();
  const auto kind = workload_section.get<std::string>("kind");
  job.workload.name = workload_section.get_or<std::string>("name", kind);
  if (!experiment_.compute) {
    return;  // it has been complained about
  }
  ChipStart start =
      begin_chip(workload_section, experiment_.machine, tiles_.nodes, *experiment_.compute,
                 machine_, tiles_.are_all ? nullptr : &section_);
  job.chip = kind == model_kind ? read_model(workload_section, std::move(start), job.model)
                                : read_operators(workload_section, std::move(start));
  if (job.chip) {
    job.ideal_time = ideal_time(*job.chip, experiment_.machine);
  }
}

void JobReader::check_peaks(const workload::Workload& workload) {
  for (const machine::Tile* tile : kinds_of(experiment_.machine, tiles_.nodes)) {
    if (tile->peak.empty()) {
      if (!machine_.has("tile") && tile->name.empty()) {  // else it has been complained about
        machine_.error("tile", "missing; tile.peak must give the rate of " +
                                   to_string(workload.data_type) +
                                   ", in which the workload computes");
      }
    } else if (tile->peak.find(workload.data_type) == tile->peak.end()) {
      std::vector<std::string> types;
      for (const auto& [type, peak] : tile->peak) {
        types.push_back(to_string(type));
      }
      section_.error("workload", "the workload computes in " + to_string(workload.data_type) +
                                     ", but the machine gives a peak for " + join(types) +
                                     " only (machine." + tile->peak_key() + ")");
    }
  }
}

void JobReader::plan(Job& job) {
  if (!strategy_) {
    return;
  }
  try {
    job.plan = plan_of(experiment_, job.workload, *strategy_);
    job.ideal_time = plan::ideal_time(experiment_.machine, job.plan, operation_time_of(experiment_),
                                      job.iterations);
    if (strategy_->check_capacity) {
      job.in_channels = plan::bytes_in_channels(experiment_.machine, job.plan);
    }
    if (job.graph) {
      Section workload = section_.section("workload");
      const auto plan = std::make_shared<plan::Plan>(std::exchange(job.plan, {}));
      add_source(*job.graph, plan::make_graph_source(plan, job.graph->nodes), {experiment_.machine},
                 workload, section_.section("execution"));
    }
  } catch (const ConfigError& error) {
    throw placed(error);
  }
}

void JobReader::fit(Job& job) {
  if (job.serving) {
    ServingMemory memory(experiment_.machine);
    memory.add(experiment_.machine, *job.serving);
    fit_caches(experiment_.machine, memory, *job.serving, section_.section("workload"));
  }
}

// The plan knows no places. A complaint of it that begins with the path of a key, as in
// "placement.group: ...", is put there, any other at the strategy.
ConfigError JobReader::placed(const ConfigError& error) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  Section strategy = section_.section("strategy");
  for (Diagnostic& diagnostic : diagnostics) {
    if (!diagnostic.file.empty()) {
      continue;
    }
    const std::string key = diagnostic.message.substr(0, diagnostic.message.find(": "));
    const std::size_t dot = key.find('.');
    Section part = dot == std::string::npos ? strategy : strategy.section(key.substr(0, dot));
    const std::string last = key.substr(dot == std::string::npos ? 0 : dot + 1);
    const bool is_there = part.has(last);
    const config::Place place = is_there ? part.place_of(last) : section_.place_of("strategy");
    diagnostic = {place.file, place.line, place.column,
                  strategy.path() + (is_there ? "." : ": ") + diagnostic.message};
  }
  return ConfigError(diagnostics);
}

}  // namespace tessera::sim
