#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/machine/partition.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/traffic.hpp"

namespace tessera::sim {
namespace {

using config::Section;

constexpr double least_rate = 1e-12;  // [messages a node and cycle]: gaps are counted in 64 bits

TrafficPhases read_phases(Section& section) {
  TrafficPhases phases;
  const auto count = [&](const char* key, std::int64_t usual, std::int64_t low, std::int64_t high) {
    return section.get_or<std::int64_t>(key, usual, config::between<std::int64_t>(low, high));
  };
  phases.sample_cycles = static_cast<std::uint64_t>(count("sample", 1000, 10, 1'000'000'000));
  phases.warmup_samples = static_cast<std::uint32_t>(count("warmup", 3, 0, 1'000'000));
  phases.most_samples = static_cast<std::uint32_t>(count("samples", 10, 1, 1'000'000));
  phases.threshold = section.get_or<double>("threshold", 0.05, config::between(0.0, 1.0));
  phases.latency_limit = section.get_or<double>("latency_limit", 500, config::at_least(1.0));
  phases.throughput =
      section.get_name("measure", {"latency", "throughput"}, "latency") == "throughput";
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

void read_load(TrafficExperiment& experiment, Section& section) {
  experiment.message_flits = static_cast<std::uint64_t>(
      section.get_or<std::int64_t>("message", 1, config::between<std::int64_t>(1, 1'000'000)));
  experiment.rates = section.get_list<double>("rates", {0.02, 0.1, 0.2, 0.3, 0.4});
  experiment.pattern_name =
      section.get_name("pattern", network::traffic_patterns().names(), "uniform");
  experiment.process_name =
      section.get_name("process", network::injection_processes().names(), "bernoulli");
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

// A flit a cycle is what the fastest link carries, unless the file says otherwise.
void read_units(TrafficExperiment& experiment, Section& section) {
  std::uint64_t fastest = 1;
  for (const machine::LinkClass& link_class : experiment.machine.topology->link_classes()) {
    fastest = std::max(fastest, link_class.bandwidth.bytes_per_second());
  }
  experiment.flit = section.get_or<Bytes>("flit_size", experiment.network->flit_size(),
                                          config::at_least(Bytes(1)));
  experiment.cycle = section.get_or<SimTime>(
      "cycle",
      std::max(SimTime::from_ps(1),
               serialization_time(experiment.flit, Bandwidth::bytes_per_second(fastest))),
      config::at_least(SimTime::from_ps(1)));
}

}  // namespace

std::vector<ParameterInfo> traffic_parameters() {
  return {{"pattern", "", "uniform", "where messages go"},
          {"process", "", "bernoulli", "when messages are sent"},
          {"rates", "", "[0.02, 0.1, 0.2, 0.3, 0.4]", "offered loads in flits a node and cycle"},
          {"message", "", "1", "flits of a message"},
          {"flit_size", "B", "the network's, else 32 B", "bytes of a flit"},
          {"cycle", "ps", "a flit on the fastest link", "what rates and latencies count in"},
          {"sample", "", "1000", "cycles of a sample"},
          {"warmup", "", "3", "samples before anything is measured; 0: until two are alike"},
          {"samples", "", "10", "samples at most, with the warm-up"},
          {"threshold", "", "0.05", "relative change between samples that are alike"},
          {"latency_limit", "", "500", "mean latency in cycles that makes a point unstable"},
          {"measure", "", "latency", "latency, or throughput: without a limit on latency"},
          {"seed", "", "1", "of the random numbers"},
          {"partition", "", "as the topology says", "how the machine is cut over ranks"}};
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
  experiment.seed = static_cast<std::uint64_t>(
      traffic.get_or<std::int64_t>("seed", 1, config::at_least<std::int64_t>(0)));
  experiment.partition =
      traffic.get_name("partition", machine::partitioners().names(),
                       machine::default_partitioner(*experiment.machine.topology));
  traffic.leave_keys_of_others(network::traffic_patterns().infos(), experiment.pattern_name);
  traffic.leave_keys_of_others(network::injection_processes().infos(), experiment.process_name);
  section.finish();
  diagnostics.throw_if_any();
  return experiment;
}

}  // namespace tessera::sim
