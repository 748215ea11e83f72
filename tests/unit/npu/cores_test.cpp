// Cores in motion on a machine: times as of a core alone, and what its units did.

#include "tessera/npu/core/cores.hpp"

#include <gtest/gtest.h>

#include "driving.hpp"
#include "making.hpp"
#include "tessera/npu/idle_time.hpp"

namespace tessera::npu::cores_test {
namespace {

using testing::core_from;
using testing::mobile;
using testing::operator_from;
using testing::Outcome;
using testing::with;

constexpr const char* machine_text = R"(
topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 64 GB/s, latency: 5 ns}
tile: {peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 16 GB/s}
dram: {at: edge, edges: [west], bandwidth: 8 GB/s, latency: 60 ns}
)";

Outcome simulate(const CoreConfig& core, const std::vector<std::string>& texts, std::uint32_t cores,
                 int ranks = 1) {
  return testing::simulate(machine_text, core, texts, cores, ranks);
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

// A tile may begin, with loads of the one before still under way, and no unit be any further.
TEST(Cores, BinsAddUpToWhatTheyDid) {
  const CoreConfig core = core_from(mobile);
  for (const std::int64_t bin_ps : {5'000, 200'000}) {
    const Outcome outcome =
        testing::simulate(machine_text, core, {product, product}, 2, 1, SimTime::from_ps(bin_ps));
    for (const compute::CoreUse& use : outcome.uses) {
      compute::CoreUse sum;
      for (const compute::CoreUse& bin : outcome.bins) {
        if (bin.node == use.node) {
          sum.matrix_busy += bin.matrix_busy;
          sum.dma_busy += bin.dma_busy;
          sum.matrix_active += bin.matrix_active;
          sum.tiles += bin.tiles;
        }
      }
      EXPECT_EQ(sum.matrix_busy, use.matrix_busy);
      EXPECT_EQ(sum.dma_busy, use.dma_busy);
      EXPECT_EQ(sum.matrix_active, use.matrix_active);
      EXPECT_EQ(sum.tiles, use.tiles);
    }
  }
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
}  // namespace tessera::npu::cores_test
