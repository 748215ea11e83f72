// Plans whose chunks of layers lie in a V.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "planning.hpp"
#include "tessera/plan/traffic.hpp"

namespace tessera::plan::v_shaped_test {
namespace {

using testing::machine_text;
using testing::planned;
using testing::Planned;
using testing::workload_text;

// 16 micro-batches of eight layers, one a part.
const std::vector<std::string> both{"pipeline: 4\nchunks: 2\nschedule: zb-v\n",
                                    "pipeline: 4\nchunks: 2\nschedule: dualpipe-v\n"};

TEST(VShaped, LayersGoThereAndBack) {
  for (const std::string& strategy : both) {
    const Planned work = planned(strategy);
    std::vector<std::size_t> firsts;
    for (const Stage& stage : work.plan.stages) {
      ASSERT_EQ(stage.chunks.size(), 2U);
      EXPECT_EQ(stage.chunks[0].end, stage.chunks[0].first + 1);
      firsts.push_back(stage.chunks[0].first);
      firsts.push_back(stage.chunks[1].first);
    }
    EXPECT_THAT(firsts, ::testing::ElementsAre(0, 7, 1, 6, 2, 5, 3, 4));
  }
}

// The head lies beside the embedding, whose weights it uses.
TEST(VShaped, TiedWeightsAreHeldOnce) {
  const auto weights = [](const std::string& strategy) {
    const Planned work = planned(strategy);
    std::uint64_t sum = 0;
    for (const Stage& stage : work.plan.stages) {
      sum += stage.memory.weights.count();
    }
    return sum;
  };
  const Planned work = planned(both[0]);
  EXPECT_EQ(weights(both[0]), 2 * work.workload.parameters());
  EXPECT_EQ(weights("pipeline: 4\n"), 2 * (work.workload.parameters() + 100 * 64)) << "a copy";
  EXPECT_THAT(work.plan.tied_stages, ::testing::ElementsAre(0));
  EXPECT_EQ(work.plan.stages[0].communicators, 1U) << "the pipeline's alone";
}

// A boundary of 32 tokens of 64 elements in two bytes, for each micro-batch.
TEST(VShaped, MessagesTurnInTheLastStage) {
  const std::uint64_t bytes = 16ULL * 32 * 64 * 2;
  for (const std::string& strategy : both) {
    const Planned work = planned(strategy);
    std::map<std::tuple<std::uint32_t, std::uint32_t, Traffic>, std::uint64_t> sent;
    for (const RoleTraffic& message : traffic_of(work.plan).messages) {
      sent[{message.from, message.to, message.traffic}] += message.bytes.count();
    }
    EXPECT_EQ(sent.size(), 12U) << "three pairs of stages, each both ways";
    for (std::uint32_t stage = 0; stage < 3; ++stage) {
      for (const Traffic traffic : {Traffic::activation, Traffic::gradient}) {
        EXPECT_EQ((sent[{stage, stage + 1, traffic}]), bytes) << stage;
        EXPECT_EQ((sent[{stage + 1, stage, traffic}]), bytes) << stage;
      }
    }
  }
}

// Sixteen layers alike, two a part.
std::string layers_alike() {
  return "kind: layers\ninput: [32, 64]\nbatch: 16\ndata_type: fp16\nlayers:\n"
         "  - {name: l, repeat: 16, operators: [{kind: linear, outputs: 64, then: [relu]}]}\n";
}

// Qi et al., arXiv:2401.10241, section 6: every stage keeps what the first one of 1F1B does.
// DeepSeek-V3, arXiv:2412.19437, table 2: half a micro-batch more.
TEST(VShaped, StagesKeepWhatThePapersSay) {
  const Planned usual = planned("pipeline: 4\n", machine_text(), layers_alike());
  const Bytes first = usual.plan.stages[0].memory.activations();
  const Planned zero = planned(both[0], machine_text(), layers_alike());
  const Planned dual = planned(both[1], machine_text(), layers_alike());
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(zero.plan.stages[stage].memory.activations(), first) << stage;
    EXPECT_EQ(dual.plan.stages[stage].memory.activations() * 8, first * 9) << stage;
  }
}

TEST(VShaped, PeaksAreWalked) {
  for (const std::string& strategy : both) {
    for (const char* const more : {"", "recompute: full\n", "data: 2\nzero: 3\n"}) {
      const Planned work = planned(strategy + more);
      for (std::uint32_t stage = 0; stage < 4; ++stage) {
        const MemoryWalk::Peak peak = peak_over(
            work.machine, work.plan, stage, work.plan.strategy.passes(stage, work.plan.training));
        EXPECT_EQ(work.plan.stages[stage].memory.peak.total(), peak.use.total())
            << strategy << more << stage;
      }
    }
  }
}

// Two copies of the model, each way one; the gradients of a stage are summed up with those of the
// stage that holds the same of the other copy.
TEST(Mirrored, StagesHoldPartsOfBothCopies) {
  const Planned work =
      planned("pipeline: 4\nchunks: 2\nschedule: dualpipe\n", machine_text(), layers_alike());
  const Planned once = planned("pipeline: 4\n", machine_text(), layers_alike());
  std::vector<std::size_t> firsts;
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const Stage& of = work.plan.stages[stage];
    firsts.push_back(of.chunks[0].first);
    firsts.push_back(of.chunks[1].first);
    EXPECT_EQ(of.memory.weights, once.plan.stages[stage].memory.weights * 2);
    // DeepSeek-V3, table 2: one more than stages.
    EXPECT_EQ(of.memory.activations() * 4, once.plan.stages[0].memory.activations() * 5);
  }
  EXPECT_THAT(firsts, ::testing::ElementsAre(0, 12, 4, 8, 8, 4, 12, 0));
}

TEST(Mirrored, GradientsAreSummedOverBothCopies) {
  const Planned work =
      planned("pipeline: 4\nchunks: 2\nschedule: dualpipe\n", machine_text(), layers_alike());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> summed;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> passed;
  for (const RoleTraffic& message : traffic_of(work.plan).messages) {
    auto& sent = message.traffic == Traffic::tied ? summed : passed;
    sent[{message.from, message.to}] += message.bytes.count();
  }
  const std::uint64_t gradients = work.plan.stages[0].memory.gradients.count();
  EXPECT_EQ(summed.size(), 4U);
  for (const std::uint32_t stage : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ((summed[{stage, 3 - stage}]), gradients) << stage;
  }
  // Activations one way and gradients the other of eight micro-batches, and as many of the copy.
  const std::uint64_t boundary = 32 * 64 * 2;
  EXPECT_EQ(passed.size(), 6U);
  for (const auto& [stages, bytes] : passed) {
    EXPECT_EQ(bytes, 16 * boundary) << stages.first << ", " << stages.second;
  }
}

TEST(Mirrored, NeedsEvenNumbers) {
  EXPECT_THROW(planned("pipeline: 3\nchunks: 2\nschedule: dualpipe\n"), ConfigError);
  EXPECT_THROW(planned("pipeline: 4\nchunks: 2\nmicro_batch: 4\nschedule: dualpipe\n"),
               ConfigError);
}

// A schedule of the user's own lies as the schedule by name says.
TEST(VShaped, TakesAnOrderOfItsOwn) {
  const Planned work = planned(
      "pipeline: 2\nchunks: 2\nmicro_batch: 16\nschedule: zb-v\norder: [F0 F0.1 B0.1 B0, F0 F0.1 "
      "B0.1 B0]\n");
  EXPECT_EQ(work.plan.stages[0].chunks[1].end, work.workload.layers.size());
}

TEST(VShaped, NeedsTwoChunks) {
  EXPECT_THROW(planned("pipeline: 4\nschedule: zb-v\n"), ConfigError);
  EXPECT_THROW(planned("pipeline: 4\nchunks: 2\nmicro_batch: 4\nschedule: dualpipe-v\n"),
               ConfigError);
}

}  // namespace
}  // namespace tessera::plan::v_shaped_test
