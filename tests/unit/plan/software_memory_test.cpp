// What PyTorch holds beside what a plan says: units, buffers and blocks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planning.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan::software_memory_test {
namespace {

using testing::machine_text;
using testing::planned;
using testing::Planned;
using testing::workload_text;

LayerMemory of_layer(const Planned& work, std::size_t layer) {
  return memory_of_layer(work.workload, work.plan.strategy, work.workload.layers[layer]);
}

const PassMemory& pass_of(const Planned& work, Phase phase, std::uint32_t stage = 0) {
  return work.plan.stages[stage].pass_memory.chunks[0][static_cast<std::size_t>(phase)];
}

MemoryUse walked(const Planned& work, std::uint32_t stage) {
  return peak_over(work.machine, work.plan, stage,
                   work.plan.strategy.passes(stage, work.plan.training))
      .use;
}

TEST(SoftwareMemory, FullyShardGathersFromTheOptimizersWeightsInUnits) {
  const Planned work = planned("data: 2\nzero: 3\nsoftware: {sharding: fsdp2}\n");
  const Bytes once = of_layer(work, 0).weights + of_layer(work, 7).weights;
  const Bytes layer = of_layer(work, 1).weights;
  EXPECT_EQ(work.plan.stages[0].memory.weights, Bytes(0));
  // Copies of what is not repeated and of a layer, and the buffers of both.
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    EXPECT_EQ(pass_of(work, phase).gathered, once + layer + (std::max(once, layer) + layer));
  }
}

TEST(SoftwareMemory, FullyShardCopiesNewGradients) {
  const std::string shared = "data: 2\nzero: 3\noverlap_gradients: true\n";
  const Planned work = planned(shared + "software: {sharding: fsdp2}\n", machine_text(),
                               workload_text() + "gradient_type: fp32\n");
  const LayerMemory layer = of_layer(work, 3);
  EXPECT_EQ(layer.gradients, layer.new_gradients * 2);
  // Scattered from memory that serves all else: no pool of its own.
  EXPECT_EQ(pass_of(work, Phase::backward).scattered, Bytes(0));
  const Planned plain = planned(shared, machine_text(), workload_text() + "gradient_type: fp32\n");
  EXPECT_GT(pass_of(plain, Phase::backward).scattered, Bytes(0));
}

// With gradients under way of two layers: copies of both, what the layer at work and the root have
// made in the data type.
TEST(SoftwareMemory, FullyShardHoldsNewGradientsBesideTheirCopies) {
  const Planned work =
      planned("data: 2\nzero: 3\noverlap_gradients: true\nsoftware: {sharding: fsdp2}\n",
              machine_text(), workload_text() + "gradient_type: fp32\n");
  const LayerMemory layer = of_layer(work, 3);
  const Bytes once_new = of_layer(work, 0).new_gradients + of_layer(work, 7).new_gradients;
  EXPECT_EQ(pass_of(work, Phase::backward).most[MemoryPart::scattered],
            layer.new_gradients + layer.gradients + once_new + layer.gradients);
}

// The root alone, of a stage that has the embedding and nothing else.
TEST(SoftwareMemory, FullyShardCopiesGradientsOfChunksWithoutRepeatedLayers) {
  const Planned work = planned("pipeline: 8\ndata: 2\nzero: 1\nsoftware: {sharding: fsdp2}\n");
  ASSERT_EQ(work.plan.stages[0].chunks[0].end, 1U);
  const LayerMemory embedding = of_layer(work, 0);
  EXPECT_FALSE(embedding.repeats);
  EXPECT_EQ(pass_of(work, Phase::backward).most[MemoryPart::scattered],
            embedding.new_gradients + embedding.gradients);
  // Gradients of a head come when copies of its logits have gone.
  EXPECT_EQ(pass_of(work, Phase::backward, 7).most[MemoryPart::scattered], Bytes(0));
}

TEST(SoftwareMemory, FullyShardAloneSharesOutNothing) {
  for (const std::string alone : {"data: 1\n", "data: 2\nshard: 1\n"}) {
    const Planned plain = planned(alone + "zero: 3\n");
    const Planned work = planned(alone + "zero: 3\nsoftware: {sharding: fsdp2}\n");
    EXPECT_GT(work.plan.stages[0].memory.weights, Bytes(0)) << alone;
    EXPECT_EQ(work.plan.stages[0].memory.peak, plain.plan.stages[0].memory.peak) << alone;
  }
}

TEST(SoftwareMemory, FullyShardGathersLayerByLayerInInferenceToo) {
  std::string text = workload_text();
  text.replace(text.find("optimizer: adam"), 15, "mode: inference");
  const Planned work =
      planned("data: 2\nzero: 3\nsoftware: {sharding: fsdp2}\n", machine_text(), text);
  const Bytes once = of_layer(work, 0).weights + of_layer(work, 7).weights;
  const Bytes layer = of_layer(work, 1).weights;
  EXPECT_EQ(pass_of(work, Phase::forward).gathered, once + layer + (std::max(once, layer) + layer));
}

TEST(SoftwareMemory, FullyShardUnderAPipelineHoldsWholeGradientsBesideItsShare) {
  const std::string shared = "pipeline: 4\ndata: 2\nzero: 1\n";
  const Planned plain = planned(shared);
  const Planned work = planned(shared + "software: {sharding: fsdp2}\n");
  const StageMemory& before = plain.plan.stages[1].memory;
  const StageMemory& after = work.plan.stages[1].memory;
  EXPECT_EQ(after.weights, before.weights);
  EXPECT_EQ(after.gradients, before.gradients + Bytes(before.gradients.count() / 2));
}

TEST(SoftwareMemory, BuffersOfEveryMicroBatchLieBetweenStages) {
  const Bytes boundary(32 * 64 * 2);
  for (const std::string recompute : {"none", "full"}) {
    const Planned work =
        planned("pipeline: 4\nrecompute: " + recompute + "\nsoftware: {boundary_buffers: all}\n");
    const bool kept = recompute == "full";  // the input is among what the first layer keeps
    for (std::uint32_t stage = 0; stage < 4; ++stage) {
      const StageMemory& memory = work.plan.stages[stage].memory;
      const std::uint64_t ways = stage == 0 || stage == 3 ? 1 : 2;
      const Bytes logits = stage == 3 ? Bytes(32 * 100 * 2) : Bytes();
      const Bytes sent = stage == 3 ? Bytes() : boundary * memory.in_flight;
      const Bytes own = stage > 0 && kept ? boundary * memory.in_flight : Bytes();
      EXPECT_EQ(memory.boundaries.of(16), (boundary * ways + logits) * 16 + sent - own) << stage;
      EXPECT_EQ(memory.peak.total(), walked(work, stage).total()) << stage;
    }
  }
}

// A run of fewer micro-batches, whose schedule goes on, keeps as many outputs as the whole one.
TEST(SoftwareMemory, BuffersGoWithThePassesThatAreWalked) {
  const std::string strategy =
      "pipeline: 4\nschedule: gpipe\nrecompute: full\nsoftware: {boundary_buffers: all}\n";
  std::string text = workload_text();
  text.replace(text.find("batch: 16"), 9, "batch: 4");
  const Planned whole = planned(strategy);
  const Planned few = planned(strategy, machine_text(), text);
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const auto passes = whole.plan.strategy.passes(stage, true);
    EXPECT_EQ(peak_over(few.machine, few.plan, stage, passes).use, walked(whole, stage)) << stage;
  }
}

TEST(SoftwareMemory, CopiesOfLogitsFindNoBlockThatFits) {
  const auto working = [](const std::string& freed) {
    std::string text = workload_text();
    text.replace(text.find("vocabulary: 100"), 15, "vocabulary: 4000");
    const Planned work = planned("software: {freed_blocks: " + freed + "}\n", machine_text(),
                                 text + "loss: eager\n");
    return std::pair(walked(work, 0)[MemoryPart::working], of_layer(work, 1).working_forward);
  };
  const auto [any, layer] = working("any");
  const Bytes logits(32 * 4000 * 2);
  EXPECT_EQ(working("fitting").first, any + logits + layer);
}

// Four heads of 16 share keys and values of two: their copies take as much again, for 32 tokens.
TEST(SoftwareMemory, KeysAndValuesAreCopiedForEachHead) {
  const std::string text = workload_text() + "attention: flash\nkv_heads: 2\n";
  const Bytes more(2 * 32 * 2 * 16 * 2);
  const auto of = [&](const std::string& heads, const std::string& strategy) {
    return of_layer(
        planned(strategy + "software: {kv_heads: " + heads + "}\n", machine_text(), text), 1);
  };
  EXPECT_EQ(of("repeated", "").stored - of("once", "").stored, more);
  EXPECT_EQ(of("repeated", "").recomputed, Bytes(0));
  for (const std::string again : {"recompute: full\n", "recompute: alternate\n"}) {
    const LayerMemory once = of("once", again);
    const LayerMemory repeated = of("repeated", again);
    EXPECT_EQ(repeated.recomputed - once.recomputed, more) << again;
    EXPECT_EQ(repeated.stored, once.stored) << again;
  }
}

// Of 32 tokens each of four tiles has 8, with 64 numbers of 2 B. A part's gradients of keys and
// values are in fp32 three times, those of queries once, and its keys and values twice more.
TEST(SoftwareMemory, RingsPassGradientsOfKeysAndValuesOn) {
  const auto backward = [](const std::string& sums, const std::string& heads,
                           const std::string& more) {
    const Planned work =
        planned("context: 4\nsoftware: {context_sums: " + sums + ", kv_heads: " + heads + "}\n",
                machine_text(), workload_text() + "attention: flash\n" + more);
    return of_layer(work, 1).working_backward;
  };
  const std::uint64_t share = 8 * 64 * 2;
  const std::uint64_t gathered = 4 * 2 * share;
  const std::uint64_t sums = 3 * 2 * (2 * share) + 2 * (2 * share) + 2 * share;
  EXPECT_EQ(backward("whole", "once", ""), Bytes(4 * share + 2 * gathered));
  EXPECT_EQ(backward("passed", "once", ""), Bytes(4 * share + gathered + sums));
  // Copied for each head, keys and values of two are as many as those of four.
  EXPECT_EQ(backward("passed", "repeated", "kv_heads: 2\n"), backward("passed", "once", ""));
}

TEST(SoftwareMemory, CompiledLayersKeepNoResultThatNothingReads) {
  const auto kept = [](const std::string& compiled) {
    const Planned work = planned("recompute: alternate\nsoftware: {compiled: " + compiled + "}\n",
                                 machine_text(), workload_text() + "mlp: swiglu\n");
    return of_layer(work, 2).stored;
  };
  // The last product of the layer, which a sum alone reads.
  EXPECT_EQ(kept("false") - kept("true"), Bytes(32 * 64 * 2));
}

TEST(SoftwareMemory, InputsOfNarrowProductsAreKeptNarrow) {
  const auto kept = [](const std::string& inputs) {
    std::string machine = machine_text();
    const std::string peak = "fp16: 1 TFLOP/s";
    machine.replace(machine.find(peak), peak.size(), peak + ", fp8: 2 TFLOP/s");
    const Planned work = planned("software: {narrow_inputs: " + inputs + "}\n", machine,
                                 workload_text() + "product_type: fp8\n");
    return of_layer(work, 2).stored;
  };
  // Of four products: three whose inputs are as wide as the layer, and one of four times that.
  EXPECT_EQ(kept("as_they_come") - kept("narrow"), Bytes(32 * 64 * (3 + 4)));
}

TEST(SoftwareMemory, GatheredInputsStayWhereTheyAreKept) {
  const auto of = [](const std::string& inputs) {
    return planned("tensor: 2\nsequence_parallel: true\nsoftware: {gathered_inputs: " + inputs +
                   "}\n");
  };
  const Planned again = of("again");
  const Planned kept = of("kept");
  // Of qkv and the first product of the MLP, the other half.
  EXPECT_EQ(of_layer(kept, 2).stored - of_layer(again, 2).stored, Bytes(2 * 32 * 64 * 2 / 2));
  // And they are not gathered once more for the gradients of weights.
  const auto gathers = [](const Planned& work) {
    std::size_t count = 0;
    for (const std::vector<Instruction>& piece : work.plan.stages[0].program.pieces) {
      count += static_cast<std::size_t>(
          std::count_if(piece.begin(), piece.end(), [](const Instruction& instruction) {
            return instruction.collective == collective::Kind::all_gather &&
                   instruction.action == Action::collective && instruction.bytes > 0;
          }));
    }
    return count;
  };
  EXPECT_LT(gathers(kept), gathers(again));
}

// The first time through nothing is kept either way, not of operators either that are not computed
// again; what their backward passes need is there in the end.
TEST(SoftwareMemory, LayersThatStopEarlyWorkWithAsMuchForward) {
  const std::string full = "tensor: 2\nrecompute: full\n";
  const std::string work = workload_text() + "dropout: false\n";
  const Planned whole = planned(full, machine_text(), work);
  const Planned early = planned(full + "software: {early_stop: true}\n", machine_text(), work);
  const LayerMemory of_whole = of_layer(whole, 1);
  const LayerMemory of_early = of_layer(early, 1);
  EXPECT_EQ(of_early.working_forward, of_whole.working_forward);
  EXPECT_EQ(of_early.recomputed, of_whole.recomputed);
  const Sharder sharder(early.workload, early.plan.strategy);
  std::size_t left_out = 0;
  for (const workload::Operator& op : early.workload.layers[1].operators) {
    left_out += sharder.computes_again(op) ? 0 : 1;
    const Operands all = sharder.operands(op);
    EXPECT_GE(of_early.working_forward, all.inputs + all.outputs) << op.name;
  }
  EXPECT_GT(left_out, 0U);
}

}  // namespace
}  // namespace tessera::plan::software_memory_test
