// What stages hold when they hold most: by a walk over the schedule, and in closed form.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planning.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan::peak_memory_test {
namespace {

using testing::machine_text;
using testing::planned;
using testing::Planned;
using testing::workload_text;

constexpr auto activations = MemoryPart::activations;

// Without embedding and head stages are alike, but for the last, which passes nothing on.
std::string layers_alike() {
  return "kind: layers\ninput: [32, 64]\nbatch: 16\ndata_type: fp16\nlayers:\n"
         "  - {name: l, repeat: 16, operators: [{kind: linear, outputs: 64, then: [relu]}]}\n";
}

MemoryWalk::Peak walked(const Planned& work, std::uint32_t stage) {
  return peak_over(work.machine, work.plan, stage,
                   work.plan.strategy.passes(stage, work.plan.training));
}

void expect_closed_form_is_walked(const std::string& strategy, const std::string& workload,
                                  std::size_t but = 0) {
  const Planned work = planned(strategy, machine_text(), workload);
  for (std::uint32_t stage = 0; stage + but < work.plan.stages.size(); ++stage) {
    EXPECT_EQ(work.plan.stages[stage].memory.peak.total(), walked(work, stage).use.total())
        << strategy << ", stage " << stage;
  }
}

const std::vector<std::string>& sharings() {
  static const std::vector<std::string> all{
      "",
      "data: 2\nzero: 1\n",
      "data: 2\nzero: 2\n",
      "data: 2\nzero: 2\noverlap_gradients: true\n",
      "data: 2\nzero: 2\nscatter: run\n",
      "data: 2\nzero: 3\n",
      "data: 2\nzero: 3\nprefetch: forward\noverlap_gradients: true\n",
      "data: 2\nzero: 3\nprefetch: none\n",
      "data: 2\nzero: 3\nprefetch_layers: 2\n",
      "data: 2\nzero: 3\nprefetch_layers: 3\nprefetch: forward\n",
      "tensor: 2\n",
      "tensor: 2\nsequence_parallel: true\n"};
  return all;
}

TEST(PeakMemory, ClosedFormIsTheWalkForEverySchedule) {
  for (const std::string& sharing : sharings()) {
    for (const char* const recompute : {"none", "selective", "full"}) {
      for (const char* const schedule : {"gpipe", "1f1b", "zb-h1"}) {
        for (const int pipeline : {1, 2, 4, 8}) {
          for (const int micro_batch : {1, 4}) {  // more micro-batches than stages, and fewer
            expect_closed_form_is_walked(
                "pipeline: " + std::to_string(pipeline) + "\nschedule: " + schedule +
                    "\nrecompute: " + recompute + "\nmicro_batch: " + std::to_string(micro_batch) +
                    "\n" + sharing,
                workload_text());
          }
        }
      }
    }
    expect_closed_form_is_walked("schedule: layer-wise\n" + sharing, workload_text());
  }
}

TEST(PeakMemory, ClosedFormIsTheWalkOfChunksThatAreAlike) {
  for (const char* const recompute : {"none", "full"}) {
    for (const char* const zero : {"0", "3"}) {
      expect_closed_form_is_walked(std::string("pipeline: 4\nchunks: 2\ndata: 2\nzero: ") + zero +
                                       "\nrecompute: " + recompute + "\n",
                                   layers_alike(), 1);
    }
  }
}

TEST(PeakMemory, ChunksThatDifferAreClose) {
  const Planned work = planned("pipeline: 4\nchunks: 2\n");
  for (std::uint32_t stage = 0; stage < work.plan.stages.size(); ++stage) {
    const auto closed = static_cast<double>(work.plan.stages[stage].memory.peak.total().count());
    const auto exact = static_cast<double>(walked(work, stage).use.total().count());
    EXPECT_NEAR(closed / exact, 1, 0.15) << stage;
  }
}

TEST(PeakMemory, OfAScheduleGivenByTheUserIsWalked) {
  const Planned work = planned("pipeline: 2\nmicro_batch: 8\norder: [F0 F1 B0 B1, F0 B0 F1 B1]\n");
  EXPECT_EQ(work.plan.stages[0].memory.peak.total(), walked(work, 0).use.total());
  const Planned usual = planned("pipeline: 2\nmicro_batch: 8\nschedule: gpipe\n");
  EXPECT_EQ(work.plan.stages[0].memory.peak.total(), usual.plan.stages[0].memory.peak.total());
}

// One layer, whose operators say what is there.
TEST(PeakMemory, AddsUpOfItsParts) {
  const Planned work = planned("pipeline: 8\n");
  const Stage& stage = work.plan.stages[3];  // one plain layer
  const MemoryWalk::Peak peak = walked(work, 3);
  EXPECT_EQ(peak.use[MemoryPart::weights], stage.memory.weights);
  EXPECT_EQ(peak.use[MemoryPart::optimizer], stage.memory.optimizer);
  EXPECT_EQ(peak.use[activations], stage.memory.activations_per_micro_batch * 5);
  EXPECT_EQ(peak.pass.phase, Phase::backward);
  // Gradients of the activation's input and output: 256 features of 32 tokens, two bytes each.
  EXPECT_EQ(peak.use[MemoryPart::working], Bytes((256 + 256) * 32 * 2));
  EXPECT_EQ(peak.use[MemoryPart::gathered], Bytes(0));
  EXPECT_EQ(peak.use.total(), stage.memory.total() + peak.use[MemoryPart::working]);
}

TEST(PeakMemory, FullRecomputationHoldsOneLayerAgain) {
  const Planned none = planned("pipeline: 2\n");
  const Planned full = planned("pipeline: 2\nrecompute: full\n");
  const Sharder sharder(none.workload, none.plan.strategy);
  const Bytes layer = sharder.bytes_of(none.workload.layers[2]).stored;
  EXPECT_EQ(walked(full, 0).use[MemoryPart::recomputed], layer);
  EXPECT_EQ(walked(none, 0).use[MemoryPart::recomputed], Bytes(0));
}

TEST(PeakMemory, ZeroThreeGathersTheLayerAndTheNext) {
  const auto gathered = [](const std::string& prefetch) {
    const Planned work = planned("data: 2\nzero: 3\nprefetch: " + prefetch + "\n");
    const PassMemory& pass =
        work.plan.stages[0].pass_memory.chunks[0][static_cast<std::size_t>(Phase::backward)];
    return pass.most[MemoryPart::gathered];
  };
  EXPECT_GT(gathered("both"), gathered("forward"));
  EXPECT_EQ(gathered("forward"), gathered("none"));
  const Planned alone = planned("zero: 3\n");  // nothing is shared out
  EXPECT_EQ(walked(alone, 0).use[MemoryPart::gathered], Bytes(0));
}

// Each layer gathered ahead is there beside the one at work, as far as there are so many.
TEST(PeakMemory, LayersGatheredAheadAreHeld) {
  const auto pass = [](std::uint32_t layers, Phase phase, const std::string& more = "") {
    const Planned work =
        planned("data: 2\nzero: 3\nprefetch_layers: " + std::to_string(layers) + "\n" + more);
    return work.plan.stages[0].pass_memory.chunks[0][static_cast<std::size_t>(phase)].gathered;
  };
  const Planned work = planned("data: 2\nzero: 3\n");
  const auto weights = [&](std::size_t layer) {
    return memory_of_layer(work.workload, work.plan.strategy, work.workload.layers[layer]).weights;
  };
  Bytes all;
  for (std::size_t layer = 0; layer < work.workload.layers.size(); ++layer) {
    all += weights(layer);
  }
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    EXPECT_GE(pass(3, phase), weights(2) * 4);
    EXPECT_EQ(pass(3, phase), pass(2, phase) + weights(2));
    EXPECT_EQ(pass(16, phase), all);
  }
  EXPECT_EQ(pass(3, Phase::backward, "prefetch: forward\n"),
            pass(1, Phase::backward, "prefetch: forward\n"));
  const std::string units = "software: {sharding: fsdp2}\n";
  EXPECT_EQ(pass(2, Phase::forward, units), pass(1, Phase::forward, units) + weights(2))
      << "another buffer";
}

TEST(PeakMemory, GathersByOperatorHoldOneAtATime) {
  const auto gathered = [](const std::string& more) {
    const Planned work = planned("data: 2\nzero: 3\nprefetch: none\n" + more);
    return work.plan.stages[0]
        .pass_memory.chunks[0][static_cast<std::size_t>(Phase::backward)]
        .gathered;
  };
  EXPECT_LT(gathered("gather: operator\n"), gathered(""));
  // ZeRO 2 gathers nothing, and scatters gradients by layers.
  const Planned by_layer = planned("data: 2\nzero: 2\n");
  const Planned by_operator = planned("data: 2\nzero: 2\ngather: operator\n");
  EXPECT_EQ(by_operator.plan.stages[0].memory.peak.total(),
            by_layer.plan.stages[0].memory.peak.total());
  // What is computed with again soon stays for it, a whole layer at most.
  const std::string again = "gather: operator\nrecompute: full\n";
  EXPECT_EQ(gathered(again), gathered("recompute: full\n"));
  EXPECT_EQ(gathered(again + "reuse_distance: 0\n"), gathered("gather: operator\n"));
}

TEST(PeakMemory, WeightGradientsApartKeepWhatTheyNeed) {
  const Planned whole = planned("pipeline: 8\nschedule: 1f1b\nrecompute: full\n");
  const Planned apart = planned("pipeline: 8\nschedule: zb-h1\nrecompute: full\n");
  EXPECT_GT(walked(apart, 6).use[activations], walked(whole, 6).use[activations]);
  EXPECT_EQ(apart.plan.stages[6].memory.peak.total(), walked(apart, 6).use.total());
}

TEST(PeakMemory, PlainLossesHoldLogitsInFp32) {
  const auto of = [](const std::string& loss) {
    std::string text = workload_text();
    text.replace(text.find("vocabulary: 100"), 15, "vocabulary: 4000");
    const Planned work = planned("", machine_text(), text + "loss: " + loss + "\n");
    return walked(work, 0).use;
  };
  const Bytes logits(32 * 4000 * 4);
  EXPECT_EQ(of("plain")[activations] - of("fused")[activations], Bytes(logits.count() / 2));
  // Two gradients in fp32, where nothing is done in place.
  EXPECT_EQ(of("eager")[MemoryPart::working], logits * 2);
}

TEST(PeakMemory, InferenceKeepsNothing) {
  const Planned work =
      planned("pipeline: 2\n", machine_text(), workload_text() + "mode: inference\n");
  const MemoryUse peak = walked(work, 0).use;
  EXPECT_EQ(peak[activations], Bytes(0));
  EXPECT_GT(peak[MemoryPart::working], Bytes(0));
  EXPECT_EQ(peak.total(), work.plan.stages[0].memory.peak.total());
}

// It counted weights that are computed with again, and inputs of what is.
TEST(PeakMemory, InferenceComputesNothingAgain) {
  const auto peak = [](const std::string& more) {
    return planned("data: 2\nzero: 3\ngather: operator\n" + more, machine_text(),
                   workload_text() + "mode: inference\n")
        .plan.stages[0]
        .memory.peak.total();
  };
  EXPECT_EQ(peak("recompute: full\n"), peak(""));
  EXPECT_EQ(peak("recompute: full\nreuse_distance: 10\n"), peak(""));
}

TEST(PeakMemory, TheFrameworkTakesItsShare) {
  const std::string framework =
      "framework: {context: 1 MB, communicator: 10 kB, block: 4 kB, fragmentation: 20 %}\n";
  const Planned work = planned("pipeline: 2\ntensor: 2\ndata: 2\n", machine_text() + framework);
  const MemoryUse peak = walked(work, 1).use;
  EXPECT_EQ(peak[MemoryPart::context], Bytes(1'000'000));
  // Of tensor, data and pipeline, and of the weights that embedding and head share.
  EXPECT_EQ(peak[MemoryPart::communicators], Bytes(40'000));
  const std::uint64_t reserved = peak.tensors().count() + peak[MemoryPart::reserve].count();
  EXPECT_EQ(reserved % 4000, 0U);
  EXPECT_GE(reserved, peak.tensors().count() * 5 / 4);
  EXPECT_LT(reserved, peak.tensors().count() * 5 / 4 + 4001);
}

TEST(PeakMemory, PoolsByStreamKeepWhatTheyOnceHeld) {
  const std::string strategy = "data: 2\nzero: 3\noverlap_gradients: true\n";
  const Planned shared = planned(strategy);
  const Planned apart = planned(strategy, machine_text() + "framework: {pools: by_stream}\n");
  const MemoryUse peak = walked(apart, 0).use;
  EXPECT_GE(peak.total(), walked(shared, 0).use.total());
  const PhaseMemory& passes = shared.plan.stages[0].pass_memory.chunks[0];
  const PassMemory& backward = passes[static_cast<std::size_t>(Phase::backward)];
  EXPECT_EQ(peak[MemoryPart::scattered], backward.scattered);
  EXPECT_EQ(peak[MemoryPart::gathered], backward.gathered);
  EXPECT_EQ(apart.plan.stages[0].memory.peak.total(), peak.total());
}

TEST(PeakMemory, CapacityCountsWhatIsThereForAMoment) {
  const auto complaint = [](std::uint64_t capacity, const std::string& framework) {
    try {
      planned("pipeline: 8\n", machine_text("operands: dram",
                                            "at: each, bandwidth: 10 GB/s, latency: 10 ns, "
                                            "capacity: " +
                                                std::to_string(capacity) + " B") +
                                   framework);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Planned work = planned("pipeline: 8\n");
  std::uint64_t most = 0;
  for (const Stage& stage : work.plan.stages) {
    most = std::max(most, stage.memory.peak.total().count());
  }
  EXPECT_EQ(complaint(most, ""), "");
  EXPECT_THAT(complaint(most - 1, ""), ::testing::HasSubstr("would hold"));
  EXPECT_THAT(complaint(most, "framework: {context: 1 B}\n"), ::testing::HasSubstr("would hold"));
}

}  // namespace
}  // namespace tessera::plan::peak_memory_test
