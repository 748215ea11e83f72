// Reads experiments whose workload is graphs, by what they access besides.
#include <utility>

#include "graph_experiment.hpp"
#include "run_options.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {
namespace {

using config::Diagnostics;
using config::Section;

constexpr std::uint64_t most_iterations = 1'000'000'000;

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

}  // namespace

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
  experiment.options = read_run_options(section.section("run"), *experiment.machine.topology);
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

}  // namespace tessera::sim
