// Runs operators on the cores of a machine described in YAML.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "making.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/npu/messages.hpp"

namespace tessera::npu::testing {

// Tells every core to begin its share of each operator at once, and notes when each is over.
class Driver final : public pdes::Component {
 public:
  static constexpr unsigned slot = 0;
  static constexpr unsigned network_slot = 1;
  static constexpr unsigned memory_slot = 2;
  static constexpr unsigned cores_slot = 3;
  Driver(std::uint32_t operators, std::uint32_t cores) : operators_(operators), cores_(cores) {}
  void start(pdes::Context& context) override {
    if (context.self().value() < cores_) {
      context.send_self(SimTime::zero(), pdes::Port(slot, 0), std::uint32_t{0});
    }
  }
  void handle(pdes::Context& context, const pdes::Event& event) override {
    if (event.port.kind() == 1) {
      ends.push_back(context.now());
      return;
    }
    for (std::uint32_t number = 0; number < operators_; ++number) {
      run_share(context, cores_slot,
                {number, context.self().value(), cores_, 0, pdes::Port(slot, 1)});
    }
  }
  std::vector<SimTime> ends;

 private:
  std::uint32_t operators_;
  std::uint32_t cores_;
};

struct Outcome {
  SimTime end;
  std::size_t shares = 0;   // that are over
  std::uint64_t tiles = 0;  // of all operators
  std::vector<compute::CoreUse> uses;
  std::vector<compute::CoreUse> bins;
  std::vector<std::string> waiting;  // what cores say that have not finished
};

// Operators on the first cores of a machine.
inline Outcome simulate(const std::string& machine_text, const CoreConfig& core,
                        const std::vector<std::string>& texts, std::uint32_t cores, int ranks = 1,
                        SimTime bin = SimTime::zero()) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", machine_text, diagnostics), "", diagnostics);
  const auto machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  const auto network = network::read_network(section.section("network"), *machine);
  const auto memory = memory::read_memory(section.section("memory"));
  std::vector<std::unique_ptr<TiledOperator>> owned;
  std::vector<const TiledOperator*> operators;
  Outcome outcome;
  for (const std::string& text : texts) {
    owned.push_back(operator_from(text, core, cores));
    operators.push_back(owned.back().get());
    outcome.tiles += owned.back()->groups() * owned.back()->steps();
  }
  std::mutex mutex;
  const machine::Topology& topology = *machine->topology;
  const machine::Partition partition = machine::partitioners().at("stripes")(topology, ranks, {});
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    const std::vector<EntityId> members =
        partition.members[static_cast<std::size_t>(communicator.rank())].listed();
    pdes::Engine engine(communicator,
                        {partition.owner.listed(), members,
                         machine::region_delays(topology, partition, communicator.rank())},
                        topology.smallest_latency());
    Driver driver(static_cast<std::uint32_t>(texts.size()), cores);
    const auto net = network->build({*machine, members, Driver::network_slot});
    const auto mem =
        memory->build({*machine, members, Driver::memory_slot, Driver::network_slot, nullptr, {}});
    const auto all =
        make_cores({*machine, members, core, std::make_shared<ListedOperators>(operators), false,
                    Driver::cores_slot, Driver::memory_slot});
    engine.attach(driver);
    engine.attach(*net);
    engine.attach(*mem);
    engine.attach(*all);
    std::vector<compute::CoreUse> bins;
    if (bin > SimTime::zero()) {
      engine.set_boundaries(bin, 1'000'000);
      all->report_bins([&bins](const compute::CoreUse& use) { bins.push_back(use); });
    }
    engine.run();
    all->pass_boundary(engine.last_handled_time());
    const std::scoped_lock lock(mutex);
    outcome.bins.insert(outcome.bins.end(), bins.begin(), bins.end());
    for (const SimTime end : driver.ends) {
      outcome.end = std::max(outcome.end, end);
      ++outcome.shares;
    }
    all->visit_cores(SimTime::from_ps(1'000'000'000'000),
                     [&](const compute::CoreUse& use) { outcome.uses.push_back(use); });
    for (const std::string& line : all->waiting(8)) {
      outcome.waiting.push_back(line);
    }
  });
  return outcome;
}

}  // namespace tessera::npu::testing
