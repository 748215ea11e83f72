// Micro-batches that were not simulated, against all of them.

#include "tessera/sim/programs/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim::replay_test {
namespace {

using ::testing::HasSubstr;
using testing::read;
using testing::small_experiment;

trace::Summary run_one(std::vector<std::string> overrides, const std::string& replay) {
  overrides.push_back("run.replay=" + replay);
  Experiment experiment = read(small_experiment(), overrides);
  const auto communicator = comm::make_in_process();
  return run_with_replay(experiment, *communicator, {});
}

const std::vector<std::string> many{"workload.batch=256", "machine.network.model=analytical",
                                    "machine.memory.model=bandwidth"};

// Means over tiles are rounded down, which each step may repeat.
TEST(Replay, GivesTheTimesOfTheWhole) {
  for (const std::string schedule :
       {"1f1b", "zb-h1", "interleaved", "zb-v", "dualpipe-v", "dualpipe"}) {
    const bool in_a_v = schedule.ends_with("-v") || schedule == "dualpipe";
    std::vector<std::string> settings = many;
    settings.push_back("strategy.schedule=" + schedule);
    if (schedule == "interleaved" || in_a_v) {
      settings.emplace_back("strategy.chunks=2");
    }
    const trace::Summary whole = run_one(settings, "none");
    const trace::Summary replayed = run_one(settings, "exact");
    EXPECT_EQ(whole.replayed_micro_batches, 0U);
    EXPECT_GT(replayed.replayed_micro_batches, 0U) << schedule;
    EXPECT_LT(replayed.events, whole.events / 2) << schedule;
    EXPECT_EQ(replayed.simulated_time_ps, whole.simulated_time_ps) << schedule;
    EXPECT_EQ(replayed.iteration_time_ps, whole.iteration_time_ps) << schedule;
    EXPECT_DOUBLE_EQ(replayed.throughput_samples_per_s, whole.throughput_samples_per_s);
    // Two stages that are equally fast may exchange waiting for memory and for each other late in
    // the run, without any change to its length.
    const std::size_t rows = schedule == "zb-h1" || in_a_v ? 0 : whole.breakdown.size();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < whole.breakdown[row].mean_ps.size(); ++i) {
        EXPECT_NEAR(static_cast<double>(replayed.breakdown[row].mean_ps[i].second),
                    static_cast<double>(whole.breakdown[row].mean_ps[i].second),
                    2.0 * static_cast<double>(replayed.replayed_micro_batches))
            << schedule << ", " << whole.breakdown[row].name << ", "
            << whole.breakdown[row].mean_ps[i].first;
      }
    }
  }
}

// Products beside collectives, which micro-batches of one number meet otherwise than those of the
// next: all were simulated, after five times three tries.
TEST(Replay, FindsWhatRepeatsEveryFewMicroBatches) {
  const std::string text =
      "machine:\n  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 10 GB/s, latency: 20 "
      "ns}\n"
      "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 MB}\n"
      "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n  network: {model: packet}\n"
      "  compute: {model: gemm, units: 4, tiles: [16x16], launch_overhead: 200 ns, "
      "collective_units: 2}\n"
      "workload: {kind: transformer, layers: 4, hidden: 32, heads: 4, sequence: 16, vocabulary: "
      "50, "
      "batch: 256}\n"
      "strategy: {pipeline: 2, tensor: 4, micro_batch: 1, overlap_tensor: true}\n"
      "run: {trace: none}\n";
  const auto run_of = [&](const std::string& replay) {
    Experiment experiment = read({{"lab/experiment.yaml", text}}, {"run.replay=" + replay});
    const auto communicator = comm::make_in_process();
    return run_with_replay(experiment, *communicator, {});
  };
  const trace::Summary whole = run_of("none");
  const trace::Summary replayed = run_of("exact");
  EXPECT_GT(replayed.replayed_micro_batches, 200U);
  EXPECT_EQ(replayed.iteration_time_ps, whole.iteration_time_ps);
}

// All micro-batches of gpipe are kept, which decides what SRAM holds: few of them fit, and streamed
// nothing where the whole iteration does.
TEST(Replay, KeepsInSramWhatTheWholeIterationDoes) {
  for (const std::string schedule : {"gpipe", "1f1b", "zb-h1"}) {
    for (const std::string sram : {"1 MB", "2 MB", "40 MB"}) {
      const std::vector<std::string> settings{
          "workload.batch=256", "strategy.schedule=" + schedule, "machine.tile.sram=" + sram,
          "machine.network.model=analytical",
          "machine.dram={at: each, bandwidth: 20 GB/s, latency: 50 ns}"};
      const trace::Summary whole = run_one(settings, "none");
      const trace::Summary replayed = run_one(settings, "exact");
      const std::string where = schedule + ", " + sram;
      EXPECT_GT(replayed.replayed_micro_batches, 0U) << where;
      EXPECT_EQ(replayed.simulated_time_ps, whole.simulated_time_ps) << where;
      EXPECT_EQ(replayed.memory_read_bytes, whole.memory_read_bytes) << where;
      EXPECT_EQ(replayed.memory_written_bytes, whole.memory_written_bytes) << where;
      EXPECT_EQ(replayed.peak_memory, whole.peak_memory) << where;
    }
  }
}

// Notes tell of the whole iteration, also those that take its time in closed form.
TEST(Replay, NotesTheWholeIteration) {
  std::vector<std::string> settings = many;
  settings.emplace_back("machine.tile.sram=40 MB");
  const trace::Summary whole = run_one(settings, "none");
  trace::Summary replayed = run_one(settings, "exact");
  ASSERT_GT(replayed.replayed_micro_batches, 0U);
  EXPECT_THAT(whole.notes, ::testing::Contains(HasSubstr("if those of collectives")));
  EXPECT_THAT(replayed.notes.back(), HasSubstr("run.replay"));
  replayed.notes.pop_back();
  EXPECT_EQ(replayed.notes, whole.notes);
}

// Whoever asks for its plan afterwards was given that of the last run.
TEST(Replay, LeavesThePlanOfTheWhole) {
  for (const char* const schedule : {"gpipe", "1f1b"}) {
    std::vector<std::string> settings = many;
    settings.push_back(std::string("strategy.schedule=") + schedule);
    settings.emplace_back("machine.tile.sram=40 MB");
    settings.emplace_back("run.replay=exact");
    const Experiment before = read(small_experiment(), settings);
    Experiment experiment = read(small_experiment(), settings);
    const auto communicator = comm::make_in_process();
    ASSERT_GT(run_with_replay(experiment, *communicator, {}).replayed_micro_batches, 0U);
    EXPECT_EQ(experiment.plan().strategy.micro_batches, before.plan().strategy.micro_batches);
    for (std::size_t stage = 0; stage < before.plan().stages.size(); ++stage) {
      EXPECT_EQ(experiment.plan().stages[stage].memory.total(),
                before.plan().stages[stage].memory.total());
    }
  }
}

// In the first run, and in one after three that did not settle, whose folder said "running".
TEST(Replay, AStopLeavesAFolderThatSaysSo) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "tessera_replay_stopped";
  for (const int stopped : {1, 2, 3, 4, 5, 6}) {
    std::filesystem::remove_all(folder);
    Experiment experiment =
        read(small_experiment(), {"workload.batch=256", "run.replay=exact", "run.trace=summary"});
    RunRequest request;
    request.folder = folder.string();
    int runs = 0;
    request.hooks.on_note = [&](const std::string& note) {
      runs += note.find("whether they repeat") == std::string::npos ? 0 : 1;
    };
    request.hooks.stop_requested = [&] { return runs == stopped; };
    const auto communicator = comm::make_in_process();
    const trace::Summary summary = run_with_replay(experiment, *communicator, request);
    const trace::Summary written = trace::read_summary((folder / "summary.json").string());
    EXPECT_EQ(summary.status, "stopped");
    EXPECT_EQ(written.status, "stopped");
    EXPECT_EQ(written.message,
              "a stop was requested; run.replay: exact leaves nothing to go on with");
    EXPECT_EQ(written.message, summary.message);
    EXPECT_THAT(trace::verify_run_folder(folder.string()), ::testing::IsEmpty());
    EXPECT_EQ(std::filesystem::exists(folder / "index.h5"), stopped % 3 == 0);
  }
  std::filesystem::remove_all(folder);
}

TEST(Replay, OfFewMicroBatchesIsTheWhole) {
  const trace::Summary whole = run_one({}, "none");
  const trace::Summary replayed = run_one({}, "exact");
  EXPECT_EQ(replayed.replayed_micro_batches, 0U);
  EXPECT_EQ(replayed.result_digest, whole.result_digest);
}

TEST(Replay, IsTheSameOnAnyNumberOfRanks) {
  const trace::Summary expected = run_one(many, "exact");
  for (int ranks = 2; ranks <= 4; ++ranks) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      std::vector<std::string> settings = many;
      settings.emplace_back("run.replay=exact");
      settings.emplace_back("run.partition=stripes");  // `auto` would leave ranks idle
      Experiment experiment = read(small_experiment(), settings);
      const trace::Summary summary = run_with_replay(experiment, communicator, {});
      EXPECT_EQ(summary.simulated_time_ps, expected.simulated_time_ps) << ranks;
      EXPECT_EQ(summary.replayed_micro_batches, expected.replayed_micro_batches) << ranks;
      EXPECT_EQ(summary.result_digest, expected.result_digest) << ranks;
    });
  }
}

// Whether the first three runs settle the matter or more are needed.
TEST(Replay, LeavesTheFolderOfOneRun) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "tessera_replay_folder";
  for (std::vector<std::string> settings : {many, {"workload.batch=256"}}) {
    std::filesystem::remove_all(folder);
    settings.emplace_back("run.replay=exact");
    settings.emplace_back("run.trace=summary");
    Experiment experiment = read(small_experiment(), settings);
    const auto communicator = comm::make_in_process();
    const trace::Summary summary =
        run_with_replay(experiment, *communicator, {folder.string(), {}});
    const trace::Summary written = trace::read_summary((folder / "summary.json").string());
    EXPECT_EQ(written.status, "finished");
    EXPECT_EQ(written.simulated_time_ps, summary.simulated_time_ps);
    EXPECT_EQ(written.replayed_micro_batches, summary.replayed_micro_batches);
    EXPECT_EQ(written.result_digest, summary.result_digest);
    EXPECT_TRUE(std::filesystem::exists(folder / "manifest.json"));
  }
  std::filesystem::remove_all(folder);
}

TEST(Replay, TriesAsOftenAsAsked) {
  const auto trials_of = [](std::uint32_t most, trace::Summary& summary) {
    Experiment experiment = read(small_experiment(), {"workload.batch=256", "run.replay=exact"});
    RunRequest request;
    request.replay_trials = most;
    int runs = 0;
    request.hooks.on_note = [&](const std::string& note) {
      runs += note.find("whether they repeat") == std::string::npos ? 0 : 1;
    };
    const auto communicator = comm::make_in_process();
    summary = run_with_replay(experiment, *communicator, request);
    return runs / 3;
  };
  trace::Summary summary;
  ASSERT_GT(trials_of(100, summary), 1);
  EXPECT_EQ(trials_of(1, summary), 1);
  EXPECT_EQ(summary.replayed_micro_batches, 0U);
  EXPECT_EQ(summary.result_digest, run_one({"workload.batch=256"}, "none").result_digest);
}

TEST(Replay, RefusesCheckpoints) {
  std::vector<std::string> settings = many;
  settings.emplace_back("run.replay=exact");
  Experiment experiment = read(small_experiment(), settings);
  const auto communicator = comm::make_in_process();
  RunRequest request;
  request.checkpoints.wall_s = 1;
  try {
    run_with_replay(experiment, *communicator, request);
    FAIL() << "no complaint";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("checkpoints"));
  }
}

}  // namespace
}  // namespace tessera::sim::replay_test
