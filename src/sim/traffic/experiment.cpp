#include <array>
#include <utility>

#include "experiment/unused_parts.hpp"
#include "notes/library_note.hpp"
#include "notes/through_host_note.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/network/keys.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/sections.hpp"
#include "tessera/sim/traffic/traffic.hpp"
#include "traffic/load.hpp"

namespace tessera::sim {
namespace {

using config::Section;

using config::between;
using config::Key;
using config::NameKey;

const Key<std::uint64_t> sample{"sample", TrafficPhases{}.sample_cycles, "cycles of a sample",
                                between<std::uint64_t>(10, 1'000'000'000)};
const Key<std::uint32_t> warmup{"warmup", TrafficPhases{}.warmup_samples,
                                "samples before measurement begins; 0: until two samples agree",
                                between(0U, 1'000'000U)};
const Key<std::uint32_t> samples{"samples", TrafficPhases{}.most_samples,
                                 "maximum number of samples, including the warm-up",
                                 between(1U, 1'000'000U)};
const Key<double> threshold{"threshold", TrafficPhases{}.threshold,
                            "largest relative change between samples that agree",
                            between(0.0, 1.0)};
const Key<double> latency_limit{"latency_limit", TrafficPhases{}.latency_limit,
                                "mean latency, in cycles, above which a point is unstable",
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

const config::ListKey<double> rates{
    "rates", {0.02, 0.1, 0.2, 0.3, 0.4}, "offered loads, in flits per node and cycle"};

void read_rates(TrafficExperiment& experiment, Section& section) {
  experiment.rates = rates.read(section);
  if (!network::injection_processes().contains(experiment.process_name)) {
    return;
  }
  if (experiment.rates.empty()) {
    section.error("rates", "must name at least one rate, e.g. 0.1");
  }
  for (const double rate : experiment.rates) {
    experiment.processes.push_back(read_process(experiment, rate, rates.name(), section));
    if (experiment.processes.back() == nullptr) {
      return;  // said once
    }
  }
}

// That a run of an experiment would read, or count in its energy.
void note_unused(Section& machine_section, const machine::Machine& machine) {
  note_unused_parts(machine_section, std::array<std::string_view, 3>{"memory", "host", "power"});
  note_compute_of_other_work(machine_section);
  note_parts_of_other_work(machine_section, machine);
}

// Messages that on a link of their own take longer than what counts as steady.
void note_long_messages(TrafficExperiment& experiment) {
  Bandwidth fastest;
  for (const machine::LinkClass& links : experiment.machine.topology->link_classes()) {
    fastest = std::max(fastest, links.bandwidth);
  }
  if (experiment.phases.throughput || fastest == Bandwidth()) {
    return;
  }
  const SimTime time = serialization_time(experiment.flit * experiment.message_flits, fastest);
  const std::int64_t cycles = time.ps() / experiment.cycle.ps();
  if (static_cast<double>(cycles) > experiment.phases.latency_limit) {
    experiment.notes.push_back("a message of " + std::to_string(experiment.message_flits) +
                               " flits takes " + std::to_string(cycles) +
                               " cycles on a link, more than traffic.latency_limit: any load may "
                               "count as unstable");
  }
}

const NameKey traffic_partition =
    of_cost(NameKey(
                "partition", [] { return machine::partitioners().names(); }, "that of the topology",
                "how the machine is partitioned over ranks")
                .derived());

}  // namespace

std::vector<ParameterInfo> traffic_parameters() {
  const TrafficKeys& keys = traffic_keys();
  return {keys.pattern,  keys.process, rates,     keys.message,     keys.flit_size,
          keys.cycle,    sample,       warmup,    samples,          threshold,
          latency_limit, throughput,   keys.seed, traffic_partition};
}

TrafficExperiment read_traffic(const std::string& path, const std::vector<std::string>& overrides,
                               const config::TextLoader& load) {
  const config::Value root = read_configuration(path, overrides, load);
  config::Diagnostics diagnostics;
  Section section(root, "", diagnostics);
  section.declare([] { return sections_of_file("traffic"); });
  Section machine_section = section.section("machine");
  diagnostics.throw_if_any();
  std::optional<machine::Machine> machine = machine::read_machine(machine_section);
  diagnostics.throw_if_any();
  ensure(machine.has_value(), "a machine that was not read is complained about");
  TrafficExperiment experiment;
  experiment.machine = std::move(*machine);
  Section network_section = machine_section.section("network");
  experiment.network_name = network::model_key().read(network_section);
  experiment.network = network::read_network(network_section, experiment.machine);
  diagnostics.throw_if_any();
  for (const char* other : {"memory", "remote_memory", "coherence", "compute"}) {
    machine_section.raw(other);
  }
  note_unused(machine_section, experiment.machine);
  Section traffic = section.section("traffic");
  read_load(experiment, traffic, *experiment.machine.topology, *experiment.network,
            nodes_of(*experiment.machine.topology));
  read_rates(experiment, traffic);
  experiment.phases = read_phases(traffic);
  experiment.partition =
      traffic_partition.read(traffic, machine::default_partitioner(*experiment.machine.topology));
  leave_other_keys(experiment, traffic);
  section.finish();
  diagnostics.throw_if_any();
  experiment.notes = diagnostics.notes();
  note_unused_collectives_of(*experiment.network, "synthetic traffic", experiment.notes);
  note_unused_way_of(experiment.machine, "synthetic traffic", experiment.notes);
  for (std::string& note : experiment.network->notes(experiment.machine)) {
    experiment.notes.push_back(std::move(note));
  }
  note_long_messages(experiment);
  return experiment;
}

}  // namespace tessera::sim
