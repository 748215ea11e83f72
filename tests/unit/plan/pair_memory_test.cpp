// What two passes that take turns hold together (Strategy::overlap_passes), and a stage with them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planning.hpp"
#include "tessera/plan/memory.hpp"

namespace tessera::plan::pair_memory_test {
namespace {

using testing::machine_text;
using testing::planned;
using testing::Planned;

// Layer `number` stores 1000, works with 10 forward and 100 backward, and exchanges tokens so often
// each way.
std::vector<LayerMemory> layers(const std::vector<std::uint32_t>& exchanges) {
  std::vector<LayerMemory> kinds;
  for (const std::uint32_t count : exchanges) {
    LayerMemory& of = kinds.emplace_back();
    of.stored = Bytes(1000);
    of.working_forward = Bytes(10);
    of.working_backward = Bytes(100);
    of.exchanges_forward = of.exchanges_backward = count;
  }
  return kinds;
}

PassMemory pair_of(const std::vector<LayerMemory>& kinds, std::size_t middle) {
  std::vector<std::size_t> kind_of;
  for (std::size_t number = 0; number < kinds.size(); ++number) {
    kind_of.push_back(number);
  }
  return memory_of_pair(Strategy{}, kinds, kind_of, {0, middle}, {middle, kinds.size()});
}

// Nothing is waited for: the forward pass is over before the other begins.
TEST(PairMemory, WithoutExchangesIsOnePassAfterTheOther) {
  const PassMemory pair = pair_of(layers({0, 0, 0, 0}), 2);
  EXPECT_EQ(pair.before, Bytes(2000));
  EXPECT_EQ(pair.after, Bytes(2000));
  // All of the forward pass is kept, nothing of the backward one freed yet.
  EXPECT_EQ(pair.most[MemoryPart::activations], Bytes(4000));
  EXPECT_EQ(pair.most[MemoryPart::working], Bytes(100));
}

// Both are in the middle of a layer at one time.
TEST(PairMemory, OfOneLayerEachIsWhatBothWorkWith) {
  const PassMemory pair = pair_of(layers({2, 2}), 1);
  EXPECT_EQ(pair.most[MemoryPart::activations], Bytes(2000));
  EXPECT_EQ(pair.most[MemoryPart::working], Bytes(110));
}

// Layer by layer: the forward pass gets into its second layer while the other waits in its first.
TEST(PairMemory, GoesThroughLayersTogether) {
  const PassMemory pair = pair_of(layers({1, 1, 1, 1, 1, 1}), 3);
  EXPECT_EQ(pair.most[MemoryPart::activations], Bytes(5000));
  EXPECT_EQ(pair.most[MemoryPart::working], Bytes(110));
}

// One that has no exchanges left works on alone; the other may have more of them.
TEST(PairMemory, OneMayBeOverBeforeTheOther) {
  const PassMemory forward_first = pair_of(layers({0, 3, 3}), 1);
  EXPECT_EQ(forward_first.most[MemoryPart::activations], Bytes(3000));
  EXPECT_EQ(forward_first.most[MemoryPart::working], Bytes(100));
  const PassMemory backward_first = pair_of(layers({3, 3, 0}), 2);
  EXPECT_EQ(backward_first.most[MemoryPart::activations], Bytes(2000));
  EXPECT_EQ(backward_first.most[MemoryPart::working], Bytes(110));
}

std::string experts() {
  return "kind: transformer\nlayers: 6\nhidden: 64\nheads: 4\nsequence: 32\nvocabulary: 64\n"
         "batch: 32\ndata_type: fp16\nexperts: {count: 4, top_k: 2}\n";
}

// Counts what is kept of each micro-batch in each chunk, one by one, beside what passes hold.
// `apart`: of the stage's first pair, the passes come one after the other.
Bytes counted_peak(const Planned& work, std::uint32_t stage, bool apart) {
  const TurnMemory& held = work.plan.stages[stage].pass_memory;
  const auto alone = [&](const Pass& pass) -> const PassMemory& {
    return held.chunks[pass.chunk][static_cast<std::size_t>(pass.phase)];
  };
  const std::vector<Pass> passes = work.plan.strategy.passes(stage, true);
  std::map<std::pair<std::uint16_t, std::uint32_t>, Bytes> kept;  // by chunk and micro-batch
  Bytes peak;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    std::vector<Pass> now{passes[i]};
    Bytes most = alone(passes[i]).most.total();
    const bool is_pair = i + 1 < passes.size() && passes[i].phase == Phase::forward &&
                         passes[i + 1].phase == Phase::backward &&
                         passes[i].chunk != passes[i + 1].chunk;
    if (is_pair && !std::exchange(apart, false)) {
      most = held.pairs[passes[i].chunk].most.total();
      now.push_back(passes[++i]);
    }
    Bytes others = work.plan.stages[stage].memory.weight_state();
    for (const Pass& pass : now) {
      kept.erase({pass.chunk, pass.micro_batch});
    }
    for (const auto& [name, bytes] : kept) {
      others += bytes;
    }
    peak = std::max(peak, others + most);
    for (const Pass& pass : now) {
      if (pass.phase == Phase::forward || pass.phase == Phase::input_gradient) {
        kept[{pass.chunk, pass.micro_batch}] = alone(pass).after;
      }
    }
  }
  EXPECT_TRUE(kept.empty()) << stage;
  return peak;
}

TEST(PairMemory, PeaksAreOfAllMicroBatchesUnderWay) {
  for (const std::string schedule : {"dualpipe", "dualpipe-v"}) {
    for (const std::string more : {"", "recompute: full\n", "zero: 3\n", "zero: 2\n"}) {
      const std::string strategy =
          "pipeline: 4\nchunks: 2\ndata: 2\nexpert: 2\nschedule: " + schedule + "\n" + more +
          "overlap_passes: ";
      const Planned apart = planned(strategy + "false\n", machine_text(), experts());
      const Planned turns = planned(strategy + "true\n", machine_text(), experts());
      std::size_t higher = 0;
      for (std::uint32_t stage = 0; stage < 4; ++stage) {
        const Bytes peak = turns.plan.stages[stage].memory.peak.total();
        // Where parts turn round.
        const bool last = schedule == "dualpipe" ? stage == 1 || stage == 2 : stage == 3;
        EXPECT_EQ(peak, counted_peak(turns, stage, last)) << strategy << stage;
        // Both passes are at work at one time.
        const Bytes alone = apart.plan.stages[stage].memory.peak.total();
        EXPECT_GE(peak, alone) << strategy << stage;
        higher += peak > alone ? 1 : 0;
      }
      // With recomputation most is held later, for gradients of weights that are put off.
      EXPECT_EQ(higher > 0, more.find("recompute") == std::string::npos || schedule == "dualpipe")
          << strategy;
    }
  }
}

}  // namespace
}  // namespace tessera::plan::pair_memory_test
