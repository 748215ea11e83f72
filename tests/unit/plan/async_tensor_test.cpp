// Gathers and scatters along the tokens beside the products around them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planning.hpp"
#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::plan::async_tensor_test {
namespace {

using ::testing::ElementsAre;
using testing::planned;
using testing::Planned;

const std::string plain = "tensor: 4\nsequence_parallel: true\n";
const std::string async = plain + "async_tensor: true\n";

// What a phase does from the first to the last of an operator's executions, with what is begun
// right before and waited for right behind.
std::vector<std::string> around(const Planned& work, Phase phase, const std::string& name) {
  const Program& program = work.plan.stages[0].program;
  for (const ScheduleEntry& entry : program.schedule) {
    if (entry.pass.phase != phase) {
      continue;
    }
    const std::vector<Instruction>& code = program.instructions(entry);
    const auto is_it = [&](std::size_t at) {
      return code[at].action == Action::execute && work.plan.names[code[at].name] == name;
    };
    std::size_t first = 0;
    while (!is_it(first)) {
      ++first;
    }
    std::size_t last = code.size() - 1;
    while (!is_it(last)) {
      --last;
    }
    std::vector<std::string> words;
    for (std::size_t at = first - 1; at <= last + 1; ++at) {
      switch (code[at].action) {
        case Action::execute:
          words.emplace_back(is_it(at) ? "execute" : "another");
          break;
        case Action::start_collective:
          words.push_back("start " + collective::to_string(code[at].collective));
          break;
        case Action::wait_collectives:
          words.emplace_back("wait");
          break;
        default:
          words.emplace_back("other");
          break;
      }
    }
    return words;
  }
  return {};
}

// An input that was stored cut along the tokens comes beside the product of its gradient, whose
// sums go out beside that of the weights' (Korthikanti et al., section 4.2.2).
TEST(OverlapTensor, GathersInputsAndScattersGradientsBesideProducts) {
  const Planned work = planned(plain + "overlap_tensor: true\n");
  EXPECT_THAT(around(work, Phase::backward, "layer 0/mlp_up"),
              ElementsAre("start all_gather", "execute", "wait"));
  EXPECT_THAT(around(work, Phase::backward, "layer 0/mlp_up weights"),
              ElementsAre("start reduce_scatter", "execute", "wait"));
  const Planned apart = planned(plain);
  EXPECT_THAT(around(apart, Phase::backward, "layer 0/mlp_up"),
              ElementsAre("another", "execute", "other"));
}

TEST(AsyncTensor, GathersBesideWhatNeedsNothingFromOthersLast) {
  const Planned work = planned(async);
  EXPECT_THAT(around(work, Phase::forward, "layer 0/mlp_up"),
              ElementsAre("start all_gather", "execute", "execute", "execute", "wait", "execute",
                          "another"));
  EXPECT_THAT(around(work, Phase::backward, "layer 0/mlp_down"),
              ElementsAre("start all_gather", "execute", "execute", "execute", "wait", "execute",
                          "another"));
}

TEST(AsyncTensor, ScattersBehindTheFirstPiece) {
  const Planned work = planned(async);
  EXPECT_THAT(around(work, Phase::forward, "layer 0/mlp_down"),
              ElementsAre("another", "execute", "start reduce_scatter", "execute", "execute",
                          "execute", "wait"));
  // The input, for the gradient of weights, comes beside as well.
  EXPECT_THAT(around(work, Phase::backward, "layer 0/mlp_up"),
              ElementsAre("start all_gather", "execute", "start reduce_scatter", "execute",
                          "execute", "execute", "wait"));
}

// The same collectives, and products of a quarter of the tokens each, four times.
TEST(AsyncTensor, DoesTheSame) {
  const Planned one = planned(plain);
  const Planned other = planned(async);
  const StageWork of_one = work_of(one.plan.stages[0].program);
  const StageWork of_other = work_of(other.plan.stages[0].program);
  EXPECT_EQ(of_one.collectives, of_other.collectives);
  EXPECT_EQ(of_one.sends, of_other.sends);
  EXPECT_EQ(flops_of(one.plan, one.plan.stages[0].program),
            flops_of(other.plan, other.plan.stages[0].program));
  EXPECT_EQ(one.ideal_time(), other.ideal_time());
  EXPECT_EQ(one.plan.stages[0].memory.peak.total(), other.plan.stages[0].memory.peak.total());
}

TEST(AsyncTensor, HasNoEffectOnWhatIsWhole) {
  const Planned one = planned("tensor: 4\n");
  const Planned other = planned("tensor: 4\nasync_tensor: true\n");
  EXPECT_EQ(work_of(one.plan.stages[0].program).operators,
            work_of(other.plan.stages[0].program).operators);
}

}  // namespace
}  // namespace tessera::plan::async_tensor_test
