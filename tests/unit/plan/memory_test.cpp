// What a stage keeps in SRAM, and whether all of it fits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "planning.hpp"

namespace tessera::plan::memory_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::machine_text;
using testing::planned;
using testing::Planned;
using testing::workload_text;

const std::string strategy = "pipeline: 8\n";
const std::string dram = "at: each, bandwidth: 10 GB/s, latency: 10 ns";

// Of the third stage, one plain transformer layer.
StageMemory memory_with(std::uint64_t sram) {
  return planned(strategy, machine_text("sram: " + std::to_string(sram) + " B", dram))
      .plan.stages[3]
      .memory;
}

TEST(StageMemory, PrefersAllThenWeightsThenActivationsThenNothing) {
  const StageMemory sizes = memory_with(0);
  const std::uint64_t weights = sizes.weight_state().count();
  const std::uint64_t activations = sizes.activations().count();
  ASSERT_GT(weights, activations);
  const auto held = [](std::uint64_t sram) {
    const StageMemory memory = memory_with(sram);
    return std::pair(memory.holds_weights, memory.holds_activations);
  };
  EXPECT_EQ(held(weights + activations), std::pair(true, true));
  EXPECT_EQ(held(weights + activations - 1), std::pair(true, false));
  EXPECT_EQ(held(weights), std::pair(true, false));
  EXPECT_EQ(held(weights - 1), std::pair(false, true));
  EXPECT_EQ(held(activations), std::pair(false, true));
  EXPECT_EQ(held(activations - 1), std::pair(false, false));
  EXPECT_EQ(held(0), std::pair(true, true));  // not stated: no limit
}

TEST(StageMemory, AdamTakesSixteenBytesAParameter) {
  const Planned work = planned(strategy);
  const StageMemory& memory = work.plan.stages[3].memory;
  const std::uint64_t parameters = work.workload.layers[3].parameters();
  EXPECT_EQ(memory.weights, Bytes(2 * parameters));
  EXPECT_EQ(memory.gradients, Bytes(2 * parameters));
  EXPECT_EQ(memory.optimizer, Bytes(12 * parameters));
  EXPECT_EQ(memory.in_flight, 5U);
  EXPECT_EQ(memory.in_dram(), Bytes(0));
  EXPECT_EQ(memory.total(), memory.weight_state() + memory.activations());
}

TEST(StageMemory, ShardingTheOptimizerDividesItsState) {
  const StageMemory whole = planned("pipeline: 8\ndata: 4\n").plan.stages[3].memory;
  const StageMemory shard = planned("pipeline: 8\ndata: 4\nzero: 1\n").plan.stages[3].memory;
  EXPECT_EQ(shard.weights, whole.weights);
  EXPECT_NEAR(static_cast<double>(shard.optimizer.count()),
              static_cast<double>(whole.optimizer.count()) / 4, 64);
}

TEST(StageMemory, RecomputationKeepsTheLayersInputsOnly) {
  const Planned work = planned("pipeline: 8\nrecompute: full\n");
  EXPECT_EQ(work.plan.stages[3].memory.activations_per_micro_batch, Bytes(32 * 64 * 2));
}

// Each of four tiles has 8 of 32 tokens, of 64 numbers of 2 B. Attention works with keys and values
// of all of them, and backward with gradients of these as well.
TEST(LayerMemory, HoldsKeysAndValuesThatAContextGroupGathers) {
  const std::string flash = workload_text() + "attention: flash\n";
  const Planned work = planned("context: 4\n", machine_text(), flash);
  const LayerMemory layer =
      memory_of_layer(work.workload, work.plan.strategy, work.workload.layers[1]);
  const std::uint64_t share = 8 * 64 * 2;
  const std::uint64_t keys_and_values = 2 * 32 * 64 * 2;
  EXPECT_EQ(layer.working_forward, Bytes(share + keys_and_values));
  EXPECT_EQ(layer.working_backward, Bytes(4 * share + 2 * keys_and_values));
  // Cut over a tensor group too, each has those of its heads.
  const Planned cut = planned("context: 4\ntensor: 2\n", machine_text(), flash);
  const LayerMemory half = memory_of_layer(cut.workload, cut.plan.strategy, cut.workload.layers[1]);
  EXPECT_EQ(half.working_backward * 2, layer.working_backward);
}

std::string complaint_of(const std::string& text, const std::string& more = "") {
  try {
    planned(strategy + more, text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Capacity, NamesTheStageThatDoesNotFitSram) {
  const std::string machine = machine_text("sram: 10 kB");
  EXPECT_THAT(complaint_of(machine), AllOf(HasSubstr("stage 0 needs"), HasSubstr("10 kB"),
                                           HasSubstr("has no DRAM"), HasSubstr("8 micro-batches")));
  EXPECT_EQ(complaint_of(machine, "capacity: ignore\n"), "");
}

TEST(Capacity, NamesTheChannelThatWouldHoldTooMuch) {
  const std::string machine = machine_text("sram: 10 kB", dram + ", capacity: 100 kB");
  EXPECT_THAT(complaint_of(machine),
              AllOf(HasSubstr("DRAM channel 0 at"), HasSubstr("more than its"), HasSubstr("100 kB"),
                    HasSubstr("capacity: ignore")));
  EXPECT_EQ(complaint_of(machine, "capacity: ignore\n"), "");
  EXPECT_EQ(complaint_of(machine_text("sram: 10 kB", dram + ", capacity: 1 GB")), "");
}

TEST(Capacity, SaysWhatAPassHasBesideAndIsNotChecked) {
  const auto note = [](const std::string& tile, const std::string& more = "") {
    const std::string machine = machine_text(tile, dram + ", capacity: 1450 kB");
    const Planned work = planned(strategy + more, machine);
    return note_of_peaks(work.machine, work.plan);
  };
  EXPECT_THAT(note("sram: 10 kB"), AllOf(HasSubstr("DRAM channel 8 at"), HasSubstr("1.45 MB"),
                                         HasSubstr("stage "), HasSubstr("tile.operands: dram")));
  EXPECT_EQ(note("sram: 10 MB"), "");
  EXPECT_EQ(note("sram: 0 B"), "");  // no limit
  EXPECT_EQ(note("sram: 10 kB", "capacity: ignore\n"), "");
}

}  // namespace
}  // namespace tessera::plan::memory_test
