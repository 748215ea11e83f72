#include "tessera/explore/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::explore::sweep_test {
namespace {

namespace fs = std::filesystem;

using testing::Files;
using ::testing::HasSubstr;
using testing::loader_of;
using testing::small_sweep;
using testing::with_line;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SweepRun : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directory(scratch_); }
  void TearDown() override { fs::remove_all(scratch_); }

  std::string folder(const std::string& name) const { return (scratch_ / name).string(); }

  static SweepOutcome run(const std::string& folder, const Files& files = small_sweep(),
                          const SweepHooks& hooks = {}) {
    const auto alone = comm::make_in_process();
    return run_sweep("lab/sweep.yaml", {}, folder, *alone, loader_of(files), hooks);
  }
  static SweepOutcome resume(const std::string& folder, const Files& files = small_sweep()) {
    const auto alone = comm::make_in_process();
    return resume_sweep(folder, *alone, loader_of(files), {});
  }
  // Stops after so many points.
  static SweepHooks stopping_after(std::size_t points) {
    auto done = std::make_shared<std::size_t>(0);
    SweepHooks hooks;
    hooks.stop_requested = [done, points] { return *done >= points; };
    hooks.on_point = [done](std::size_t now, std::size_t, std::size_t) { *done = now; };
    return hooks;
  }

  fs::path scratch_ =
      fs::path(::testing::TempDir()) /
      (std::string("sweep_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(SweepRun, EachPointIsTheRunOfItsSettings) {
  const SweepOutcome outcome = run(folder("out"));
  EXPECT_TRUE(outcome.complete);
  ASSERT_EQ(outcome.table.rows.size(), 18U);
  for (const SweepRow& row : outcome.table.rows) {
    const bool possible = row.places[1] != 2;  // four heads and three shards
    EXPECT_EQ(row.status, possible ? "finished" : "refused") << row.message;
    if (!possible) {
      EXPECT_THAT(row.message, HasSubstr("cannot be shared out among 3 tiles"));
      continue;
    }
    const std::vector<int> pipelines{1, 2, 4};
    const sim::Experiment experiment = sim::read_experiment(
        "lab/experiment.yaml",
        {"strategy.pipeline=" + std::to_string(pipelines[row.places[0]]),
         "strategy.tensor=" + std::to_string(row.places[1] + 1),
         "strategy.data=" + std::to_string(row.places[2] + 1), "run.trace=none"},
        loader_of(small_sweep()));
    const auto alone = comm::make_in_process();
    const trace::Summary summary = sim::run(experiment, *alone, {});
    EXPECT_EQ(row.digest, summary.result_digest);
    EXPECT_EQ(row.numbers[1], std::to_string(summary.iteration_time_ps));
  }
  EXPECT_EQ(outcome.finished, 12U);
}

TEST_F(SweepRun, IsTheSameOnAnyNumberOfRanks) {
  run(folder("one"));
  for (const int ranks : {2, 3}) {
    const std::string many = folder(std::to_string(ranks));
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      const SweepOutcome outcome =
          run_sweep("lab/sweep.yaml", {}, many, communicator, loader_of(small_sweep()), {});
      EXPECT_EQ(outcome.finished, 12U);
    });
    EXPECT_EQ(text_of(many + "/sweep.csv"), text_of(folder("one") + "/sweep.csv"));
    EXPECT_EQ(text_of(many + "/sweep.h5"), text_of(folder("one") + "/sweep.h5"));
  }
}

TEST_F(SweepRun, GoesOnWhereItStopped) {
  run(folder("whole"));
  const SweepOutcome part = run(folder("part"), small_sweep(), stopping_after(5));
  EXPECT_FALSE(part.complete);
  EXPECT_EQ(part.table.rows.size(), 5U);
  std::size_t again = 0;
  SweepHooks hooks;
  hooks.on_point = [&](std::size_t, std::size_t all, std::size_t) { again = all; };
  const auto alone = comm::make_in_process();
  const SweepOutcome rest = resume_sweep(folder("part"), *alone, loader_of(small_sweep()), hooks);
  EXPECT_TRUE(rest.complete);
  EXPECT_EQ(again, 13U);
  EXPECT_EQ(text_of(folder("part") + "/sweep.csv"), text_of(folder("whole") + "/sweep.csv"));
}

TEST_F(SweepRun, GoesOnOnOtherNumbersOfRanks) {
  run(folder("whole"));
  run(folder("part"), small_sweep(), stopping_after(4));
  comm::run_ranks_as_threads(3, [&](comm::Communicator& communicator) {
    const SweepOutcome rest =
        resume_sweep(folder("part"), communicator, loader_of(small_sweep()), {});
    EXPECT_EQ(rest.finished, 12U);
  });
  EXPECT_EQ(text_of(folder("part") + "/sweep.csv"), text_of(folder("whole") + "/sweep.csv"));
}

TEST_F(SweepRun, RunsAgainWhatAKillCutOff) {
  run(folder("whole"));
  run(folder("part"));
  const fs::path log = scratch_ / "part" / "points" / "00000.jsonl";
  const std::string lines = text_of(log);
  for (const std::size_t length : {lines.size() - 1, lines.size() - 20, std::size_t{1}}) {
    std::ofstream(log, std::ios::binary | std::ios::trunc) << lines.substr(0, length);
    fs::remove(scratch_ / "part" / "sweep.csv");
    EXPECT_TRUE(resume(folder("part")).complete);
    EXPECT_EQ(text_of(folder("part") + "/sweep.csv"), text_of(folder("whole") + "/sweep.csv"));
  }
}

TEST_F(SweepRun, RunsAgainWhatIsDamaged) {
  run(folder("whole"));
  run(folder("part"));
  const fs::path log = scratch_ / "part" / "points" / "00000.jsonl";
  std::string lines = text_of(log);
  lines[lines.find("\"numbers\":[\"") + 12] ^= 1;
  std::ofstream(log, std::ios::binary | std::ios::trunc) << lines;
  EXPECT_TRUE(resume(folder("part")).complete);
  EXPECT_EQ(text_of(folder("part") + "/sweep.csv"), text_of(folder("whole") + "/sweep.csv"));
}

TEST_F(SweepRun, RefusesToGoOnWithOtherFiles) {
  run(folder("out"), small_sweep(), stopping_after(2));
  EXPECT_THROW(resume(folder("out"), with_line("# a remark")), ConfigError);
  Files other_machine = small_sweep();
  other_machine.at("lab/machine.yaml") += "# a remark\n";
  EXPECT_THROW(resume(folder("out"), other_machine), ConfigError);
  EXPECT_THROW(resume(folder("nowhere")), ConfigError);
  EXPECT_TRUE(resume(folder("out")).complete);
}

TEST_F(SweepRun, ReportsWhatIsAsked) {
  const SweepOutcome outcome =
      run(folder("out"), with_line("report: [breakdown.total.bubble.share, events, "
                                   "breakdown.stages.3.compute.mean_ps]\n"
                                   "objective: {minimize: iteration_time_ps}"));
  std::vector<std::string> names;
  for (const SweepColumn& column : outcome.table.columns) {
    names.push_back(column.name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("iteration_time_ps", "throughput_samples_per_s",
                                            "memory_per_tile_bytes", "breakdown.total.bubble.share",
                                            "events", "breakdown.stages.3.compute.mean_ps"));
  EXPECT_EQ(outcome.table.rows.front().numbers.back(), "");  // one stage only
  EXPECT_NE(outcome.table.rows[12].numbers.back(), "");
}

TEST_F(SweepRun, GivesUpPointsThatTakeTooLong) {
  const SweepOutcome outcome =
      run(folder("out"), with_line("limit: {wall: 1 ms}\nset: {run.iterations: 1000000}"));
  EXPECT_TRUE(outcome.complete);
  EXPECT_EQ(outcome.finished, 0U);
  EXPECT_EQ(outcome.table.rows.front().status, "limit");
}

TEST_F(SweepRun, BlamesAMisspeltAxis) {
  Files files = small_sweep();
  std::string& sweep = files.at("lab/sweep.yaml");
  sweep.replace(sweep.find("strategy.tensor"), 15, "strategy.tensr");
  try {
    run(folder("out"), files);
    FAIL() << "no complaint";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().to_string(),
              "lab/sweep.yaml:4:3: error: strategy.tensr: unknown key; did you mean 'tensor'?");
  }
}

TEST_F(SweepRun, TakesWholePartsAsValues) {
  Files files = small_sweep();
  files["lab/fast.yaml"] = files.at("lab/machine.yaml");
  std::string& fast = files["lab/fast.yaml"];
  fast.replace(fast.find("1 TFLOP/s"), 9, "2 TFLOP/s");
  files.at("lab/sweep.yaml") =
      "experiment: experiment.yaml\naxes: {machine: [machine.yaml, fast.yaml]}\n";
  const SweepOutcome outcome = run(folder("out"), files);
  EXPECT_EQ(outcome.finished, 2U);
  EXPECT_NE(outcome.table.rows[0].digest, outcome.table.rows[1].digest);
  files.at("lab/sweep.yaml") = "experiment: experiment.yaml\naxes: {machine: [none.yaml]}\n";
  EXPECT_THROW(run(folder("out"), files), ConfigError);
}

TEST_F(SweepRun, LeavesOtherPeoplesFoldersAlone) {
  std::ofstream(scratch_ / "thesis.txt") << "precious";
  EXPECT_THROW(run(scratch_.string()), ConfigError);
  EXPECT_EQ(text_of(scratch_ / "thesis.txt"), "precious");
}

}  // namespace
}  // namespace tessera::explore::sweep_test
