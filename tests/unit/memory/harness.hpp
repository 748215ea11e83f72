// Runs DRAM accesses of tiles on a machine described in YAML, and notes when each is done.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../kept_run.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/memory/coherent/coherent_memory.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::memory::testing {

struct Described {
  machine::Machine machine;
  std::unique_ptr<network::NetworkModel> network;
  std::unique_ptr<MemoryModel> memory;
  std::optional<Coherence> coherence;  // of all accesses

  // All tiles together, whose devices are the memories of the topology in turn.
  CoherentGroup group() const {
    CoherentGroup group;
    const auto& memories = machine.topology->memory_nodes();
    for (const EntityId node : machine.topology->computing_node_ids()) {
      group.devices.push_back(memories[group.nodes.size() % memories.size()].node);
      group.nodes.push_back(node);
    }
    return group;
  }
};

// Throws ConfigError on any complaint.
inline Described described(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  std::optional<machine::Machine> machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  Described result{*std::move(machine), nullptr, nullptr, std::nullopt};
  result.network = network::read_network(section.section("network"), result.machine);
  result.memory = read_memory(section.section("memory"));
  if (section.has("coherence")) {
    result.coherence = read_coherence(section.section("coherence"));
  }
  section.finish();
  diagnostics.throw_if_any();
  return result;
}

struct Access {
  std::int64_t at_ps = 0;
  std::uint32_t tile = 0;
  std::uint64_t bytes = 0;
  bool write = false;
  std::uint16_t tag = 0;
  Address address = Address::next();
};

struct Done {
  std::int64_t at_ps = 0;
  std::uint32_t tile = 0;
  std::uint16_t tag = 0;
  auto key() const { return std::tuple(tile, at_ps, tag); }
  friend bool operator==(const Done& a, const Done& b) { return a.key() == b.key(); }
  friend bool operator<(const Done& a, const Done& b) { return a.key() < b.key(); }
};

struct Use {
  std::uint32_t channel = 0;
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::int64_t busy_ps = 0;
  std::int64_t wait_ps = 0;
  std::uint64_t hits = 0;
  std::uint64_t conflicts = 0;
  auto key() const {
    return std::tuple(channel, begin_ps, end_ps, read, written, busy_ps, wait_ps, hits, conflicts);
  }
  friend bool operator==(const Use& a, const Use& b) { return a.key() == b.key(); }
  friend bool operator<(const Use& a, const Use& b) { return a.key() < b.key(); }
};

struct Outcome {
  std::vector<Done> done;  // by tile, then time
  std::vector<Use> totals;
  std::vector<Use> bins;
  std::vector<Balance> balances;  // of all ranks
  AskedBytes asked;               // the same; zeros where they are not counted
};

// What the memory counts is as much as the accesses ask for and comes out even.
inline void expect_balanced(const Outcome& outcome, const std::vector<Access>& accesses,
                            const std::string& where) {
  AskedBytes wanted;
  for (const Access& access : accesses) {
    wanted.add(access.write, access.bytes);
  }
  EXPECT_EQ(outcome.asked.read, wanted.read) << where;
  EXPECT_EQ(outcome.asked.written, wanted.written) << where;
  for (const Balance& balance : outcome.balances) {
    EXPECT_EQ(balance.out, balance.in) << where << ": " << balance.what;
  }
}

class Driver final : public pdes::Component {
 public:
  static constexpr unsigned slot = 0;
  static constexpr unsigned network_slot = 1;
  static constexpr unsigned memory_slot = 2;
  static constexpr unsigned coherent_slot = 3;
  Driver(const std::vector<Access>& accesses, unsigned target, std::span<const EntityId> members)
      : accesses_(accesses), target_(target), members_(members) {}
  void start(pdes::Context& context) override {
    for (std::uint32_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].tile == context.self().value()) {
        context.send_self(SimTime::from_ps(accesses_[i].at_ps), pdes::Port(slot, 0), i);
      }
    }
  }
  void handle(pdes::Context& context, const pdes::Event& event) override {
    if (event.port.kind() == 0) {
      const Access& access = accesses_[event.as<std::uint32_t>()];
      memory::access(context, target_, access.address, Bytes(access.bytes), access.write,
                     pdes::Port(slot, 1), access.tag);
    } else {
      done.push_back({context.now().ps(), context.self().value(), event.tag});
    }
  }
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    std::vector<Done> here;
    for (const Done& one : done) {
      if (one.tile == members_[index].value()) {
        here.push_back(one);
      }
    }
    writer.put_all(here);
  }
  void restore(std::uint32_t /*index*/, pdes::StateReader& reader) override {
    const std::vector<Done> here = reader.get_all<Done>();
    done.insert(done.end(), here.begin(), here.end());
  }
  std::vector<Done> done;

 private:
  const std::vector<Access>& accesses_;
  unsigned target_;
  std::span<const EntityId> members_;
};

// A run at its first cut.
struct Cut {
  std::int64_t at_ps = 0;
  tessera::testing::KeptRun run;
  std::vector<Use> bins;  // told before
  SimTime time() const { return SimTime::from_ps(at_ps); }
};

// With `kept` the run is kept at the cut that it names; with `from` it goes on from one.
inline Outcome run(const Described& described, const std::vector<Access>& accesses, int ranks = 1,
                   std::int64_t bin_ps = 0, Cut* kept = nullptr, const Cut* from = nullptr) {
  Outcome outcome;
  std::mutex mutex;
  const machine::Topology& topology = *described.machine.topology;
  const machine::Partition partition = machine::partitioners().at("stripes")(topology, ranks, {});
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    const std::vector<EntityId> members =
        partition.members[static_cast<std::size_t>(communicator.rank())].listed();
    const auto reach = described.network->reach(described.machine);
    RegionDelays delays = machine::region_delays(topology, partition, communicator.rank());
    if (reach) {
      delays.connect_all(static_cast<std::size_t>(communicator.rank()), reach);
    }
    const SimTime lookahead = topology.smallest_latency();
    pdes::Engine engine(communicator, {partition.owner.listed(), members, std::move(delays)},
                        reach ? std::min(*reach, lookahead) : lookahead);
    Driver driver(accesses, described.coherence ? Driver::coherent_slot : Driver::memory_slot,
                  members);
    const auto network =
        described.network->build({described.machine, members, Driver::network_slot});
    const auto memory = described.memory->build(
        {described.machine, members, Driver::memory_slot, Driver::network_slot, nullptr, {}});
    engine.attach(driver);
    engine.attach(*network);
    engine.attach(*memory);
    std::unique_ptr<CoherentMemory> coherent;
    if (described.coherence) {
      coherent = make_coherent_memory({*described.coherence,
                                       {described.group()},
                                       members,
                                       Driver::coherent_slot,
                                       Driver::network_slot,
                                       Driver::memory_slot});
      engine.attach(*coherent);
    }
    std::vector<Use> bins;
    std::vector<Use> totals;
    const auto noted_in = [](std::vector<Use>& uses) {
      return [&uses](const ChannelUse& use) {
        uses.push_back({use.channel, use.begin.ps(), use.end.ps(), use.read.count(),
                        use.written.count(), use.busy.ps(), use.longest_wait.ps(), use.row_hits,
                        use.row_conflicts});
      };
    };
    if (bin_ps > 0) {
      engine.set_boundaries(SimTime::from_ps(bin_ps), 1000);
      memory->report_bins(noted_in(bins));
    }
    tessera::testing::run_over_a_pause(engine, communicator.rank() == 0, kept, from, [&] {
      const std::scoped_lock lock(mutex);
      kept->bins.insert(kept->bins.end(), bins.begin(), bins.end());
    });
    std::vector<std::uint64_t> last{static_cast<std::uint64_t>(engine.last_event_time().ps()),
                                    static_cast<std::uint64_t>(engine.last_handled_time().ps())};
    communicator.reduce_max(last);
    const SimTime end = SimTime::from_ps(static_cast<std::int64_t>(last[0]));
    const SimTime handled = SimTime::from_ps(static_cast<std::int64_t>(last[1]));
    engine.finish_boundaries(handled);
    memory->pass_boundary(handled);
    memory->visit_channels(end, noted_in(totals));
    const std::scoped_lock lock(mutex);
    outcome.bins.insert(outcome.bins.end(), bins.begin(), bins.end());
    outcome.totals.insert(outcome.totals.end(), totals.begin(), totals.end());
    outcome.done.insert(outcome.done.end(), driver.done.begin(), driver.done.end());
    outcome.balances.resize(memory->balances().size());
    for (std::size_t i = 0; i < outcome.balances.size(); ++i) {
      const Balance of_rank = memory->balances()[i];
      Balance& sum = outcome.balances[i];
      sum = {of_rank.what, sum.out + of_rank.out, sum.in + of_rank.in};
    }
    const AskedBytes asked = memory->asked().value_or(AskedBytes());
    outcome.asked.add(false, asked.read);
    outcome.asked.add(true, asked.written);
  });
  if (from != nullptr) {
    outcome.bins.insert(outcome.bins.end(), from->bins.begin(), from->bins.end());
  }
  std::sort(outcome.done.begin(), outcome.done.end());
  std::sort(outcome.totals.begin(), outcome.totals.end());
  std::sort(outcome.bins.begin(), outcome.bins.end());
  return outcome;
}

}  // namespace tessera::memory::testing
