// What routers with virtual channels cost: the program's own `flit` network and its synthetic
// traffic on a square mesh, for a number of cycles.
#include <string>
#include <utility>

#include "case.hpp"
#include "cost.hpp"
#include "model_run.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/network/network.hpp"
#include "tessera/network/traffic/traffic.hpp"

namespace tessera::bench {
namespace {

constexpr unsigned source_slot = 0;
constexpr unsigned network_slot = 1;
constexpr SimTime cycle = SimTime::from_ps(1000);
constexpr Bytes flit = Bytes(32);

void describe(OptionList& options) {
  options("side", "routers of a row and of a column", text_option("8"), "N");
  options("load", "flits a node and cycle, uniform traffic", text_option("0.3"), "SHARE");
  options("cycles", "to simulate", text_option("20000"), "N");
}

struct Scenario {
  std::uint32_t side = 0;
  double load = 0;
  std::uint64_t cycles = 0;
};

// A cycle of 1 ns carries 32 B; 4 channels of 8 flits.
std::string text_of(std::uint32_t side) {
  const std::string sides = "rows: " + std::to_string(side) + ", columns: " + std::to_string(side);
  return "{topology: {kind: mesh, " + sides +
         ", bandwidth: 32 GB/s, latency: 1 ns}, network: {model: flit, loopback: true}}";
}

Measurement run_here(const Scenario& scenario, const Setting& setting,
                     comm::Communicator& communicator) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("flits", text_of(scenario.side), diagnostics), "",
                          diagnostics);
  std::optional<machine::Machine> machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  const auto model = network::read_network(section.section("network"), *machine);
  config::Section traffic(config::Value(), "traffic", diagnostics);
  const auto pattern =
      network::traffic_patterns().at("uniform")(traffic, {scenario.side * scenario.side, 0, 0});
  const auto process = network::injection_processes().at("bernoulli")(traffic, scenario.load);
  diagnostics.throw_if_any();
  machine::Partition partition =
      machine::partitioners().at("blocks")(*machine->topology, communicator.size(), {});
  const std::vector<EntityId>& members =
      partition.members[static_cast<std::size_t>(communicator.rank())].spell_out();
  const SimTime lookahead = model->least_delay(*machine);
  RegionDelays delays = machine::region_delays(*machine->topology, partition, communicator.rank());
  for (std::vector<SimTime>* all : {&delays.to, &delays.from}) {
    for (SimTime& delay : *all) {
      delay = std::max(delay, lookahead);
    }
  }
  pdes::Engine engine(communicator, {partition.owner.listed(), members, delays}, lookahead);
  network::TrafficSource source(
      {*machine->topology, members, setting.seed, cycle, flit, source_slot, network_slot}, *pattern,
      *process);
  const auto network = model->build({*machine, members, network_slot});
  ensure(engine.attach(source) == source_slot && engine.attach(*network) == network_slot,
         "components have the slots they were told");
  engine.set_pauses(cycle * static_cast<std::int64_t>(scenario.cycles));
  Measurement measured;
  bool over = false;
  pdes::EngineHooks hooks;
  hooks.stop_requested = [&] { return over; };
  hooks.on_pause = [&](SimTime pause) {
    if (!over) {
      over = true;
      measured.simulated = pause;
      measured.hops = network->packet_hops();
      measured.events = engine.statistics().events;
      measured.digest.add({source.counts().come, source.counts().latency_ps});
    }
  };
  communicator.barrier();
  note_cost(measured, cost_of(setting.ranks_are_threads, [&] { engine.run(hooks); }));
  measured.engine = "tessera";
  measured.lps = engine.local_entities();
  measured.model_bytes = network->resident_bytes();
  return over_ranks(communicator, std::move(measured));
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  Scenario scenario;
  scenario.side = options.count32("side", 2, 4096);
  scenario.load = options.share("load");
  scenario.cycles = options.count("cycles", 1, 1'000'000'000);
  if (scenario.load <= 0) {
    throw ConfigError("--load must be above 0");
  }
  Report report;
  report.parameters = {
      {"side", scenario.side}, {"load", scenario.load}, {"cycles", scenario.cycles}};
  report.run = repeated(setting, [&] { return run_here(scenario, setting, communicator); });
  return report;
}

}  // namespace

Case flits_case() {
  return {"flits", "routers with virtual channels under load", {"tessera"}, describe, run};
}

}  // namespace tessera::bench
