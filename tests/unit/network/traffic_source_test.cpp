// When sources of synthetic traffic send, and what they count.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"
#include "tessera/network/traffic/traffic.hpp"

namespace tessera::network::traffic_source_test {
namespace {

using testing::Described;
using testing::network_of;

// To the next one, the last one to itself; a draw for each message.
class ToNext final : public TrafficPattern {
 public:
  std::uint32_t target(std::uint32_t source, RandomStream& random) const override {
    drawn.push_back({source, random.next_u64()});
    return source == 3 ? 3 : source + 1;
  }
  mutable std::vector<std::pair<std::uint32_t, std::uint64_t>> drawn;
};

// In every fourth cycle; two draws for each message.
class EveryFourth final : public InjectionProcess {
 public:
  std::uint64_t gap(InjectionState& state, RandomStream& random, bool first,
                    std::uint64_t most) const override {
    firsts += first ? 1 : 0;
    least_most = std::min(least_most, most);
    EXPECT_EQ(state.draws % 3, 0U);
    random.next_u64();
    random.next_u64();
    return 3;
  }
  mutable int firsts = 0;
  mutable std::uint64_t least_most = ~std::uint64_t{0};
};

// Four accelerators around a switch: 2 B take 2 ns, and 1 ns over each of two links.
const char* const star =
    "{kind: graph, nodes: [{name: hub, kind: switch}, {name: gpu, count: 4}], links: [{from: gpu, "
    "to: hub, bandwidth: 1 GB/s, latency: 1 ns}]}";

TEST(TrafficSource, CountsWhatIsSentAndWhatHasCome) {
  const Described described = network_of(star, "model: analytical");
  const machine::Topology& topology = *described.machine.topology;
  std::vector<EntityId> members;
  std::vector<std::uint32_t> owner(topology.nodes(), 0);
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    members.emplace_back(node);
  }
  const auto communicator = comm::make_in_process();
  RegionDelays alone;
  alone.to = alone.from = {SimTime::never()};
  const SimTime nanosecond = SimTime::from_ps(1000);
  pdes::Engine engine(*communicator, {owner, members, alone}, nanosecond);
  const ToNext pattern;
  const EveryFourth process;
  TrafficSource source({topology, members, 9, nanosecond, Bytes(2), 0, 1}, pattern, process);
  const auto network = described.network->build({described.machine, members, 1, nullptr, {}});
  engine.attach(source);
  engine.attach(*network);
  engine.set_pauses(nanosecond * 100);
  EXPECT_EQ(source.counts().least_ps, ~std::uint64_t{0});
  EXPECT_EQ(source.counts().most_ps, 0U);
  int pauses = 0;
  pdes::EngineHooks hooks;
  hooks.on_pause = [&](SimTime) {
    const TrafficCounts& counts = source.counts();
    EXPECT_EQ(counts.sent, 100U) << "in cycles 3, 7, …, 99 of each";
    EXPECT_EQ(counts.waiting, 3U) << "what was sent last, but to itself";
    EXPECT_EQ(counts.least_ps, 0U);
    EXPECT_EQ(counts.most_ps, 4000U);
    if (++pauses == 1) {
      EXPECT_EQ(counts.come, 97U);
      EXPECT_EQ(counts.measured, 97U);
      EXPECT_EQ(counts.to_measure, 100U);
      EXPECT_EQ(counts.latency_ps, 72U * 4000);
      EXPECT_EQ(counts.send_cycles, 3U * 99);
      source.measure(111, 148);  // both are cycles, the latter after one
      source.clear();
      EXPECT_EQ(source.counts().sent, 0U);
      EXPECT_EQ(source.counts().waiting, 3U);
      EXPECT_EQ(source.counts().send_cycles, 3U * 99);
    } else {
      EXPECT_EQ(counts.come, 100U);
      EXPECT_EQ(counts.measured, 40U);
      EXPECT_EQ(counts.to_measure, 40U);
      EXPECT_EQ(counts.latency_ps, 30U * 4000);
      EXPECT_EQ(counts.send_cycles, 3U * 199);
      source.measure(200, 147);
      source.clear();
      source.stop();
    }
  };
  EXPECT_TRUE(engine.run(hooks));
  EXPECT_EQ(pauses, 2);
  EXPECT_EQ(source.sent_in_all(), 200U);
  EXPECT_EQ(source.come_in_all(), 200U);
  EXPECT_EQ(source.counts().sent, 0U);
  EXPECT_EQ(source.counts().come, 3U);
  EXPECT_EQ(source.counts().measured, 0U);
  EXPECT_EQ(source.counts().waiting, 0U);
  EXPECT_EQ(source.counts().send_cycles, 0U);
  EXPECT_EQ(process.firsts, 4);
  EXPECT_GT(process.least_most, ~std::uint64_t{0} - 300) << "no bound but that of the counter";
  // Each goes on in its own stream, three draws a message.
  for (std::uint32_t number = 0; number < 4; ++number) {
    RandomStream random(9, EntityId(number + 1), 0x7472'6166);
    for (const auto& [who, drawn] : pattern.drawn) {
      if (who == number) {
        random.next_u64();
        random.next_u64();
        EXPECT_EQ(drawn, random.next_u64());
      }
    }
  }
}

// In every cycle, without a draw.
TEST(TrafficSource, DrawsNothingWhereNothingIsOpen) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("p.yaml", "{}\n", diagnostics), "", diagnostics);
  const auto process = injection_processes().at("bernoulli")(section, 1);
  RandomStream random(5, EntityId(3), 0);
  InjectionState state;
  EXPECT_EQ(process->gap(state, random, true, 1000), 0U);
  EXPECT_EQ(random.index(), 0U);
}

TEST(TrafficSource, CountsWhatItHolds) {
  const Described described = network_of(star, "model: analytical");
  const std::vector<EntityId> members{EntityId(2), EntityId(3)};
  const TrafficSource source(
      {*described.machine.topology, members, 9, SimTime::from_ps(1), {}, 0, 1}, ToNext(),
      EveryFourth());
  EXPECT_EQ(
      source.resident_bytes() -
          machine::NodeOrder(described.machine.topology->computing_node_ids()).resident_bytes(),
      2U * 4 + 2U * 16);
}

}  // namespace
}  // namespace tessera::network::traffic_source_test
