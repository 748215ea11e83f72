// Who communicates with whom, and how tensors are cut.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "planning.hpp"
#include "tessera/core/error.hpp"

namespace tessera::plan::groups_test {
namespace {

using testing::planned;
using testing::Planned;

std::vector<std::uint32_t> members(const GroupShape& shape, std::uint32_t place) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t member = 0; member < shape.size; ++member) {
    places.push_back(shape.place_of(member, place));
    EXPECT_EQ(shape.member(places.back()), member);
  }
  return places;
}

TEST(Groups, AreEverySoManyPlaces) {
  Strategy strategy;
  strategy.degrees = {1, 12, 2};  // 6 data-parallel replicas of 2 parts of the context
  strategy.context = 2;
  strategy.expert = 4;
  const std::vector<GroupShape> groups = standard_groups(strategy);
  const auto of = [&](Group group, std::uint32_t place) {
    return members(groups[static_cast<std::size_t>(group)], place);
  };
  using Places = std::vector<std::uint32_t>;
  EXPECT_EQ(of(Group::tensor, 7), (Places{6, 7}));
  EXPECT_EQ(of(Group::context, 7), (Places{5, 7}));
  EXPECT_EQ(of(Group::expert, 7), (Places{1, 3, 5, 7}));
  EXPECT_EQ(of(Group::expert_data, 7), (Places{7, 15, 23}));
  EXPECT_EQ(of(Group::data, 7).size(), 12U);
}

// Every channel is a permutation, and leaves each block by another member.
TEST(Groups, ChannelsTurnTheBlocks) {
  const GroupShape shape{12, 1, 4};
  std::set<std::uint32_t> last;
  for (std::uint32_t channel = 0; channel < 4; ++channel) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t member = 0; member < 12; ++member) {
      const std::uint32_t turned = shape.turned(member, channel);
      EXPECT_EQ(turned / 4, member / 4);
      EXPECT_EQ(shape.turned_back(turned, channel), member);
      seen.insert(turned);
    }
    EXPECT_EQ(seen.size(), 12U);
    last.insert(shape.turned_back(3, channel));
  }
  EXPECT_EQ(last.size(), 4U);
}

// Thirteen in three: 5, 4 and 4, each with a collective of its own, or one of the three leaders.
TEST(Groups, PartsAreRunsOfMembers) {
  const auto ring = collective::algorithms().at("ring")({});
  const GroupShape parts{13, 1, 1, 3};
  GroupShape leaders = parts;
  leaders.among_leaders = true;
  EXPECT_EQ(parts.together(), 5U);
  EXPECT_EQ(leaders.together(), 3U);
  const std::set<std::uint32_t> first{0, 5, 9};
  const Bytes bytes(1300);
  using collective::Kind;
  for (std::uint32_t member = 0; member < 13; ++member) {
    EXPECT_EQ(parts.leads(member), first.count(member) == 1) << member;
    Bytes spread;
    for (std::uint32_t s = 0; s < Plan::steps_of(*ring, parts, Kind::broadcast); ++s) {
      const collective::Step step = Plan::step_of(*ring, parts, Kind::broadcast, member, bytes, s);
      spread += step.send_bytes;
      EXPECT_TRUE(step.send_to == collective::nobody || step.send_to == member + 1);
    }
    EXPECT_EQ(spread, member == 4 || member == 8 || member == 12 ? Bytes(0) : bytes) << member;
    Bytes summed;
    for (std::uint32_t s = 0; s < Plan::steps_of(*ring, leaders, Kind::all_reduce); ++s) {
      const collective::Step step =
          Plan::step_of(*ring, leaders, Kind::all_reduce, member, bytes, s);
      summed += step.send_bytes;
      if (parts.leads(member)) {
        EXPECT_EQ(step.send_to, member == 0 ? 5U : member == 5 ? 9U : 0U);
      }
    }
    EXPECT_EQ(summed > Bytes(0), parts.leads(member)) << member;
  }
}

std::uint64_t bytes_of(const Program& program, Phase phase, Group group, collective::Kind kind) {
  const auto entry =
      std::find_if(program.schedule.begin(), program.schedule.end(),
                   [&](const ScheduleEntry& candidate) { return candidate.pass.phase == phase; });
  std::uint64_t bytes = 0;
  for (const Instruction& instruction : program.instructions(*entry)) {
    const bool collective =
        instruction.action == Action::collective || instruction.action == Action::start_collective;
    if (collective && instruction.group == group && instruction.collective == kind) {
      bytes += instruction.bytes;
    }
  }
  return bytes;
}

// A decoder layer (the fourth stage of eight) of 32 tokens of width 64 in fp16.
constexpr std::uint64_t activation = 32 * 64 * 2;

// Korthikanti et al., arXiv:2205.05198, section 4.2.2: what sequence parallelism sends is what
// tensor parallelism sent, an all-reduce taken apart, and the inputs gathered once more for the
// gradients of weights.
TEST(Groups, SequenceParallelismTakesAllReducesApart) {
  const Planned whole = planned("pipeline: 8\ntensor: 4\n");
  const Planned apart = planned("pipeline: 8\ntensor: 4\nsequence_parallel: true\n");
  const auto sum = [](const Planned& work, Phase phase, collective::Kind kind) {
    return bytes_of(work.plan.stages[3].program, phase, Group::tensor, kind);
  };
  using collective::Kind;
  EXPECT_EQ(sum(whole, Phase::forward, Kind::all_reduce), 2 * activation);
  EXPECT_EQ(sum(whole, Phase::backward, Kind::all_reduce), 2 * activation);
  EXPECT_EQ(sum(apart, Phase::forward, Kind::all_reduce), 0U);
  EXPECT_EQ(sum(apart, Phase::forward, Kind::reduce_scatter), 2 * activation);
  EXPECT_EQ(sum(apart, Phase::forward, Kind::all_gather), 2 * activation);
  EXPECT_EQ(sum(apart, Phase::backward, Kind::reduce_scatter), 2 * activation);
  EXPECT_EQ(sum(apart, Phase::backward, Kind::all_gather), 4 * activation);
  EXPECT_LT(apart.plan.stages[3].memory.activations(), whole.plan.stages[3].memory.activations());
}

// A collective takes its overhead before it begins, or with its time when it is not simulated.
TEST(Groups, CollectivesTakeTheirOverhead) {
  const SimTime overhead = SimTime::from_ps(7000);
  const auto work = [&](const std::string& more, SimTime each) {
    return planned("pipeline: 8\ntensor: 4\n" + more, testing::machine_text(),
                   testing::workload_text(), {each, {}, {}});
  };
  const auto forward = [](const Planned& planned_work) {
    return planned_work.plan.stages[3].program.pieces[0];
  };
  std::size_t collectives = 0;
  const Planned simulated = work("", overhead);
  const std::vector<Instruction> code = forward(simulated);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].action == Action::collective) {
      ++collectives;
      ASSERT_GT(i, 0U);
      EXPECT_EQ(code[i - 1].action, Action::elapse);
      EXPECT_EQ(code[i - 1].bytes, static_cast<std::uint64_t>(overhead.ps()));
    }
  }
  EXPECT_EQ(collectives, 2U);
  const auto elapsed = [&](const Planned& planned_work) {
    std::uint64_t sum = 0;
    for (const Instruction& instruction : forward(planned_work)) {
      sum += instruction.action == Action::elapse ? instruction.bytes : 0;
    }
    return sum;
  };
  EXPECT_EQ(elapsed(work("aggregation: tensor\n", overhead)),
            elapsed(work("aggregation: tensor\n", SimTime::zero())) +
                2 * static_cast<std::uint64_t>(overhead.ps()));
}

TEST(Groups, ZeroGathersAndScattersWhatItSharesOut) {
  const auto sum = [](const std::string& zero, Phase phase, collective::Kind kind) {
    const Planned work = planned("pipeline: 8\ndata: 4\nzero: " + zero + "\n");
    const LayerRange layers = work.plan.stages[3].chunks[0];
    EXPECT_EQ(layers.end - layers.first, 1U);
    const std::uint64_t weights = work.workload.layers[layers.first].parameters() * 2;
    const std::uint64_t bytes = bytes_of(work.plan.stages[3].program, phase, Group::data, kind);
    EXPECT_EQ(bytes % weights, 0U);
    return bytes / weights;
  };
  using collective::Kind;
  EXPECT_EQ(sum("0", Phase::update, Kind::all_reduce), 1U);
  EXPECT_EQ(sum("1", Phase::update, Kind::reduce_scatter), 1U);
  EXPECT_EQ(sum("1", Phase::update, Kind::all_gather), 1U);
  EXPECT_EQ(sum("2", Phase::backward, Kind::reduce_scatter), 1U);
  EXPECT_EQ(sum("2", Phase::update, Kind::all_gather), 1U);
  EXPECT_EQ(sum("3", Phase::forward, Kind::all_gather), 1U);
  EXPECT_EQ(sum("3", Phase::backward, Kind::all_gather), 1U);
  EXPECT_EQ(sum("3", Phase::backward, Kind::reduce_scatter), 1U);
  EXPECT_EQ(sum("3", Phase::update, Kind::all_gather), 0U);
}

// Where the gathers of a stage's layers stand between its operators: ahead of the layer before, or
// behind it.
TEST(Groups, WeightsAreGatheredAheadOrNot) {
  const auto begins = [](const std::string& prefetch, Phase phase) {
    const Planned work = planned("data: 4\nzero: 3\nprefetch: " + prefetch + "\n");
    const Program& program = work.plan.stages[0].program;
    const auto entry =
        std::find_if(program.schedule.begin(), program.schedule.end(),
                     [&](const ScheduleEntry& candidate) { return candidate.pass.phase == phase; });
    std::string order;
    for (const Instruction& instruction : program.instructions(*entry)) {
      const bool gather = instruction.action == Action::start_collective &&
                          instruction.collective == collective::Kind::all_gather;
      const bool computes = instruction.action == Action::execute;
      if (gather || (computes && (order.empty() || order.back() != 'c'))) {
        order += gather ? 'g' : 'c';
      }
    }
    return order.substr(0, 6);
  };
  EXPECT_EQ(begins("both", Phase::forward), "ggcgcg");
  EXPECT_EQ(begins("forward", Phase::forward), "ggcgcg");
  EXPECT_EQ(begins("none", Phase::forward), "gcgcgc");
  EXPECT_EQ(begins("both", Phase::backward), "ggcgcg");
  EXPECT_EQ(begins("forward", Phase::backward), "gcgcgc");
  EXPECT_EQ(begins("both\nprefetch_layers: 3", Phase::forward), "ggggcg");
  EXPECT_EQ(begins("both\nprefetch_layers: 3", Phase::backward), "ggggcg");
  EXPECT_EQ(begins("forward\nprefetch_layers: 2", Phase::forward), "gggcgc");
  EXPECT_EQ(begins("forward\nprefetch_layers: 2", Phase::backward), "gcgcgc");
  EXPECT_EQ(begins("none\nprefetch_layers: 2", Phase::forward), "gcgcgc");
}

// PALM, Table III, linear: (BMN, k) forward, (BNK, m) backward, (MK, b and n) for the update; here
// N rows (tokens), M columns, K depth.
TEST(Groups, ExplicitShardingSendsWhatTableThreeSays) {
  std::string model = testing::workload_text();
  model.replace(model.find("heads: 4"), 8, "heads: 8");
  const Planned work = planned(
      "pipeline: 4\ntensor: 8\nsharding: {mlp_up: {samples: 1, rows: 2, columns: 2, depth: 2}}\n",
      testing::machine_text(), model);
  const Plan& plan = work.plan;
  const Program& program = plan.stages[1].program;
  const std::uint64_t layers = plan.stages[1].chunks[0].end - plan.stages[1].chunks[0].first;
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;
  std::uint64_t update = 0;
  for (const ScheduleEntry& entry : program.schedule) {
    for (const Instruction& instruction : program.instructions(entry)) {
      if (instruction.action != Action::collective || instruction.group < Group::first_cut) {
        continue;
      }
      EXPECT_EQ(plan.group(instruction.group).size, 2U);
      if (entry.pass.phase == Phase::update) {
        update += instruction.bytes;
      } else if (entry.pass.micro_batch == 0) {
        (entry.pass.phase == Phase::forward ? forward : backward) += instruction.bytes;
      }
    }
  }
  const std::uint64_t n = 32;
  const std::uint64_t m = 256;
  const std::uint64_t k = 64;
  EXPECT_EQ(forward, layers * (n / 2 * (m / 2) * 2));
  EXPECT_EQ(backward, layers * (n / 2 * (k / 2) * 2));
  EXPECT_EQ(update, layers * ((m / 2) * (k / 2) * 2 + m / 4 * 2));  // with the bias
}

TEST(Groups, ExplicitShardingMayNameALayer) {
  const auto sums = [](const std::string& pattern) {
    const Planned work =
        planned("pipeline: 2\ntensor: 4\nsharding: {'" + pattern + "': {depth: 4}}\n");
    std::uint64_t count = 0;
    for (const Stage& stage : work.plan.stages) {
      for (const ScheduleEntry& entry : stage.program.schedule) {
        for (const Instruction& instruction : stage.program.instructions(entry)) {
          count += entry.pass.phase == Phase::forward && entry.pass.micro_batch == 0 &&
                   instruction.action == Action::collective &&
                   instruction.group >= Group::first_cut;
        }
      }
    }
    return count;
  };
  const std::uint64_t all = sums("mlp_up");
  ASSERT_GT(all, 1U);
  EXPECT_EQ(sums("*/mlp_up"), all);
  EXPECT_EQ(sums("layer 0/mlp_up"), 1U);
  EXPECT_THROW(sums("layer 0/linear"), ConfigError) << "behind a layer are names, no kinds";
}

}  // namespace
}  // namespace tessera::plan::groups_test
