// One core in cycles: closed forms of its units, dependencies, double buffering, and ONNXim's
// active cycles.

#include "tessera/npu/core/core_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "making.hpp"
#include "tessera/npu/idle_time.hpp"

namespace tessera::npu::core_engine_test {
namespace {

using testing::core_from;
using testing::mobile;
using testing::operator_from;
using testing::server;
using testing::with;

const std::string like = "timing: onnxim, tiling: onnxim";

IdleRun run(const std::string& core_text, const std::string& text, const IdleMemory& memory = {},
            std::uint64_t number = 0, std::uint64_t cores = 1) {
  const CoreConfig core = core_from(core_text);
  const auto op = operator_from(text, core, cores);
  return run_alone(core, {op.get()}, memory, number, cores);
}

std::string gemm(std::uint64_t rows, std::uint64_t columns, std::uint64_t depth) {
  return "{kind: gemm, rows: " + std::to_string(rows) + ", columns: " + std::to_string(columns) +
         ", depth: " + std::to_string(depth) + "}";
}

std::uint64_t busiest(const std::string& core, const std::string& text) {
  std::uint64_t most = 0;
  for (std::uint64_t number = 0; number < 4; ++number) {
    most = std::max(most, run(core, text, {}, number, 4).use.matrix_active);
  }
  return most;
}

TEST(Array, TakesWeightsThenRowsThenDrains) {
  // One block: R for the weights, then l + R + C - 1.
  EXPECT_EQ(run(server, gemm(50, 128, 128)).use.matrix_busy, 50 + 128 + 128 - 1U);
  // Of several with new weights each starts max(l, R) after the one before.
  EXPECT_EQ(run(server, gemm(50, 128, 128 * 3)).use.matrix_busy, 2 * 128 + 50 + 128 + 128 - 1U);
  EXPECT_EQ(run(server, gemm(300, 128, 128 * 3)).use.matrix_busy, 3 * 300 + 128 + 128 - 1U);
}

TEST(Array, LikeOnnximTakesFourRowsAtLeast) {
  EXPECT_EQ(run(with(server, like), gemm(128, 128, 128)).use.matrix_busy, 128 + 128 + 128 - 2U);
  EXPECT_EQ(run(with(server, like), gemm(1, 128, 128)).use.matrix_busy, 128 + 128 - 2 + 4U);
}

TEST(Array, WaitsForANarrowScratchpad) {
  // 128 elements of two bytes a row, at 64 bytes a cycle: four cycles.
  EXPECT_EQ(
      run(with(server, "scratchpad_word: 32 B, banks: 2"), gemm(50, 128, 128)).use.matrix_busy,
      4 * 50 + 128 + 128 - 1U);
}

// Blocks of twice the depth in the same cycles, of half the types.
TEST(Array, TakesMoreOfTheDepthWithMoreMacsAProcessingElement) {
  const std::string two = with(server, "macs_per_pe: {fp16: 2, int8: 4}");
  EXPECT_EQ(run(two, gemm(50, 128, 256)).use.matrix_busy, 50 + 128 + 128 - 1U);
  EXPECT_EQ(run(two, gemm(300, 128, 128 * 6)).use.matrix_busy, 3 * 300 + 128 + 128 - 1U);
  EXPECT_EQ(run(two, gemm(300, 128, 128 * 6)).use.matrix_active, 3 * 300U);
  EXPECT_EQ(run(two, gemm(300, 128, 128 * 6)).use.macs, 300U * 128 * 128 * 6);
  EXPECT_EQ(run(with(server, "macs_per_pe: {int8: 2}"), gemm(300, 128, 128 * 6)).use.matrix_busy,
            6 * 300 + 128 + 128 - 1U);
  // Twice as many elements enter in a cycle, if the scratchpad gives them.
  EXPECT_EQ(run(with(two, "scratchpad_word: 256 B"), gemm(50, 128, 256)).use.matrix_busy,
            50 + 128 + 128 - 1U);
  EXPECT_EQ(run(with(two, "scratchpad_word: 128 B"), gemm(50, 128, 256)).use.matrix_busy,
            2 * 50 + 128 + 128 - 1U);
}

TEST(Array, TakesAKernelsPixelsAndHeadsByTheDepthToo) {
  const std::string two = with(server, "macs_per_pe: {fp16: 2}");
  const std::string convolution =
      "{kind: convolution, input: 32, channels: 256, outputs: 128, kernel: 3, padding: 1}";
  EXPECT_EQ(2 * run(two, convolution).use.matrix_active,
            run(server, convolution).use.matrix_active);
  const std::string head = "{kind: attention, heads: 1, queries: 512, keys: 512, head_width: 256}";
  EXPECT_EQ(2 * run(two, head).use.matrix_active, run(server, head).use.matrix_active);
  EXPECT_LT(run(two, head).use.matrix_busy * 10, run(server, head).use.matrix_busy * 6);
}

// ../shared: onnxim_cycles.csv, busiest_matmul_active and tiles.
TEST(LikeOnnxim, ActiveCyclesAreTheirs) {
  const std::string big = with(server, like);
  const std::string small = with(mobile, like);
  EXPECT_EQ(busiest(big, gemm(128, 128, 128)), 128U);
  EXPECT_EQ(busiest(big, gemm(256, 256, 256)), 1024U);
  EXPECT_EQ(busiest(big, gemm(512, 512, 512)), 8192U);
  EXPECT_EQ(busiest(big, gemm(1024, 1024, 1024)), 16384U);
  EXPECT_EQ(busiest(big, gemm(2048, 2048, 2048)), 131072U);
  EXPECT_EQ(busiest(big, gemm(1, 4096, 4096)), 288U);
  EXPECT_EQ(busiest(big, gemm(512, 2048, 128)), 2048U);
  EXPECT_EQ(busiest(small, gemm(128, 128, 128)), 8192U);
  EXPECT_EQ(busiest(small, gemm(100, 300, 200)), 26400U);
  EXPECT_EQ(busiest(small, gemm(512, 512, 512)), 530432U);
  EXPECT_EQ(busiest(small,
                    "{kind: convolution, input: 28, channels: 128, outputs: 128, kernel: 3, "
                    "padding: 1}"),
            451296U);
}

// A layer of GPT-3 Small: a prompt of 512 tokens, and the token after it. The busiest of four cores
// has the first and the last of both sets of the first product's tiles.
TEST(LikeOnnxim, ActiveCyclesOfALayerAreTheirs) {
  const std::string core = with(server, like);
  for (const std::uint64_t rows : {512U, 1U}) {
    const std::string heads = "{kind: attention, heads: 12, queries: " + std::to_string(rows) +
                              ", keys: " + std::to_string(rows == 1 ? 513 : 512) +
                              ", head_width: 64, whole_heads: true}";
    const auto active = [&](const std::string& text, std::uint64_t core_number) {
      return run(core, text, {}, core_number, 4).use.matrix_active;
    };
    // Counted from the core that the first product begins at, the others begin 1, 2, 4, 6 further.
    std::uint64_t most = 0;
    for (std::uint64_t at = 0; at < 4; ++at) {
      most = std::max(most, 2 * active(gemm(rows, 2304, 768), at) + active(heads, (at + 3) % 4) +
                                active(gemm(rows, 768, 768), (at + 2) % 4) +
                                active(gemm(rows, 3072, 768), at) +
                                active(gemm(rows, 768, 3072), (at + 2) % 4));
    }
    EXPECT_EQ(most, rows * 162);
  }
}

TEST(LikeOnnxim, AWholeHeadIsInTheArrayForEachElementOfItsOutput) {
  const std::string head =
      "{kind: attention, heads: 1, queries: 512, keys: 512, head_width: 64, whole_heads: true}";
  EXPECT_EQ(run(with(server, like), head).use.matrix_busy, 4 * 512 + 512 * 64 + 2 * 254U);
}

TEST(LikeOnnxim, TilesWhatItsCodeDividesByZeroFor) {
  EXPECT_EQ(run(with(server, like), gemm(100, 300, 200)).use.macs, 100U * 300 * 200);
}

TEST(Core, OverlapsMemoryWithTheArray) {
  // As much memory as takes 3/4 of the array's time: hidden but for the first loads and the last
  // stores.
  const IdleMemory memory{Bandwidth::bytes_per_second(192'000'000'000), SimTime::from_ps(100'000)};
  const IdleRun hidden = run(server, gemm(4096, 4096, 4096), memory);
  EXPECT_LT(hidden.cycles, 4096ULL * 4096 * 4096 / 128 / 128 * 115 / 100);
  // Ten times slower, memory is all there is.
  const IdleMemory slow{Bandwidth::bytes_per_second(19'200'000'000), SimTime::from_ps(100'000)};
  const IdleRun bound = run(server, gemm(4096, 4096, 4096), slow);
  const double seconds = static_cast<double>(bound.use.loaded + bound.use.stored) / 19.2e9;
  EXPECT_NEAR(static_cast<double>(bound.cycles), seconds * 1e9, seconds * 1e9 * 0.15);
}

// A product of one row is bound by its weights: in fewer bits it takes as much less time.
TEST(PackedWeights, MoveAsTheyLie) {
  const IdleMemory slow{Bandwidth::bytes_per_second(50'000'000'000), SimTime::from_ps(100'000)};
  const auto product = [](std::uint64_t rows, const std::string& weights) {
    std::string text = gemm(rows, 4096, 4096);
    text.insert(text.size() - 1, weights);
    return text;
  };
  for (const std::string& core : {std::string(server), with(server, like)}) {
    const auto cycles = [&](std::uint64_t rows, const std::string& weights,
                            const IdleMemory& memory) {
      return static_cast<double>(run(core, product(rows, weights), memory).cycles);
    };
    const double plain = cycles(1, "", slow);
    EXPECT_NEAR(cycles(1, ", weights: {type: int8}", slow) / plain, 0.5, 0.01);
    EXPECT_NEAR(cycles(1, ", weights: {type: int4}", slow) / plain, 0.25, 0.01);
    // With a scale of two bytes for 32: 4.5 bits each.
    EXPECT_NEAR(cycles(1, ", weights: {type: int4, group_size: 32}", slow) / plain, 4.5 / 16, 0.01);
    // All loaded, with the row and the output.
    EXPECT_EQ(run(core, product(1, ", weights: {type: int4}"), slow).use.loaded,
              4096U * 4096 / 2 + run(core, product(1, ""), slow).use.loaded - 4096 * 4096 * 2);
    // What the array bounds stays as it is.
    const double bound = cycles(4096, "", {});
    EXPECT_NEAR(cycles(4096, ", weights: {type: int4}", {}) / bound, 1, 0.01);
  }
}

TEST(PackedWeights, GiveRoomForLargerTiles) {
  const CoreConfig core = core_from(mobile);
  const auto plain = operator_from(gemm(64, 64, 4096), core, 1);
  std::string text = gemm(64, 64, 4096);
  text.insert(text.size() - 1, ", weights: {type: int4}");
  const auto packed = operator_from(text, core, 1);
  EXPECT_LT(packed->steps(), plain->steps());
}

TEST(Core, MovesNothingTwiceAndMissesNothing) {
  const IdleRun one = run(mobile, gemm(100, 70, 30));
  EXPECT_EQ(one.use.stored, 100U * 70 * 2);
  EXPECT_GE(one.use.loaded, (100U * 30 + 70 * 30) * 2);
  EXPECT_EQ(one.use.macs, 100U * 70 * 30);
}

TEST(Core, ComputesNothingBeforeItsDataAndStoresNothingBeforeItsSums) {
  const CoreConfig core = core_from(server);
  const auto op = operator_from(gemm(128, 128, 128), core, 1);
  ProgramStore programs({op.get()});
  CoreEngine engine(core, programs);
  std::vector<std::pair<Cycle, Transfer>> loads;
  std::vector<std::pair<Cycle, Transfer>> stores;
  bool is_over = false;
  const CoreEngine::Surroundings notes{
      [&](Cycle cycle, const Transfer& transfer) {
        (transfer.store ? stores : loads).emplace_back(cycle, transfer);
      },
      [&](Cycle, const Share&) { is_over = true; }};
  engine.add({});
  EXPECT_EQ(engine.run(0, notes), 2U);  // two loads, one a cycle
  EXPECT_EQ(engine.run(2, notes), unknown_cycle);
  ASSERT_EQ(loads.size(), 2U);  // weights and activations
  ASSERT_EQ(engine.unfinished().size(), 1U);
  EXPECT_NE(engine.unfinished()[0].where.find("2 loads"), std::string::npos);
  EXPECT_EQ(engine.use().macs, 0U);
  engine.moved(1000, loads[0].second);
  EXPECT_EQ(engine.run(1000, notes), unknown_cycle);
  EXPECT_EQ(engine.use().macs, 0U);
  engine.moved(2000, loads[1].second);
  engine.run(engine.run(2000, notes), notes);
  // Issued at 2000, begun one later, after R cycles of weights.
  ASSERT_EQ(stores.size(), 1U);
  EXPECT_EQ(stores[0].first, 2001 + 128 + 128 + 128 + 128 - 1 + 1U);
  EXPECT_FALSE(is_over);
  engine.moved(11'000, stores[0].second);
  engine.run(11'000, notes);
  EXPECT_TRUE(is_over);
  EXPECT_TRUE(engine.unfinished().empty());
}

TEST(Core, GoesOnFromWhatWasSaved) {
  const CoreConfig core = core_from(mobile);
  const auto op = operator_from(gemm(200, 100, 900), core, 1);
  // Runs to the end, saved and taken up again each time something has been moved.
  const auto end_of = [&](bool saves) {
    ProgramStore programs({op.get()});
    CoreEngine engine(core, programs);
    std::deque<std::pair<Cycle, Transfer>> moves;
    Cycle end = 0;
    const CoreEngine::Surroundings notes{
        [&](Cycle cycle, const Transfer& transfer) { moves.emplace_back(cycle + 50, transfer); },
        [&](Cycle cycle, const Share&) { end = cycle; }};
    engine.add({});
    Cycle now = 0;
    Cycle wake = engine.run(now, notes);
    while (end == 0) {
      if (saves) {
        pdes::StateWriter writer;
        engine.save(writer);
        CoreEngine other(core, programs);
        pdes::StateReader reader(writer.bytes());
        other.restore(reader);
        EXPECT_TRUE(reader.at_end());
        engine = other;
      }
      if (!moves.empty() && moves.front().first <= wake) {
        now = std::max(now, moves.front().first);
        engine.moved(now, moves.front().second);
        moves.pop_front();
      } else {
        now = wake;
      }
      wake = engine.run(now, notes);
    }
    return end;
  };
  EXPECT_GT(end_of(false), 200U * 100 * 900 / 64);
  EXPECT_EQ(end_of(true), end_of(false));
}

TEST(VectorUnit, TakesPassesAndTrees) {
  const auto of = [](const std::string& text) { return run(server, text).use.vector_busy; };
  EXPECT_EQ(of("{kind: elementwise, operation: gelu, elements: 1048576}"), 512U);
  EXPECT_EQ(run(with(server, "latencies: {gelu: 7}"),
                "{kind: elementwise, operation: gelu, elements: 1048576}")
                .use.vector_busy,
            7 * 512U);
  // Of a row of 4096: two trees of 2 + 1 passes, three operations on two passes.
  EXPECT_EQ(of("{kind: softmax, rows: 1, columns: 4096}"), 2 * 3 + 3 * 2U);
}

std::string convolution(std::uint64_t channels, std::uint64_t groups) {
  return "{kind: convolution, input: 16, channels: " + std::to_string(channels) +
         ", outputs: " + std::to_string(channels) +
         ", kernel: 3, padding: 1, groups: " + std::to_string(groups) + "}";
}

TEST(SmallGroups, GoThroughTheVectorUnitTogether) {
  // Nine multiplications and additions for each of 256 x 64 elements, 2048 at a time.
  const IdleRun run_of = run(server, convolution(64, 64));
  EXPECT_EQ(run_of.use.vector_busy, 2 * 9 * 256 * 64 / 2048U);
  EXPECT_EQ(run_of.use.matrix_busy, 0U);
  // Each element once, and weights without zeros.
  EXPECT_EQ(run_of.use.loaded, (256U * 64 + 9 * 64) * 2);
}

TEST(SmallGroups, GoThroughTheArrayTogetherWhereThatIsFaster) {
  // Eight groups of 16 channels on the diagonal: each of nine blocks streams 256 positions.
  const IdleRun run_of = run(server, convolution(128, 8));
  EXPECT_EQ(run_of.use.vector_busy, 0U);
  EXPECT_EQ(run_of.use.matrix_busy, 9 * 256 + 128 + 128 - 1U);
  EXPECT_EQ(run_of.use.macs, 9U * 256 * 128 * 16);
  EXPECT_EQ(run_of.use.loaded, (256U * 128 + 9 * 128 * 16) * 2);
  // With a vector unit of 16 elements a cycle, also depth-wise.
  const std::string slow =
      "{array: [128, 128], vector_width: 16, scratchpad: 32 MiB, accumulator: 4 MiB}";
  EXPECT_EQ(run(slow, convolution(128, 128)).use.matrix_busy, 9 * 256 + 128 + 128 - 1U);
}

TEST(SmallGroups, LargerOnesGoOneAtATime) {
  EXPECT_EQ(run(server, convolution(256, 2)).use.matrix_busy, 2 * 9 * 256 + 128 + 128 - 1U);
}

TEST(Attention, WithFewerHeadsOfKeysLoadsFewer) {
  const std::string shape = ", heads: 32, queries: 1, keys: 1024, head_width: 128}";
  const IdleRun many = run(server, "{kind: attention, kv_heads: 32" + shape);
  const IdleRun few = run(server, "{kind: attention, kv_heads: 8" + shape);
  EXPECT_EQ(many.use.macs, few.use.macs);
  EXPECT_EQ(many.use.loaded, (32U * 128 + 2U * 32 * 1024 * 128) * 2);
  EXPECT_EQ(few.use.loaded, (32U * 128 + 2U * 8 * 1024 * 128) * 2);
}

}  // namespace
}  // namespace tessera::npu::core_engine_test
