#include "tessera/sim/cuts/cuts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "files.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/scaling/scaling.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::cuts_test {
namespace {

using testing::complaint_of;
using testing::edited;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::small_experiment;

const std::vector<std::string> plan_cuts{"stages", "replicas", "stages-replicas", "groups",
                                         "traffic"};

// Four stages of four replicas in tensor groups of two on a mesh of 6x8, with routers between and
// channels in the middle.
Files larger_experiment() {
  Files files = small_experiment();
  files["lab/parts/machine.yaml"] =
      "topology: {kind: mesh, rows: 6, columns: 8, bandwidth: 10 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 kB}\n"
      "dram: {at: nodes, nodes: [4, 12, 20, 28, 36, 44], bandwidth: 20 GB/s, latency: 50 ns}\n";
  files["lab/parts/workload.yaml"] =
      "kind: transformer\nlayers: 4\nhidden: 64\nheads: 4\nsequence: 32\nvocabulary: 50\n"
      "batch: 32\ndata_type: fp16\noptimizer: adam\n";
  // Columns 4 and 5 have no roles.
  std::string tiles;
  for (int node = 0; node < 48; ++node) {
    if (node % 8 < 4 || node % 8 > 5) {
      tiles += (tiles.empty() ? "" : ", ") + std::to_string(node);
    }
  }
  tiles = tiles.substr(0, tiles.find(", 40"));
  files["lab/parts/strategy.yaml"] =
      "pipeline: 4\ntensor: 2\ndata: 3\nplacement: {layout: linear}\n";
  files["lab/parts/workload.yaml"].replace(files["lab/parts/workload.yaml"].find("batch: 32"), 9,
                                           "batch: 24");
  return files;
}

// Tiles of a tensor group have much to say to each other and little to others.
Experiment busy(const std::vector<std::string>& overrides = {}) {
  Files files = edited("parts/machine.yaml", "rows: 4, columns: 4", "rows: 8, columns: 8");
  files["lab/parts/workload.yaml"] =
      "kind: transformer\nlayers: 4\nhidden: 256\nheads: 16\nsequence: 128\nvocabulary: 50\n"
      "batch: 64\ndata_type: fp16\noptimizer: adam\n";
  files["lab/parts/strategy.yaml"] = "pipeline: 2\ntensor: 16\ndata: 2\n";
  std::vector<std::string> all{"machine.network.packet_size=256 B", "run.iterations=100"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return read(files, all);
}

machine::Partition cut(const Experiment& experiment, const std::string& name, int ranks) {
  return cutters().at(name).cut(experiment, ranks, node_weights(experiment));
}

bool can_cut(const Experiment& experiment, const std::string& name, int ranks) {
  const plan::Degrees& degrees = experiment.plan().strategy.degrees;
  const auto wanted = static_cast<std::uint32_t>(ranks);
  if (name == "stages") {
    return degrees.pipeline >= wanted;
  }
  if (name == "replicas") {
    return degrees.data >= wanted;
  }
  if (name == "stages-replicas") {
    for (std::uint32_t runs = 2; runs < wanted; ++runs) {
      if (wanted % runs == 0 && runs <= degrees.pipeline && wanted / runs <= degrees.data) {
        return true;
      }
    }
    return false;
  }
  return degrees.pipeline * degrees.data >= wanted;
}

void expect_valid(const Experiment& experiment, const machine::Partition& partition, int ranks) {
  const std::uint32_t nodes = experiment.machine.topology->nodes();
  ASSERT_EQ(partition.ranks, ranks);
  ASSERT_EQ(partition.owner.size(), nodes);
  ASSERT_EQ(partition.members.size(), static_cast<std::size_t>(ranks));
  std::size_t members = 0;
  for (std::uint32_t rank = 0; rank < partition.members.size(); ++rank) {
    EXPECT_FALSE(partition.members[rank].empty()) << rank;
    members += partition.members[rank].size();
    for (const EntityId node : partition.members[rank]) {
      EXPECT_EQ(partition.owner[node.value()], rank);
    }
  }
  EXPECT_EQ(members, nodes);
}

void expect_whole_groups(const Experiment& experiment, const machine::Partition& partition) {
  const plan::Plan& plan = experiment.plan();
  const std::uint32_t tensor = plan.strategy.degrees.tensor;
  for (std::uint32_t role = 0; role < plan.placement.tiles().size(); ++role) {
    EXPECT_EQ(partition.owner[plan.placement.tile(role).value()],
              partition.owner[plan.placement.tile(role / tensor * tensor).value()])
        << role;
  }
}

TEST(Cuts, OfPlansAreValidAndKeepTensorGroups) {
  for (const Files& files : {small_experiment(), larger_experiment()}) {
    const Experiment experiment = read(files);
    for (const std::string& name : plan_cuts) {
      for (int ranks = 1; ranks <= 12; ++ranks) {
        SCOPED_TRACE(name + " " + std::to_string(ranks));
        if (ranks > 1 && !can_cut(experiment, name, ranks)) {
          EXPECT_THROW(cut(experiment, name, ranks), ConfigError);
          continue;
        }
        const machine::Partition partition = cut(experiment, name, ranks);
        expect_valid(experiment, partition, ranks);
        expect_whole_groups(experiment, partition);
        EXPECT_EQ(cut(experiment, name, ranks).owner, partition.owner) << "another one";
      }
    }
  }
}

TEST(Cuts, StagesAndReplicasAreWhatTheirNamesSay) {
  const Experiment experiment = read(larger_experiment());
  const plan::Placement& placement = experiment.plan().placement;
  const machine::Partition stages = cut(experiment, "stages", 4);
  const machine::Partition replicas = cut(experiment, "replicas", 3);
  std::map<std::uint32_t, std::uint32_t> rank_of_replica;
  for (std::uint32_t number = 0; number < placement.tiles().size(); ++number) {
    const plan::Role role = placement.role(number);
    const std::uint32_t node = placement.tile(number).value();
    EXPECT_EQ(stages.owner[node], role.stage);
    const std::uint32_t rank =
        rank_of_replica.emplace(role.replica, replicas.owner[node]).first->second;
    EXPECT_EQ(replicas.owner[node], rank);
  }
  EXPECT_EQ(rank_of_replica.size(), 3U);
}

TEST(Cuts, ChannelsAndRoutersGoWithThoseWhoUseThem) {
  // One stage on the four tiles around the first channel, the other far away at the second.
  Files files = small_experiment();
  files["lab/parts/machine.yaml"] =
      "topology: {kind: mesh, rows: 3, columns: 9, bandwidth: 10 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 kB}\n"
      "dram: {at: nodes, nodes: [10, 16], bandwidth: 20 GB/s, latency: 50 ns}\n";
  files["lab/parts/strategy.yaml"] =
      "pipeline: 2\ntensor: 2\ndata: 2\n"
      "placement: {layout: given, tiles: [[0, 2, 18, 20], [6, 8, 24, 26]]}\n";
  const Experiment experiment = read(files);
  const machine::Partition partition = cut(experiment, "stages", 2);
  const auto owner = [&](std::uint32_t node) { return partition.owner[node]; };
  EXPECT_EQ(owner(10), owner(0));
  EXPECT_EQ(owner(16), owner(6));
  EXPECT_NE(owner(10), owner(16));
  for (const std::uint32_t router : {1U, 9U, 11U, 19U}) {
    EXPECT_EQ(owner(router), owner(0)) << router;
  }
  for (const std::uint32_t router : {7U, 15U, 17U, 25U}) {
    EXPECT_EQ(owner(router), owner(6)) << router;
  }
}

// Ten stages down two columns of groups, two replicas side by side in each: cut in the middle of
// the second column, 12 thousand packets cross in place of 36, between a part of 1.24 and one of
// 0.76.
TEST(Cuts, OfGroupsAreUnevenWhereFewMessagesCross) {
  const Experiment experiment =
      read_experiment(TESSERA_EXPERIMENTS "/grayskull_tiny.yaml", {}, config::load_text_file);
  const machine::Partition partition = cut(experiment, "groups", 2);
  expect_valid(experiment, partition, 2);
  expect_whole_groups(experiment, partition);
  EXPECT_GT(partition.imbalance, 1.1);
  EXPECT_LT(partition.imbalance, 1.34);
  const std::vector<CutPrediction> cuts = predict_cuts(experiment, 2);
  ASSERT_FALSE(cuts.empty());
  EXPECT_EQ(cuts.front().name, "groups");
  EXPECT_LT(cuts.front().messages, 15'000U);
  EXPECT_GT(cuts.front().speed_up(), 1.3);
  EXPECT_EQ(choose_cut(experiment, 2, 2).partition.owner, partition.owner);
}

// Members of a tensor group send at the same time: of what crosses a cut through groups, a fifth
// was counted.
TEST(Cuts, ArePredictedWithAllThatCrosses) {
  Experiment experiment = busy(
      {"run.iterations=1", "workload.batch=16", "workload.heads=32", "strategy.tensor=32",
       "strategy.data=1", "strategy.collectives.tensor=halving-doubling", "run.partition=blocks"});
  const std::vector<CutPrediction> cuts = predict_cuts(experiment, 4);
  const auto blocks =
      std::find_if(cuts.begin(), cuts.end(), [](const auto& one) { return one.name == "blocks"; });
  ASSERT_NE(blocks, cuts.end());
  ScalingRequest request;
  request.ranks = {4};
  request.costs.event_s = 70e-9;
  request.costs.bandwidth = 1e9;
  const trace::ScalingPrediction replayed = predict_scaling(experiment, request).predictions.back();
  EXPECT_EQ(replayed.partition, "blocks");
  EXPECT_EQ(blocks->messages, replayed.counts.remote_events);
}

TEST(Cuts, ChangeNoResult) {
  const Files files = small_experiment();
  const auto communicator = comm::make_in_process();
  const std::string expected = run(read(files), *communicator, {}).result_digest;
  for (const std::string& name : plan_cuts) {
    for (int ranks = 2; ranks <= 4; ++ranks) {
      const Experiment experiment = read(files, {"run.partition=" + name});
      if (!can_cut(experiment, name, ranks)) {
        continue;
      }
      comm::run_ranks_as_threads(ranks, [&](comm::Communicator& threads) {
        const trace::Summary summary = run(experiment, threads, {});
        EXPECT_EQ(summary.result_digest, expected) << name << ranks;
        EXPECT_EQ(summary.partition, name);
      });
    }
  }
}

TEST(Cuts, RefuseOtherWork) {
  EXPECT_THAT(complaint_of(small_experiment(), {"run.partition=tenants"}),
              HasSubstr("run.partition: 'tenants' needs a workload of tenants"));
  EXPECT_THAT(complaint_of(small_experiment(), {"run.partition=npus"}), HasSubstr("'npus' cuts"));
  EXPECT_THAT(complaint_of(small_experiment(), {"run.partition=communicators"}),
              HasSubstr("execution graphs"));
  Experiment experiment = read(small_experiment());
  EXPECT_THROW(use_partition(experiment, "communicators"), ConfigError);
  EXPECT_THROW(use_partition(experiment, "stage"), ConfigError);
  use_partition(experiment, "stages");
  EXPECT_EQ(experiment.options.partition, "stages");
}

TEST(Cuts, TenantsStayWhole) {
  Files files = small_experiment();
  const std::string job = "workload: parts/workload.yaml, strategy: {pipeline: 2, tensor: 2}}\n";
  files["lab/experiment.yaml"] =
      "name: three\nmachine: parts/machine.yaml\n"
      "workload:\n  kind: tenants\n  tenants:\n"
      "    - {name: a, tiles: [0, 1, 4, 5], " +
      job + "    - {name: b, tiles: [2, 3, 6, 7], " + job +
      "    - {name: c, tiles: [8, 9, 12, 13], " + job;
  const Experiment experiment = read(files);
  for (int ranks = 2; ranks <= 3; ++ranks) {
    const machine::Partition partition = cut(experiment, "tenants", ranks);
    expect_valid(experiment, partition, ranks);
    for (const PlacedJob& tenant : experiment.jobs) {
      for (const EntityId tile : tenant.tiles) {
        EXPECT_EQ(partition.owner[tile.value()], partition.owner[tenant.tiles.front().value()]);
      }
    }
  }
  EXPECT_THROW(cut(experiment, "tenants", 4), ConfigError);
}

TEST(Choice, OneRankForAMoment) {
  const CutChoice choice = choose_cut(read(small_experiment()), 4, 4);
  EXPECT_EQ(choice.ranks, 1);
  EXPECT_EQ(choice.partition.ranks, 1);
  EXPECT_EQ(choice.name, "none");
  EXPECT_EQ(choice.reason, "one of 4 ranks is used: the run is over in a moment on one");
}

TEST(Choice, ObeysAName) {
  const CutChoice choice = choose_cut(read(small_experiment(), {"run.partition=stripes"}), 4, 4);
  EXPECT_EQ(choice.ranks, 4);
  EXPECT_EQ(choice.name, "stripes");
  EXPECT_EQ(choice.partition.ranks, 4);
}

TEST(Choice, OneRankWhereModelsPromiseNothing) {
  const Experiment experiment =
      busy({"machine.network.model=flow", "machine.network.uncontended_steps=lumped"});
  EXPECT_FALSE(models_promise(experiment));
  const CutChoice choice = choose_cut(experiment, 4, 4);
  EXPECT_EQ(choice.ranks, 1);
  EXPECT_THAT(choice.reason, HasSubstr("has no cut that pays"));
  EXPECT_TRUE(predict_cuts(experiment, 4).empty());
}

TEST(Choice, CountsEventsInWindowsWhereNothingIsPredicted) {
  const Experiment experiment = busy({"machine.network.model=flit"});
  const CutChoice choice = choose_cut(experiment, 4, 4);
  EXPECT_EQ(choice.ranks, 4);
  EXPECT_THAT(choice.reason, HasSubstr("events of each in a window of the lookahead"));
  EXPECT_TRUE(predict_cuts(experiment, 4).empty());
}

TEST(Choice, TakesWhatIsPredictedToBeFastest) {
  const Experiment experiment = busy();
  const std::vector<CutPrediction> cuts = predict_cuts(experiment, 2);
  ASSERT_FALSE(cuts.empty());
  EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end(),
                             [](const auto& a, const auto& b) { return a.wall_s < b.wall_s; }));
  const CutChoice choice = choose_cut(experiment, 2, 2);
  EXPECT_EQ(choice.ranks, 2);
  EXPECT_EQ(choice.name, cuts.front().name);
  EXPECT_DOUBLE_EQ(choice.predicted_speed_up, cuts.front().speed_up());
  EXPECT_GT(choice.predicted_speed_up, 1.3);
  EXPECT_LE(choice.predicted_speed_up, 2);
  EXPECT_EQ(choice.partition.owner, cut_for(experiment, 2).partition.owner);
  expect_valid(experiment, choice.partition, 2);
}

// A ring of sixteen, over and over again: every message follows from the one before.
TEST(Choice, JudgesCutsOfGraphsByTheirFirstNodes) {
  Files files = small_experiment();
  files["lab/experiment.yaml"] =
      "name: rings\nmachine: parts/machine.yaml\n"
      "workload: {kind: collective, collective: all-reduce, size: 1 MB, repeat: 2000}\n";
  const std::vector<std::string> analytical{"machine.network.model=analytical"};
  const Experiment experiment = read(files, analytical);
  EXPECT_TRUE(models_promise(experiment));
  const std::vector<CutPrediction> cuts = predict_cuts(experiment, 2);
  ASSERT_EQ(cuts.size(), 2U);
  EXPECT_LE(cuts[0].wall_s, cuts[1].wall_s);
  for (const CutPrediction& prediction : cuts) {
    EXPECT_GT(prediction.messages, 0U);
    EXPECT_LT(prediction.speed_up(), 2);
  }
  const CutChoice choice = choose_cut(experiment, 2, 2);
  EXPECT_THAT(choice.reason, HasSubstr("predicted"));
  EXPECT_EQ(choice.ranks, cuts[0].speed_up() < 1.5 ? 1 : 2);
  const CutChoice moment =
      choose_cut(read(files, {"machine.network.model=analytical", "workload.repeat=2"}), 2, 2);
  EXPECT_THAT(moment.reason, HasSubstr("over in a moment"));
}

TEST(Choice, LeavesRanksIdleThatHaveNoProcessor) {
  const CutChoice choice = choose_cut(busy(), 4, 2);
  EXPECT_EQ(choice.ranks, 2);
  EXPECT_THAT(choice.reason, HasSubstr("2 of 4 ranks are used, one a processor"));
  EXPECT_EQ(choose_cut(busy({"run.idle_ranks=false"}), 4, 2).partition.owner,
            cut_for(busy(), 4).partition.owner);
  EXPECT_EQ(choose_cut(busy({"run.partition=blocks"}), 4, 2).ranks, 4);
}

TEST(Choice, LeavesRanksIdle) {
  const Experiment experiment = busy();
  const CutChoice choice = choose_cut(experiment, 16, 16);
  EXPECT_LT(choice.ranks, 16);
  EXPECT_GT(choice.ranks, 1);
  expect_valid(experiment, choice.partition, choice.ranks);
  EXPECT_THAT(choice.reason, HasSubstr("of 16 ranks are used, cut by " + choice.name));
  EXPECT_EQ(cut_for(experiment, 16).ranks, 16) << "where all are asked for";
}

TEST(Choice, IsWhatScalingIsPredictedWith) {
  Experiment experiment = busy({"run.iterations=1", "workload.batch=16"});
  ScalingRequest request;
  request.ranks = {16};
  request.costs.event_s = 70e-9;
  request.costs.bandwidth = 1e9;
  const trace::ScalingPrediction left = predict_scaling(experiment, request).predictions.back();
  EXPECT_EQ(left.ranks, 16);
  EXPECT_EQ(left.counts.ranks, choose_cut(experiment, 16, 16).ranks);
  EXPECT_EQ(left.partition, choose_cut(experiment, 16, 16).name);
  EXPECT_DOUBLE_EQ(left.efficiency(), left.speed_up / 16);
  Experiment all = busy({"run.iterations=1", "workload.batch=16", "run.idle_ranks=false"});
  EXPECT_EQ(predict_scaling(all, request).predictions.back().counts.ranks, 16);
}

}  // namespace
}  // namespace tessera::sim::cuts_test
