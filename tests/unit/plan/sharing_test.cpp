// What replicas share out by operator, and in groups: gathers, sums, bytes and times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planning.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan::sharing_test {
namespace {

using collective::Kind;
using ::testing::HasSubstr;
using testing::machine_text;
using testing::planned;
using testing::Planned;

constexpr std::size_t some_stage = 3;  // of eight, with one layer of the model

struct Sent {
  Action action = Action::execute;
  Group group = Group::each;
  Kind kind = Kind::all_reduce;
  std::uint64_t bytes = 0;
};

// Collectives of the first pass of a phase.
std::vector<Sent> collectives_of(const Planned& work, Phase phase, std::size_t stage = some_stage) {
  const Program& program = work.plan.stages[stage].program;
  const auto entry =
      std::find_if(program.schedule.begin(), program.schedule.end(),
                   [&](const ScheduleEntry& each) { return each.pass.phase == phase; });
  std::vector<Sent> sent;
  for (const Instruction& instruction : program.instructions(*entry)) {
    if (instruction.action == Action::collective ||
        instruction.action == Action::start_collective) {
      sent.push_back(
          {instruction.action, instruction.group, instruction.collective, instruction.bytes});
    }
  }
  return sent;
}

std::uint64_t bytes_of(const std::vector<Sent>& sent, Group group, Kind kind) {
  std::uint64_t sum = 0;
  for (const Sent& each : sent) {
    sum += each.group == group && each.kind == kind ? each.bytes : 0;
  }
  return sum;
}

std::size_t count_of(const std::vector<Sent>& sent, Kind kind) {
  return static_cast<std::size_t>(
      std::count_if(sent.begin(), sent.end(), [&](const Sent& each) { return each.kind == kind; }));
}

std::uint64_t layer_parameters(const Planned& work) {
  return work.workload.layers[work.plan.stages[some_stage].chunks[0].first].parameters();
}

// Each operator with weights by itself, and together what a layer's gather has.
TEST(Sharing, WeightsAreGatheredByOperator) {
  const Planned work = planned("pipeline: 8\ndata: 4\nzero: 3\ngather: operator\n");
  std::size_t with_weights = 0;
  for (const workload::Operator& op :
       work.workload.layers[work.plan.stages[some_stage].chunks[0].first].operators) {
    with_weights += op.parameters > 0 ? 1 : 0;
  }
  const std::vector<Sent> forward = collectives_of(work, Phase::forward);
  EXPECT_EQ(count_of(forward, Kind::all_gather), with_weights);
  EXPECT_EQ(bytes_of(forward, Group::data, Kind::all_gather), 2 * layer_parameters(work));
  const std::vector<Sent> backward = collectives_of(work, Phase::backward);
  EXPECT_EQ(count_of(backward, Kind::all_gather), with_weights);
  EXPECT_EQ(count_of(backward, Kind::reduce_scatter), with_weights);
  EXPECT_EQ(bytes_of(backward, Group::data, Kind::reduce_scatter), 2 * layer_parameters(work));
}

// What is recomputed is gathered for the recomputation, and again where more lies between.
TEST(Sharing, WeightsAreGatheredAgainBeyondTheReuseDistance) {
  const auto gathered = [](const std::string& distance) {
    const Planned work =
        planned("pipeline: 8\ndata: 4\nzero: 3\ngather: operator\nrecompute: full\n" + distance);
    return static_cast<double>(
               bytes_of(collectives_of(work, Phase::backward), Group::data, Kind::all_gather)) /
           static_cast<double>(2 * layer_parameters(work));
  };
  EXPECT_EQ(gathered(""), 1);
  // Of width 64, without biases: 3, 1, 4 and 4 times 64 * 64, the last of which has nothing behind
  // it.
  EXPECT_GT(gathered("reuse_distance: 0\n"), 1.5);
  EXPECT_LT(gathered("reuse_distance: 0\n"), 2);
  EXPECT_EQ(gathered("reuse_distance: 1000000\n"), 1);
}

TEST(Sharing, FewParametersStayWithEveryReplica) {
  const Planned all = planned("pipeline: 8\ndata: 4\nzero: 3\ngather: operator\n");
  const Planned most =
      planned("pipeline: 8\ndata: 4\nzero: 3\ngather: operator\nkeep_below: 1000\n");
  EXPECT_LT(count_of(collectives_of(most, Phase::forward), Kind::all_gather),
            count_of(collectives_of(all, Phase::forward), Kind::all_gather));
  EXPECT_GT(most.plan.stages[some_stage].memory.weights,
            all.plan.stages[some_stage].memory.weights);
}

TEST(Sharing, GathersByOperatorGoAheadOrNot) {
  const auto actions = [](const std::string& prefetch) {
    const Planned work =
        planned("pipeline: 8\ndata: 4\nzero: 3\ngather: operator\nprefetch: " + prefetch + "\n");
    const std::vector<Sent> forward = collectives_of(work, Phase::forward);
    return std::all_of(forward.begin(), forward.end(),
                       [](const Sent& each) { return each.action == Action::start_collective; });
  };
  EXPECT_TRUE(actions("both"));
  EXPECT_FALSE(actions("none"));
}

TEST(Sharing, ListsAreCopiedInMemory) {
  const Planned work = planned("pipeline: 8\ndata: 4\nzero: 3\ngather: operator\nlist_copies: 3\n");
  std::uint64_t copied = 0;
  for (const Instruction& instruction : work.plan.stages[some_stage].program.pieces[0]) {
    if (instruction.action == Action::execute &&
        work.plan.names[instruction.name] == "copies of weights") {
      copied += work.plan.operations[instruction.operation].bytes.count();
    }
  }
  EXPECT_EQ(copied, 3 * 2 * layer_parameters(work));
}

// Bytes that a pass moves by operations of this name.
std::uint64_t moved_by(const Planned& work, Phase phase, const std::string& name) {
  const Program& program = work.plan.stages[some_stage].program;
  const auto entry =
      std::find_if(program.schedule.begin(), program.schedule.end(),
                   [&](const ScheduleEntry& each) { return each.pass.phase == phase; });
  std::uint64_t moved = 0;
  for (const Instruction& instruction : program.instructions(*entry)) {
    if (instruction.action == Action::execute && work.plan.names[instruction.name] == name) {
      moved += work.plan.operations[instruction.operation].bytes.count();
    }
  }
  return moved;
}

// Of two bytes a parameter, by layer or beside the copies of lists.
TEST(Sharing, GradientsAreCopiedBeforeTheirSum) {
  const std::string copies = "copies of gradients";
  const Planned layers = planned("pipeline: 8\ndata: 4\nzero: 3\ngradient_copies: 4\n");
  EXPECT_EQ(moved_by(layers, Phase::backward, copies), 4 * 2 * layer_parameters(layers));
  const Planned lists = planned(
      "pipeline: 8\ndata: 4\nzero: 3\ngather: operator\nlist_copies: 3\ngradient_copies: 2\n");
  EXPECT_EQ(moved_by(lists, Phase::backward, copies), 5 * 2 * layer_parameters(lists));
  EXPECT_EQ(moved_by(lists, Phase::forward, copies), 0U);
  const Planned none = planned("pipeline: 8\ndata: 4\nzero: 1\ngradient_copies: 4\n");
  EXPECT_EQ(moved_by(none, Phase::backward, copies), 0U);
}

TEST(Sharing, GradientsThatNobodySumsUpAreNotCopied) {
  const std::string copies = "copies of gradients";
  for (const std::string alone : {"data: 1\n", "data: 2\nshard: 1\n"}) {
    const Planned work = planned("pipeline: 8\nzero: 3\ngradient_copies: 4\n" + alone);
    EXPECT_EQ(moved_by(work, Phase::backward, copies), 0U) << alone;
  }
  // Experts of which no other replica has a copy.
  const std::string experts = "experts: {count: 4, top_k: 1}\n";
  const auto moved = [&](const std::string& degrees) {
    const Planned work = planned("pipeline: 8\nzero: 3\ngradient_copies: 4\n" + degrees,
                                 machine_text(), testing::workload_text() + experts);
    const Sharder sharder(work.workload, work.plan.strategy);
    const std::size_t layer = work.plan.stages[some_stage].chunks[0].first;
    const LayerBytes bytes = sharder.bytes_of(work.workload.layers[layer]);
    EXPECT_GT(bytes.expert_gradients, Bytes(0));
    return std::pair(moved_by(work, Phase::backward, copies), bytes);
  };
  const auto [alone, own] = moved("data: 4\nexpert: 4\n");
  EXPECT_EQ(alone, 4 * own.dense_gradients.count());
  const auto [two, shared] = moved("data: 4\nexpert: 2\n");
  EXPECT_EQ(two, 4 * (shared.dense_gradients + shared.expert_gradients).count());
}

// Of a layer norm each of the two tensors, and of a bias what the tile has of it, is large or not.
TEST(Sharing, IsLargeTensorByTensor) {
  const Planned norms = planned("data: 4\nzero: 3\ngather: operator\nkeep_below: 100\n");
  const Sharder sharder(norms.workload, norms.plan.strategy);
  std::size_t seen = 0;
  for (const workload::Operator& op : norms.workload.layers[1].operators) {
    if (op.kernel == workload::Kernel::norm) {
      EXPECT_EQ(sharder.kept_tensors(op), 2U);
      EXPECT_FALSE(sharder.is_shared_out(op));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 2U);
  const Planned biased = planned("tensor: 4\ndata: 4\nzero: 3\ngather: operator\nkeep_below: 100\n",
                                 machine_text(), testing::workload_text() + "biases: true\n");
  const Sharder of_shards(biased.workload, biased.plan.strategy);
  std::size_t cut = 0;
  for (const workload::Operator& op : biased.workload.layers[1].operators) {
    if (op.sharding == workload::Sharding::column && op.is_matrix_product()) {
      EXPECT_EQ(of_shards.kept_tensors(op), 1U) << op.name;  // 48 and 64 of 192 and 256
      ++cut;
    }
  }
  EXPECT_EQ(cut, 2U);
}

// Time of lists in a pass: collectives are simulated, and what comes before them is not.
std::uint64_t elapsed(const Planned& work, Phase phase) {
  const Program& program = work.plan.stages[some_stage].program;
  const auto entry =
      std::find_if(program.schedule.begin(), program.schedule.end(),
                   [&](const ScheduleEntry& each) { return each.pass.phase == phase; });
  std::uint64_t time = 0;
  for (const Instruction& instruction : program.instructions(*entry)) {
    time += instruction.action == Action::elapse ? instruction.bytes : 0;
  }
  return time;
}

// Norms of width 64 have two tensors each of 64 parameters, products a bias; four replicas.
TEST(Sharing, WhatIsKeptGoesTensorByTensor) {
  const auto with = [](const std::string& more) {
    return planned(
        "pipeline: 8\ndata: 4\nzero: 3\ngather: operator\nkeep_below: 1000\n"
        "prefetch: none\n" +
            more,
        machine_text(), testing::workload_text() + "biases: true\n",
        {SimTime::zero(), SimTime::from_ps(10), {}});
  };
  const Planned together = with("");
  const Planned apart = with("keep_apart: true\n");
  constexpr std::uint64_t list = 4 * 10;
  constexpr std::uint64_t kept = 2 * 2 + 4;  // of two norms and four products
  EXPECT_EQ(elapsed(together, Phase::backward), list * (4 + 4 + 1));
  EXPECT_EQ(elapsed(apart, Phase::backward), list * (4 + 4 + kept));
  EXPECT_EQ(elapsed(together, Phase::update), 0U);
  EXPECT_EQ(elapsed(apart, Phase::update), list * kept);
  const std::vector<Sent> gathered = collectives_of(apart, Phase::update);
  ASSERT_EQ(gathered.size(), 1U);
  EXPECT_EQ(gathered[0].kind, Kind::all_gather);
  EXPECT_EQ(gathered[0].bytes, 2 * 2 * 2 * 64U);  // the norms; biases go with their products
}

// MiCS, arXiv:2205.00119, and FSDP's HYBRID_SHARD: groups gather and scatter, and what is left of a
// gradient is summed over the groups, once an iteration.
TEST(Sharing, HybridGroupsShareOutAndAddUp) {
  const Planned work = planned("pipeline: 4\ndata: 8\nmicro_batch: 1\nzero: 3\nshard: 4\n");
  const Plan& plan = work.plan;
  EXPECT_EQ(plan.group(Group::shard).size, 4U);
  EXPECT_EQ(plan.group(Group::shard).stride, 1U);
  EXPECT_EQ(plan.group(Group::copies).size, 2U);
  EXPECT_EQ(plan.group(Group::copies).stride, 4U);
  std::uint64_t parameters = 0;
  for (std::size_t layer = plan.stages[1].chunks[0].first; layer < plan.stages[1].chunks[0].end;
       ++layer) {
    parameters += work.workload.layers[layer].parameters();
  }
  std::uint64_t scattered = 0;
  std::uint64_t summed = 0;
  for (const ScheduleEntry& entry : plan.stages[1].program.schedule) {
    for (const Instruction& instruction : plan.stages[1].program.instructions(entry)) {
      if (instruction.action == Action::collective) {
        EXPECT_NE(instruction.group, Group::data);
        scattered += instruction.group == Group::shard ? instruction.bytes : 0;
        summed += instruction.group == Group::copies ? instruction.bytes : 0;
      }
    }
  }
  EXPECT_EQ(work.plan.strategy.micro_batches, 2U);
  EXPECT_EQ(scattered, 2 * 2 * parameters);  // reduced in both passes
  EXPECT_EQ(summed, 2 * parameters / 4);
  // State is a quarter and not an eighth.
  EXPECT_EQ(plan.stages[1].memory.weights, Bytes(2 * parameters / 4));
  EXPECT_EQ(plan.stages[1].memory.optimizer, Bytes(12 * parameters / 4));
}

// Experts that no replicas share out are weights like all others: groups hold all of them. They had
// been shared out over all replicas, in too little memory and with other messages.
TEST(Sharing, HybridGroupsShareOutExpertsToo) {
  const std::string strategy = "pipeline: 4\ndata: 8\nmicro_batch: 1\nzero: 3\nshard: 4\n";
  const std::string experts =
      testing::workload_text() + "experts: {count: 4, top_k: 2, ffn: 128}\n";
  for (const char* const gather : {"layer", "operator"}) {
    const Planned work = planned(strategy + "gather: " + gather + "\n", machine_text(), experts);
    const Stage& stage = work.plan.stages[1];
    std::uint64_t parameters = 0;
    for (std::size_t layer = stage.chunks[0].first; layer < stage.chunks[0].end; ++layer) {
      parameters += work.workload.layers[layer].parameters();
    }
    std::uint64_t summed = 0;
    for (const ScheduleEntry& entry : stage.program.schedule) {
      for (const Instruction& instruction : stage.program.instructions(entry)) {
        if (instruction.action == Action::collective ||
            instruction.action == Action::start_collective) {
          EXPECT_NE(instruction.group, Group::expert_data) << gather;
          summed += instruction.group == Group::copies ? instruction.bytes : 0;
        }
      }
    }
    EXPECT_EQ(summed, 2 * parameters / 4) << gather;
    EXPECT_EQ(stage.memory.weights, Bytes(2 * parameters / 4)) << gather;
    EXPECT_EQ(stage.memory.optimizer, Bytes(12 * parameters / 4)) << gather;
  }
}

// Replicas that each keep all gather and scatter nothing, and hold no copies for it.
TEST(Sharing, GroupsOfOneAreDataParallel) {
  const Planned none = planned("pipeline: 4\ndata: 8\nmicro_batch: 1\n");
  const Planned one = planned("pipeline: 4\ndata: 8\nmicro_batch: 1\nzero: 3\nshard: 1\n");
  EXPECT_EQ(one.plan.stages[1].memory.weights, none.plan.stages[1].memory.weights);
  EXPECT_EQ(one.plan.stages[1].memory.peak.total(), none.plan.stages[1].memory.peak.total());
  EXPECT_EQ(count_of(collectives_of(one, Phase::forward, 1), Kind::all_gather), 0U);
}

Bytes moved_by_update(const std::string& more) {
  const Planned work =
      planned("data: 4\nzero: 1\n", machine_text(), testing::workload_text() + more);
  const Stage& stage = work.plan.stages[0];
  Bytes moved;
  for (const ScheduleEntry& entry : stage.program.schedule) {
    if (entry.pass.phase == Phase::update) {
      for (const Instruction& instruction : stage.program.instructions(entry)) {
        moved += instruction.action == Action::execute
                     ? work.plan.operations[instruction.operation].bytes
                     : Bytes(0);
      }
    }
  }
  return moved;
}

// Of a replica's share of the parameters: state, weights and gradients once, or pass by pass in
// fp32, the norm and the scaling of gradients before.
TEST(Sharing, AnUpdateMovesOnceOrPassByPass) {
  std::uint64_t share = 0;  // each weight's is rounded up
  const Planned work = planned("data: 4\nzero: 1\n");
  for (const workload::Layer& layer : work.workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      share += (op.parameters + 3) / 4;
    }
  }
  EXPECT_EQ(moved_by_update(""), Bytes((12 + 2 + 2 + 12 + 2) * share));
  EXPECT_EQ(moved_by_update("update: eager\n"), Bytes((20 + 3) * 4 * share));
}

TEST(Sharing, MembersAreNearOrAcross) {
  const Planned across = planned("tensor: 2\ndata: 8\nzero: 1\nshard: 4\nshard_members: across\n");
  EXPECT_EQ(across.plan.group(Group::shard).stride, 4U);
  EXPECT_EQ(across.plan.group(Group::copies).stride, 2U);
  EXPECT_EQ(across.plan.group(Group::copies).size, 2U);
}

// With one group of all replicas, nothing is different.
TEST(Sharing, AllReplicasInOneGroupAreZero) {
  const Planned all = planned("pipeline: 4\ndata: 4\nzero: 3\n");
  const Planned one = planned("pipeline: 4\ndata: 4\nzero: 3\nshard: 4\n");
  EXPECT_EQ(one.plan.stages[1].memory.total(), all.plan.stages[1].memory.total());
  const auto sent = [](const Planned& work) {
    return bytes_of(collectives_of(work, Phase::backward, 1), Group::data, Kind::reduce_scatter);
  };
  EXPECT_EQ(sent(one), sent(all));
}

// A gather over a ring of k members takes (k - 1) (latency + S / k / bandwidth): eight tiles in a
// row, in groups of four, whose way back from the last to the first has three hops on links of its
// own.
TEST(Sharing, HybridTimesAreThoseOfRings) {
  const std::string row =
      "topology: {kind: mesh, rows: 1, columns: 8, bandwidth: 100 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\ndram: {at: none}\n";
  const Planned work = planned(
      "data: 8\nmicro_batch: 2\nzero: 3\nshard: 4\naggregation: stage\n"
      "placement: {layout: linear}\n",
      row);
  std::vector<std::uint64_t> gathers;
  for (const Instruction& instruction : work.plan.stages[0].program.pieces[0]) {
    if (instruction.action == Action::start_elapse && instruction.group == Group::shard) {
      gathers.push_back(instruction.bytes);
    }
  }
  ASSERT_GT(gathers.size(), 2U);
  const std::uint64_t on_links = 2 * work.workload.layers[1].parameters() / 4 * 10;  // 10 ps a byte
  EXPECT_GE(gathers[1], 3 * (1000 + on_links));
  EXPECT_LE(gathers[1], 3 * on_links + (1 + 1 + 3) * 1000 + 3 * 10);
}

std::string refusal_of(const std::string& strategy) {
  try {
    planned(strategy);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Sharing, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal_of("data: 8\nzero: 3\nshard: 3\n"), HasSubstr("does not divide"));
  EXPECT_THAT(refusal_of("data: 8\nshard: 4\n"), HasSubstr("'zero: 1'"));
  EXPECT_THAT(refusal_of("data: 8\nzero: 3\nkeep_below: 5\n"), HasSubstr("gather: operator"));
  EXPECT_THAT(refusal_of("data: 8\nzero: 3\nkeep_apart: true\n"), HasSubstr("gather: operator"));
}

}  // namespace
}  // namespace tessera::plan::sharing_test
