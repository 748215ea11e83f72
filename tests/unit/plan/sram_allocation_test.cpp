// DRAM traffic of a layer, by hand.

#include "sram_allocation.hpp"

#include <gtest/gtest.h>

#include <string>

#include "planning.hpp"

namespace tessera::plan::sram_allocation_test {
namespace {

// One product of 8 rows, 4 columns and depth 6, without bias: W = 48 B, I = 96 B, O = 64 B at fp16;
// gradients as large as the weights.
workload::Layer layer() {
  workload::Operator op;
  op.name = "linear";
  op.kind = "linear";
  op.sharding = workload::Sharding::column;
  op.product = {8, 4, 6, 1};
  op.forward_flops = op.product.flops();
  op.backward_flops = op.forward_flops + op.forward_flops;
  op.weight_gradient_flops = op.forward_flops;
  op.parameters = 24;
  op.input_elements = 48;
  op.output_elements = 32;
  op.stored_whole = Bytes(96);
  return {"layer", {op}, 32};
}

LayerStreams streams(SramAllocation allocation, bool weights, bool activations,
                     std::uint64_t sram) {
  workload::Workload work;
  work.layers = {layer()};
  work.gradient_bytes_per_parameter = Bytes(2);
  Strategy strategy;
  strategy.sram = allocation;
  const Sharder sharder(work, strategy);
  StageMemory memory;
  memory.holds_weights = weights;
  memory.holds_activations = activations;
  return streams_of(sharder, strategy, work.layers[0], memory, Bytes(sram));
}

TEST(SramAllocation, WhatIsHeldDoesNotMove) {
  for (const SramAllocation allocation : {SramAllocation::resident, SramAllocation::algorithm_1}) {
    const LayerStreams none = streams(allocation, true, true, 1000);
    EXPECT_EQ(none.forward_weights + none.forward_inputs + none.forward_outputs, Bytes(0));
    EXPECT_EQ(none.backward_weights + none.backward_inputs + none.backward_outputs, Bytes(0));
    EXPECT_EQ(none.gradients_read + none.gradients_written, Bytes(0));
  }
}

TEST(SramAllocation, ResidentMovesWhatIsKept) {
  const LayerStreams all = streams(SramAllocation::resident, false, false, 1);
  EXPECT_EQ(all.forward_weights, Bytes(48));
  EXPECT_EQ(all.forward_inputs, Bytes(0));
  EXPECT_EQ(all.forward_outputs, Bytes(96));  // the stored input
  EXPECT_EQ(all.backward_inputs, Bytes(96));
  EXPECT_EQ(all.gradients_read, Bytes(48));
  EXPECT_EQ(all.gradients_written, Bytes(48));
}

// PALM, Algorithm 1.
TEST(SramAllocation, StreamsActivationsOrWeights) {
  const LayerStreams activations = streams(SramAllocation::algorithm_1, true, false, 1);
  EXPECT_EQ(activations.forward_weights, Bytes(0));
  EXPECT_EQ(activations.forward_inputs, Bytes(96));
  EXPECT_EQ(activations.forward_outputs, Bytes(64));
  EXPECT_EQ(activations.backward_inputs, Bytes(96 + 64));
  EXPECT_EQ(activations.backward_outputs, Bytes(96));
  EXPECT_EQ(activations.gradients_written, Bytes(0));
  const LayerStreams weights = streams(SramAllocation::algorithm_1, false, true, 1);
  EXPECT_EQ(weights.forward_weights, Bytes(48));
  EXPECT_EQ(weights.forward_inputs + weights.forward_outputs, Bytes(0));
  EXPECT_EQ(weights.backward_weights, Bytes(48));
  EXPECT_EQ(weights.gradients_read, Bytes(48));
}

TEST(SramAllocation, TakesTheCheaperStationaryOperand) {
  // 20 B: W stays in 3 parts, 48 + 3 * 96 = 336; I stays in 5, 96 + 5 * 48 = 336: a tie.
  const LayerStreams tie = streams(SramAllocation::algorithm_1, false, false, 20);
  EXPECT_EQ(tie.forward_weights, Bytes(48));
  EXPECT_EQ(tie.forward_inputs, Bytes(3 * 96));
  EXPECT_EQ(tie.forward_outputs, Bytes(64));
  // 32 B: W in 2 parts, 48 + 2 * 96 = 240; I in 3, 96 + 3 * 48 = 240. 24 B: 240 against 288.
  EXPECT_EQ(streams(SramAllocation::algorithm_1, false, false, 24).forward_inputs, Bytes(2 * 96));
  // 40 B: W in 2 parts, 240; I in 3, 240. 47 B: W in 2, 240; I in 3. 95 B: W whole, 144.
  EXPECT_EQ(streams(SramAllocation::algorithm_1, false, false, 95).forward_inputs, Bytes(96));
  // 19 B: W in 3 parts, 336; I in 6, 384.
  EXPECT_EQ(streams(SramAllocation::algorithm_1, false, false, 19).forward_weights, Bytes(48));
}

}  // namespace
}  // namespace tessera::plan::sram_allocation_test
