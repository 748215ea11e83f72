#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "files.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/checkpoint.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::sim::checkpoint_test {
namespace {

using ::testing::HasSubstr;
using testing::read;
using testing::small_experiment;

namespace fs = std::filesystem;

// What makes up a case: models, and how much is traced.
struct Case {
  std::string name;
  std::vector<std::string> overrides;
  std::vector<std::pair<int, int>> ranks{{1, 1}, {1, 2}, {3, 2}};  // before and after
};

// Each of models goes on on more ranks and on fewer; one tries every way.
std::vector<std::pair<int, int>> other_ways() {
  return {{2, 1}, {2, 3}, {1, 4}};
}
std::vector<std::pair<int, int>> every_way() {
  return {{1, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 2}, {4, 4}, {1, 4}};
}

void PrintTo(const Case& value, std::ostream* out) {
  *out << value.name;
}

// A folder that goes when the test does.
class Scratch {
 public:
  explicit Scratch(const std::string& name)
      : path_(fs::path(::testing::TempDir()) / ("tessera_checkpoint_" + name)) {
    fs::remove_all(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

trace::Summary run_on(int ranks, const Experiment& experiment, const RunRequest& request) {
  std::optional<trace::Summary> first;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    trace::Summary summary = run(experiment, communicator, request);
    if (communicator.rank() == 0) {
      first = std::move(summary);
    }
  });
  return *first;
}

Experiment read_back(const std::string& folder) {
  return read_run_folder(folder, config::load_text_file);
}

// Runs and leaves a checkpoint at a multiple of `cut` as the newest, as if the program had ended
// somewhere after it: the first multiple, unless the run was over before it could be stopped.
void run_until(SimTime cut, int ranks, const Experiment& experiment, const std::string& folder,
               bool resume = false) {
  RunRequest request;
  request.folder = folder;
  request.resume = resume;
  request.checkpoints.simulated = cut;
  std::atomic<int> written{0};
  request.hooks.on_checkpoint = [&](bool begins) { written += begins ? 0 : 1; };
  const int before = resume ? 2 * ranks : 0;  // finding and reading the old one
  request.hooks.stop_requested = [&] { return written > before; };
  const trace::Summary summary = run_on(ranks, experiment, request);
  if (summary.status == "stopped") {
    // The stop came with a cut of its own: go back to the one asked for.
    const std::vector<std::uint32_t> numbers = trace::list_checkpoints(folder);
    ASSERT_EQ(numbers.size(), 2U);
    trace::discard_checkpoint(folder, numbers.front());
  }
}

using Rows = std::map<std::string, std::vector<std::string>>;

// Rows of the tables that hold results, sorted. Who simulates a node is none.
Rows rows_of(const std::string& folder, const std::vector<trace::TracePart>& parts) {
  Rows rows;
  for (const trace::TracePart& part : parts) {
    const trace::TraceReader reader(folder + "/" + part.name);
    for (const std::string& name : reader.table_names()) {
      if (name == "engine" || name == "nodes") {
        continue;
      }
      const std::uint64_t good = part.good_rows(name, reader.committed_rows(name));
      const trace::ReadTable table = reader.read(name, 0, good);
      for (std::uint64_t row = 0; row < table.rows; ++row) {
        const auto* bytes =
            reinterpret_cast<const char*>(table.bytes.data()) + row * table.spec.row_bytes;
        rows[name].emplace_back(bytes, table.spec.row_bytes);
      }
    }
  }
  for (auto& [name, list] : rows) {
    std::sort(list.begin(), list.end());
  }
  return rows;
}

void expect_same(const trace::Summary& summary, const trace::Summary& expected) {
  EXPECT_EQ(summary.status, "finished");
  EXPECT_EQ(summary.result_digest, expected.result_digest);
  EXPECT_EQ(summary.simulated_time_ps, expected.simulated_time_ps);
  EXPECT_EQ(summary.iteration_time_ps, expected.iteration_time_ps);
  EXPECT_EQ(summary.events, expected.events);
  EXPECT_EQ(summary.packet_hops, expected.packet_hops);
  EXPECT_EQ(summary.messages, expected.messages);
  ASSERT_EQ(summary.breakdown.size(), expected.breakdown.size());
  for (std::size_t row = 0; row < summary.breakdown.size(); ++row) {
    EXPECT_EQ(summary.breakdown[row].mean_ps, expected.breakdown[row].mean_ps);
  }
}

class Resume : public ::testing::TestWithParam<Case> {};

TEST_P(Resume, GivesWhatAnUninterruptedRunGives) {
  const Experiment experiment = read(small_experiment(), GetParam().overrides);
  const bool traced = experiment.options.trace != TraceLevel::none;
  const Scratch whole("whole_" + GetParam().name);
  const trace::Summary expected = run_on(1, experiment, {whole.path(), {}});
  const Rows expected_rows = traced ? rows_of(whole.path(), trace::trace_parts(1)) : Rows{};

  std::mt19937 random(7);
  const auto any_time = [&] {
    return SimTime::from_ps(std::uniform_int_distribution<std::int64_t>(
        expected.simulated_time_ps / 20, expected.simulated_time_ps * 4 / 5)(random));
  };
  for (const auto& [before, after] : GetParam().ranks) {
    SCOPED_TRACE(std::to_string(before) + " ranks, then " + std::to_string(after));
    const Scratch folder("part_" + GetParam().name);
    run_until(any_time(), before, experiment, folder.path());
    const trace::Checkpoint base =
        trace::read_checkpoint(folder.path(), trace::list_checkpoints(folder.path()).front());
    RunRequest request;
    request.folder = folder.path();
    request.resume = true;
    const trace::Summary summary = run_on(after, read_back(folder.path()), request);
    expect_same(summary, expected);
    EXPECT_EQ(summary.segments.size(), 2U);
    EXPECT_THAT(trace::verify_run_folder(folder.path()), ::testing::IsEmpty());
    if (traced) {
      std::vector<trace::Segment> segments = base.segments;
      segments.emplace_back();
      segments.back().number = 1;
      segments.back().cost.ranks = after;
      EXPECT_EQ(rows_of(folder.path(), trace::trace_parts(segments)), expected_rows);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Resume,
    ::testing::Values(
        Case{"packet_full", {"run.trace=full"}, every_way()}, Case{"packet_none", {}},
        Case{"packet_bins", {"run.trace=summary", "run.bins=40"}, other_ways()},
        Case{"packet_fair",
             {"run.trace=full", "run.bins=40", "machine.network.arbitration=fair",
              "machine.memory={model: channel, arbitration: fair}"}},
        Case{"overlap",
             {"run.trace=full", "strategy.overlap_gradients=true", "workload.layers=4"},
             other_ways()},
        Case{"short_bins", {"run.trace=summary", "run.bins=2", "run.bin=200 ns"}},
        Case{"dram",
             {"run.trace=full", "run.bins=40", "run.iterations=1", "machine.tile.sram=10 kB",
              "machine.memory.model=dram", "machine.memory.preset=DDR4",
              "machine.memory.window=4 KiB", "machine.memory.transfer=512 B",
              "machine.memory.port=10 GB/s"},
             other_ways()},
        Case{"analytical",
             {"run.trace=full", "machine.network.model=analytical",
              "machine.memory.model=bandwidth"}},
        Case{"flit",
             {"run.trace=full", "machine.network.model=flit", "machine.network.flit_size=4 KiB",
              "machine.network.packet_size=16 KiB"},
             other_ways()},
        Case{"detail",
             {"run.trace=full", "run.bins=20",
              "machine.types={fine: {nodes: [0], compute: {model: npu, array: [8, 8], "
              "vector_width: 16, scratchpad: 16 KiB, accumulator: 4 KiB}}}"}},
        Case{"graphs", {"run.trace=full", "execution.sends=delivered"}, other_ways()},
        Case{"crossbar", {"run.trace=full", "machine.network.model=crossbar"}},
        Case{"flow", {"run.trace=full", "machine.network.model=flow"}, other_ways()},
        Case{"flow_in_parts",
             {"run.trace=full", "machine.network.model=flow", "machine.network.pairs=in-turn",
              "machine.memory.model=bandwidth"}}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(Checkpoints, ARunCanGoOnManyTimes) {
  const Experiment experiment = read(small_experiment(), {"run.trace=full"});
  const Scratch whole("whole");
  const trace::Summary expected = run_on(1, experiment, {whole.path(), {}});
  const Scratch folder("many");
  const SimTime quarter = SimTime::from_ps(expected.simulated_time_ps / 4);
  run_until(quarter, 1, experiment, folder.path());
  run_until(quarter, 2, experiment, folder.path(), true);
  run_until(quarter, 3, experiment, folder.path(), true);
  RunRequest request;
  request.folder = folder.path();
  request.resume = true;
  const trace::Summary summary = run_on(2, experiment, request);
  expect_same(summary, expected);
  ASSERT_EQ(summary.segments.size(), 4U);
  EXPECT_EQ(summary.segments[2].ranks, 3);
  EXPECT_EQ(summary.segments[1].end_ps, summary.segments[2].begin_ps);
  const trace::TraceReader last(folder.path() + "/" + trace::trace_name(1, 2, 3));
  EXPECT_EQ(last.attribute("segment"), "3");
}

// Stopped after two checkpoints.
class Damaged : public ::testing::Test {
 protected:
  Damaged()
      : experiment_(read(small_experiment(), {"run.trace=full"})),
        folder_(::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    RunRequest request;
    request.folder = folder_.path();
    whole_ = run_on(1, experiment_, request);
    request.checkpoints.simulated = SimTime::from_ps(whole_.simulated_time_ps / 3);
    run_on(2, experiment_, request);
    numbers_ = trace::list_checkpoints(folder_.path());
    request_.folder = folder_.path();
    request_.resume = true;
    request_.hooks.on_warning = [this](const std::string& text) { warnings_.push_back(text); };
  }

  fs::path file(std::size_t place, const std::string& name) const {
    return fs::path(trace::checkpoint_path(folder_.path(), numbers_.at(place))) / name;
  }
  static void flip(const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(fs::file_size(path) / 2));
    const char byte = static_cast<char>(file.peek() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(fs::file_size(path) / 2));
    file.put(byte);
  }
  std::string complaint(int ranks = 1) {
    try {
      run_on(ranks, experiment_, request_);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  Experiment experiment_;
  Scratch folder_;
  trace::Summary whole_;
  std::vector<std::uint32_t> numbers_;
  RunRequest request_;
  std::vector<std::string> warnings_;
};

TEST_F(Damaged, TheNewestTwoAreKept) {
  EXPECT_THAT(numbers_, ::testing::ElementsAre(2U, 1U));
}

TEST_F(Damaged, TheOneBeforeIsTakenWhenTheNewestIsDamaged) {
  flip(file(0, "rank.00001.h5"));
  expect_same(run_on(3, experiment_, request_), whole_);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], HasSubstr("00002/rank.00001.h5: damaged (CRC-32C differs)"));
  EXPECT_THAT(trace::list_checkpoints(folder_.path()), ::testing::ElementsAre(1U));
}

TEST_F(Damaged, TheOneBeforeIsTakenWhenTheNewestIsCutShort) {
  fs::resize_file(file(0, "rank.00000.h5"), 1000);
  expect_same(run_on(1, experiment_, request_), whole_);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], HasSubstr("has 1000 bytes instead of"));
}

TEST_F(Damaged, WhatIsHalfWrittenIsIgnored) {
  fs::copy(file(0, ""), trace::checkpoint_path(folder_.path(), 9) + ".tmp");
  fs::remove(file(0, "checkpoint.json"));
  expect_same(run_on(2, experiment_, request_), whole_);
  EXPECT_EQ(warnings_.size(), 1U);
}

TEST_F(Damaged, WithoutAValidOneThereIsOneMessage) {
  flip(file(0, "rank.00001.h5"));
  flip(file(1, "checkpoint.json"));
  const std::string message = complaint(2);
  EXPECT_THAT(message, HasSubstr("holds no valid checkpoint to go on from"));
  EXPECT_THAT(message, HasSubstr("00002/rank.00001.h5: damaged"));
  EXPECT_THAT(message, HasSubstr("00001/checkpoint.json: error: damaged"));
}

TEST_F(Damaged, WithoutAnyThereIsOneMessage) {
  fs::remove_all(fs::path(folder_.path()) / "checkpoints");
  EXPECT_THAT(complaint(), HasSubstr("holds no checkpoint to go on from"));
}

TEST_F(Damaged, AnotherConfigurationIsRefused) {
  experiment_ = read(small_experiment(), {"run.trace=full", "run.iterations=3"});
  EXPECT_THAT(complaint(), HasSubstr("is of another configuration"));
}

TEST_F(Damaged, AnotherLayoutIsRefusedAnotherBuildIsNot) {
  const trace::Checkpoint good = trace::read_checkpoint(folder_.path(), numbers_[0]);
  const auto publish = [&](trace::Checkpoint checkpoint, std::uint32_t number) {
    const std::string path = trace::checkpoint_path(folder_.path(), number);
    fs::copy(file(0, ""), path + ".tmp", fs::copy_options::recursive);
    checkpoint.number = number;
    trace::publish_checkpoint(folder_.path(), checkpoint);
  };
  trace::Checkpoint other = good;
  other.version = "9.9.9";
  other.git_hash = "0badc0de";
  other.state = trace::state_version + 1;
  publish(other, 3);
  EXPECT_THAT(complaint(2), HasSubstr("was written by tessera 9.9.9 (0badc0de); this is "));
  EXPECT_THAT(complaint(2), HasSubstr("holds its state differently"));
  other.state = trace::state_version;
  publish(other, 4);
  EXPECT_EQ(complaint(2), "");
}

TEST_F(Damaged, AnEarlierRunIsReplacedWithItsCheckpoints) {
  RunRequest request;
  request.folder = folder_.path();
  expect_same(run_on(1, experiment_, request), whole_);
  EXPECT_FALSE(fs::exists(fs::path(folder_.path()) / "checkpoints"));
}

TEST_F(Damaged, AnotherPartitionGivesTheSame) {
  use_partition(experiment_, "stripes");
  expect_same(run_on(3, experiment_, request_), whole_);
}

TEST(Checkpoints, NeedAFolder) {
  const Experiment experiment = read(small_experiment());
  const auto communicator = comm::make_in_process();
  RunRequest request;
  request.checkpoints.wall_s = 1;
  EXPECT_THROW(run(experiment, *communicator, request), ConfigError);
}

TEST(Checkpoints, AFailureEndsTheRunUnlessItShallGoOn) {
  const Experiment experiment = read(small_experiment());
  const Scratch folder("failing");
  RunRequest request;
  request.folder = folder.path();
  const trace::Summary whole = run_on(1, experiment, request);
  request.checkpoints.simulated = SimTime::from_ps(whole.simulated_time_ps / 3);
  // A file where the folder of checkpoints should be, put there once the folder was prepared.
  const auto block = [&](bool begins) {
    if (begins) {
      std::ofstream(folder.path() + "/checkpoints") << "in the way";
    }
  };
  request.hooks.on_checkpoint = block;
  EXPECT_THROW(run_on(1, experiment, request), IoError);
  EXPECT_EQ(trace::read_summary(folder.path() + "/summary.json").status, "failed");
  fs::remove(folder.path() + "/checkpoints");
  request.checkpoints.keep_going = true;
  std::vector<std::string> warnings;
  request.hooks.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  expect_same(run_on(1, experiment, request), whole);
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings.front(), HasSubstr("(errno "));
}

TEST(Checkpoints, TheResolvedConfigurationsOfTheExamplesReadBack) {
  for (const auto& entry : fs::directory_iterator(TESSERA_EXPERIMENTS)) {
    const std::string path = entry.path().string();
    if (path.find("palm_wafer_t_7") != std::string::npos ||
        path.find("palm_wafer_t_1") != std::string::npos ||
        path.find("full_wafer") != std::string::npos ||
        path.find("wafer_training") != std::string::npos) {
      continue;  // the same keys in larger numbers
    }
    const Experiment experiment = read_experiment(path, {}, config::load_text_file);
    const Experiment again = read_experiment("again.yaml", {}, [&](const std::string& name) {
      return name == "again.yaml" ? experiment.resolved : config::load_text_file(name);
    });
    EXPECT_EQ(again.resolved, experiment.resolved) << path;
    EXPECT_EQ(again.configuration_hash(), experiment.configuration_hash()) << path;
  }
}

}  // namespace
}  // namespace tessera::sim::checkpoint_test
