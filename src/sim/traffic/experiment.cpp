#include <algorithm>
#include <utility>

#include "tessera/config/key.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/traffic/traffic.hpp"

namespace tessera::sim {
namespace {

using config::Section;

constexpr double least_rate = 1e-12;  // [messages a node and cycle]: gaps are counted in 64 bits

using config::between;
using config::Key;
using config::NameKey;

const Key<std::uint64_t> sample{"sample", 1000, "cycles of a sample",
                                between<std::uint64_t>(10, 1'000'000'000)};
const Key<std::uint32_t> warmup{"warmup", 3,
                                "samples before anything is measured; 0: until two are alike",
                                between(0U, 1'000'000U)};
const Key<std::uint32_t> samples{"samples", 10, "samples at most, with the warm-up",
                                 between(1U, 1'000'000U)};
const Key<double> threshold{"threshold", 0.05, "relative change between samples that are alike",
                            between(0.0, 1.0)};
const Key<double> latency_limit{"latency_limit", 500,
                                "mean latency in cycles that makes a point unstable",
                                config::at_least(1.0)};
const config::ChoiceKey<bool> throughput{"measure",
                                         {{"latency", false}, {"throughput", true}},
                                         "latency",
                                         "latency, or throughput: without a limit on latency"};

TrafficPhases read_phases(Section& section) {
  TrafficPhases phases;
  phases.sample_cycles = sample.read(section);
  phases.warmup_samples = warmup.read(section);
  phases.most_samples = samples.read(section);
  phases.threshold = threshold.read(section);
  phases.latency_limit = latency_limit.read(section);
  phases.throughput = throughput.read(section);
  return phases;
}

network::TrafficNodes nodes_of(const machine::Topology& topology) {
  network::TrafficNodes nodes;
  nodes.nodes = topology.computing_nodes();
  if (const auto grid = topology.grid()) {
    nodes.rows = grid->rows;
    nodes.columns = grid->columns;
  }
  return nodes;
}

const Key<std::uint64_t> message{"message", 1, "flits of a message",
                                 between<std::uint64_t>(1, 1'000'000)};
const config::ListKey<double> rates{
    "rates", {0.02, 0.1, 0.2, 0.3, 0.4}, "offered loads in flits a node and cycle"};
const NameKey pattern{"pattern", [] { return network::traffic_patterns().names(); }, "uniform",
                      "where messages go"};
const NameKey process{"process", [] { return network::injection_processes().names(); }, "bernoulli",
                      "when messages are sent"};

void read_load(TrafficExperiment& experiment, Section& section) {
  experiment.message_flits = message.read(section);
  experiment.rates = rates.read(section);
  experiment.pattern_name = pattern.read(section);
  experiment.process_name = process.read(section);
  if (network::traffic_patterns().contains(experiment.pattern_name)) {
    experiment.pattern = network::traffic_patterns().at(experiment.pattern_name)(
        section, nodes_of(*experiment.machine.topology));
  }
  if (!network::injection_processes().contains(experiment.process_name)) {
    return;
  }
  if (experiment.rates.empty()) {
    section.error("rates", "must name at least one rate, e.g. 0.1");
  }
  for (const double rate : experiment.rates) {
    const double messages = rate / static_cast<double>(experiment.message_flits);
    if (!(messages >= least_rate) || messages > 1) {
      section.error("rates", "rates are at least 1e-12, and at most a message a node and cycle");
      return;
    }
    experiment.processes.push_back(
        network::injection_processes().at(experiment.process_name)(section, messages));
    if (experiment.processes.back() == nullptr) {
      return;  // said once
    }
  }
}

const config::DerivedKey<Bytes> flit_size{"flit_size", "the network's, else 32 B",
                                          "bytes of a flit", config::at_least(Bytes(1))};
const config::DerivedKey<SimTime> cycle{"cycle", "a flit on the fastest link",
                                        "what rates and latencies count in",
                                        config::at_least(SimTime::from_ps(1))};

// A flit a cycle is what the fastest link carries, unless the file says otherwise.
void read_units(TrafficExperiment& experiment, Section& section) {
  std::uint64_t fastest = 1;
  for (const machine::LinkClass& link_class : experiment.machine.topology->link_classes()) {
    fastest = std::max(fastest, link_class.bandwidth.bytes_per_second());
  }
  experiment.flit = flit_size.read(section, experiment.network->flit_size());
  experiment.cycle = cycle.read(
      section, std::max(SimTime::from_ps(1),
                        serialization_time(experiment.flit, Bandwidth::bytes_per_second(fastest))));
}

const Key<std::uint64_t> seed{"seed", 1, "of the random numbers"};
const NameKey traffic_partition = NameKey(
                                      "partition", [] { return machine::partitioners().names(); },
                                      "as the topology says", "how the machine is cut over ranks")
                                      .derived();

}  // namespace

std::vector<ParameterInfo> traffic_parameters() {
  return {pattern, process, rates,     message,       flit_size,  cycle, sample,
          warmup,  samples, threshold, latency_limit, throughput, seed,  traffic_partition};
}

TrafficExperiment read_traffic(const std::string& path, const std::vector<std::string>& overrides,
                               const config::TextLoader& load) {
  const config::Value root = read_configuration(path, overrides, load);
  config::Diagnostics diagnostics;
  Section section(root, "", diagnostics);
  Section machine_section = section.section("machine");
  diagnostics.throw_if_any();
  std::optional<machine::Machine> machine = machine::read_machine(machine_section);
  diagnostics.throw_if_any();
  ensure(machine.has_value(), "a machine that was not read is complained about");
  TrafficExperiment experiment;
  experiment.machine = std::move(*machine);
  Section network_section = machine_section.section("network");
  experiment.network_name =
      network_section.get_name("model", network::networks().names(), "packet");
  experiment.network = network::read_network(network_section, experiment.machine);
  diagnostics.throw_if_any();
  for (const char* other : {"memory", "remote_memory", "coherence", "compute"}) {
    machine_section.raw(other);
  }
  Section traffic = section.section("traffic");
  read_units(experiment, traffic);
  read_load(experiment, traffic);
  experiment.phases = read_phases(traffic);
  experiment.seed = seed.read(traffic);
  experiment.partition =
      traffic_partition.read(traffic, machine::default_partitioner(*experiment.machine.topology));
  traffic.leave_keys_of_others(network::traffic_patterns().infos(), experiment.pattern_name);
  traffic.leave_keys_of_others(network::injection_processes().infos(), experiment.process_name);
  section.finish();
  diagnostics.throw_if_any();
  experiment.notes = diagnostics.notes();
  for (std::string& note : experiment.network->notes(experiment.machine)) {
    experiment.notes.push_back(std::move(note));
  }
  return experiment;
}

}  // namespace tessera::sim
