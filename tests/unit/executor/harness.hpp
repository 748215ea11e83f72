// Executes plans on a machine described in YAML and notes what happens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../kept_run.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::executor::testing {

struct Noted final : Observer {
  void on_operator(const OperatorRecord& record) override { operators.push_back(record); }
  void on_message(const MessageRecord& record) override { messages.push_back(record); }
  bool hears_messages_of_graphs() const override { return true; }
  void append(const Noted& more) {
    operators.insert(operators.end(), more.operators.begin(), more.operators.end());
    messages.insert(messages.end(), more.messages.begin(), more.messages.end());
  }
  std::vector<OperatorRecord> operators;
  std::vector<MessageRecord> messages;
};

struct Outcome {
  SimTime end;
  std::vector<TileResult> tiles;
  std::vector<std::string> waiting;
  std::uint64_t unfinished = 0;
  std::uint64_t instructions = 0;
  std::vector<Balance> balances;  // of all ranks
  Noted noted;

  std::uint64_t bytes(plan::Traffic traffic) const {
    std::uint64_t sum = 0;
    for (const MessageRecord& message : noted.messages) {
      sum += message.traffic == traffic ? message.bytes.count() : 0;
    }
    return sum;
  }
  // What went out, of which as much came in.
  std::uint64_t balanced(const std::string& what) const {
    for (const Balance& balance : balances) {
      if (balance.what == what && balance.out == balance.in) {
        return balance.out;
      }
    }
    return 0;
  }
};

// A run at its first cut.
struct Cut {
  SimTime at;
  tessera::testing::KeptRun run;
  Noted noted;  // before
  SimTime time() const { return at; }
};

// Runs what `make` makes for the members of a rank and an observer. `models` holds the sections
// network, memory and compute. With `kept` the run is kept at the cut that it names; with `from` it
// goes on from one.
template <class Make>
Outcome execute_by(const machine::Machine& machine, std::span<const workload::Operation> operations,
                   const std::string& models, int ranks, const Make& make, Cut* kept = nullptr,
                   const Cut* from = nullptr) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("models.yaml", models, diagnostics), "", diagnostics);
  const auto network_model = network::read_network(section.section("network"), machine);
  const auto memory_model = memory::read_memory(section.section("memory"));
  const auto compute_model = compute::read_compute(section.section("compute"));
  section.finish();
  diagnostics.throw_if_any();

  Outcome outcome;
  std::mutex mutex;
  const machine::Topology& topology = *machine.topology;
  const machine::Partition partition = machine::partitioners().at("stripes")(topology, ranks, {});
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    const std::vector<EntityId> members =
        partition.members[static_cast<std::size_t>(communicator.rank())].listed();
    const auto reach = network_model->reach(machine);
    RegionDelays delays = machine::region_delays(topology, partition, communicator.rank());
    if (reach) {
      delays.connect_all(static_cast<std::size_t>(communicator.rank()), reach);
    }
    const SimTime lookahead = topology.smallest_latency();
    pdes::Engine engine(communicator, {partition.owner.listed(), members, std::move(delays)},
                        reach ? std::min(*reach, lookahead) : lookahead);
    Noted noted;
    const auto network = network_model->build({machine, members, 0});
    const auto memory = memory_model->build({machine, members, 1, 0, nullptr, {}});
    const auto compute = compute_model->build({machine, members, operations, 2});
    const std::unique_ptr<Executor> executor =
        make(std::span<const EntityId>(members), &noted, *network_model, *compute_model);
    engine.attach(*network);
    engine.attach(*memory);
    engine.attach(*compute);
    engine.attach(*executor);
    tessera::testing::run_over_a_pause(engine, communicator.rank() == 0, kept, from, [&] {
      const std::scoped_lock lock(mutex);
      kept->noted.append(noted);
    });
    const std::scoped_lock lock(mutex);
    outcome.end = std::max(outcome.end, engine.last_event_time());
    executor->visit_results([&](const TileResult& result) { outcome.tiles.push_back(result); });
    for (std::string& line : executor->waiting(8)) {
      outcome.waiting.push_back(std::move(line));
    }
    outcome.unfinished += executor->unfinished();
    outcome.instructions += executor->instructions_done();
    const std::vector<Balance> balances = executor->balances();
    outcome.balances.resize(balances.size());
    for (std::size_t i = 0; i < balances.size(); ++i) {
      outcome.balances[i].what = balances[i].what;
      outcome.balances[i].out += balances[i].out;
      outcome.balances[i].in += balances[i].in;
    }
    outcome.noted.append(noted);
  });
  if (from != nullptr) {
    outcome.noted.append(from->noted);
  }
  return outcome;
}

inline Outcome execute(const machine::Machine& machine, const plan::Plan& plan,
                       const std::string& models = "", std::uint32_t iterations = 1, int ranks = 1,
                       Cut* kept = nullptr, const Cut* from = nullptr) {
  return execute_by(
      machine, plan.operations, models, ranks,
      [&](std::span<const EntityId> members, Noted* noted, const network::NetworkModel&,
          const compute::ComputeModel&) {
        return make_executor({machine, plan, members, iterations, 3, 0, 1, 2, noted, {}});
      },
      kept, from);
}

}  // namespace tessera::executor::testing
