// Cores in motion on a machine: times as of a core alone, and what its units did.

#include "tessera/npu/cores.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "making.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/machine/partition.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"
#include "tessera/npu/idle_time.hpp"
#include "tessera/npu/messages.hpp"

namespace tessera::npu {
namespace {

using testing::core_from;
using testing::mobile;
using testing::operator_from;
using testing::with;

constexpr const char* machine_text = R"(
topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 64 GB/s, latency: 5 ns}
tile: {peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 16 GB/s}
dram: {at: edge, edges: [west], bandwidth: 8 GB/s, latency: 60 ns}
)";

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
  std::vector<compute::CoreUse> uses;
};

Outcome simulate(const CoreConfig& core, const std::vector<std::string>& texts, std::uint32_t cores,
                 int ranks = 1) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", machine_text, diagnostics), "", diagnostics);
  const auto machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  const auto network = network::read_network(section.section("network"), *machine);
  const auto memory = memory::read_memory(section.section("memory"));
  std::vector<std::unique_ptr<TiledOperator>> owned;
  std::vector<const TiledOperator*> operators;
  for (const std::string& text : texts) {
    owned.push_back(operator_from(text, core, cores));
    operators.push_back(owned.back().get());
  }
  Outcome outcome;
  std::mutex mutex;
  const machine::Topology& topology = *machine->topology;
  const machine::Partition partition = machine::partitioners().at("stripes")(topology, ranks, {});
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    const auto& members = partition.members[static_cast<std::size_t>(communicator.rank())];
    pdes::Engine engine(communicator,
                        {partition.owner, members, machine::region_delays(topology, partition)},
                        topology.smallest_latency());
    Driver driver(static_cast<std::uint32_t>(texts.size()), cores);
    const auto net = network->build({*machine, members, Driver::network_slot});
    const auto mem = memory->build({*machine, members, Driver::memory_slot, Driver::network_slot});
    const auto all =
        make_cores({*machine, members, core, std::make_shared<ListedOperators>(operators), false,
                    Driver::cores_slot, Driver::memory_slot});
    engine.attach(driver);
    engine.attach(*net);
    engine.attach(*mem);
    engine.attach(*all);
    engine.run();
    const std::scoped_lock lock(mutex);
    for (const SimTime end : driver.ends) {
      outcome.end = std::max(outcome.end, end);
    }
    all->visit_cores(SimTime::from_ps(1'000'000'000'000),
                     [&](const compute::CoreUse& use) { outcome.uses.push_back(use); });
  });
  return outcome;
}

const std::string product = "{kind: gemm, rows: 100, columns: 90, depth: 80}";

TEST(Cores, WithOperandsInSramTakeAsLongAsOneAlone) {
  const CoreConfig core = core_from(with(mobile, "operands: sram, dma: {open: 16384}"));
  const auto op = operator_from(product, core, 1);
  const IdleRun alone =
      run_alone(core, {op.get()}, {Bandwidth::bytes_per_second(16'000'000'000), SimTime::zero()});
  const Outcome outcome = simulate(core, {product}, 1);
  EXPECT_EQ(outcome.end, core.clock.time_of_cycle(alone.cycles));
  ASSERT_EQ(outcome.uses.size(), 1U);
  EXPECT_EQ(outcome.uses[0].matrix_busy, core.clock.time_of_cycle(alone.use.matrix_busy));
  EXPECT_EQ(outcome.uses[0].loaded, Bytes(alone.use.loaded));
  EXPECT_EQ(outcome.uses[0].stored, Bytes(100 * 90 * 2));
}

TEST(Cores, ShareTheMemory) {
  const CoreConfig core = core_from(mobile);
  const Outcome one = simulate(core, {product}, 1);
  const Outcome two = simulate(core, {product}, 2);
  EXPECT_LT(two.end, one.end);
  Bytes moved;
  for (const compute::CoreUse& use : two.uses) {
    moved += use.loaded + use.stored;
    EXPECT_GT(use.dma_busy, SimTime::zero());
  }
  // One channel of 8 GB/s for both.
  EXPECT_GE(two.end, serialization_time(moved, Bandwidth::bytes_per_second(8'000'000'000)));
}

TEST(Cores, MoveTheSameByRowsAndByBlocks) {
  const Outcome blocks = simulate(core_from(mobile), {product}, 2);
  const Outcome rows =
      simulate(core_from(with(mobile, "dma: {access: row, request: 64 B, open: 3}")), {product}, 2);
  ASSERT_EQ(blocks.uses.size(), rows.uses.size());
  for (std::size_t i = 0; i < rows.uses.size(); ++i) {
    EXPECT_EQ(rows.uses[i].loaded, blocks.uses[i].loaded);
    EXPECT_EQ(rows.uses[i].stored, blocks.uses[i].stored);
  }
  EXPECT_GT(rows.end, blocks.end);  // three small accesses at a time
}

TEST(Cores, BeginTheNextShareWhileOneEnds) {
  const CoreConfig core = core_from(mobile);
  const SimTime one = simulate(core, {product}, 1).end;
  const SimTime three = simulate(core, {product, product, product}, 1).end;
  EXPECT_LT(three, one * 3);
}

TEST(Cores, AreTheSameOnTwoRanks) {
  const CoreConfig core = core_from(mobile);
  const std::vector<std::string> list{product, "{kind: softmax, rows: 40, columns: 300}"};
  EXPECT_EQ(simulate(core, list, 2, 1).end, simulate(core, list, 2, 2).end);
}

}  // namespace
}  // namespace tessera::npu
