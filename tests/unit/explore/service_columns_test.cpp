// Numbers of services as columns of sweeps.
#include "sweep/service_columns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "files.hpp"
#include "sweep/columns.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/sweep.hpp"

namespace tessera::explore::service_columns_test {
namespace {

namespace fs = std::filesystem;

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Files;
using ::testing::HasSubstr;
using testing::loader_of;

const std::string experiment =
    "name: service\nmachine:\n"
    "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 64 GB/s, latency: 10 ns}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
    "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 4 MB}\n"
    "  network: {model: analytical}\n  compute: {model: roofline}\n"
    "workload:\n  kind: serving\n  steps: whole\n  tenants:\n    - name: chat\n"
    "      language_model: {layers: 2, hidden: 64, heads: 4, sequence: 256, vocabulary: 64}\n"
    "      batching: {sequences: 2}\n      target: {latency: 300 us}\n      price: 2\n"
    "      classes: [{name: short}]\n"
    "      requests: {arrivals: poisson, rate: 5000, count: 60, prompt: 8, generate: 16}\n";

Files sweep_with(const std::string& lines) {
  return {{"lab/service.yaml", experiment},
          {"lab/sweep.yaml",
           "experiment: service.yaml\naxes: {workload.tenants.0.replicas: [1, 2]}\n" + lines}};
}

SweepOutcome run(const std::string& folder, const Files& files) {
  const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
  return run_sweep("lab/sweep.yaml", {}, folder, *alone, loader_of(files), {});
}

std::string complaint_about(const std::string& lines) {
  try {
    read_sweep("lab/sweep.yaml", {}, loader_of(sweep_with(lines)));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

class ServiceColumns : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directory(scratch_); }
  void TearDown() override { fs::remove_all(scratch_); }
  std::string folder() const { return (scratch_ / "out").string(); }

  fs::path scratch_ =
      fs::path(::testing::TempDir()) /
      (std::string("service_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ServiceColumns, AreThoseOfSummaries) {
  for (const char* const name :
       {"services.0.met_per_s", "service_totals.1.first_token_ps.p99",
        "services.chat.cost_a_million_tokens", "services.chat.0.between_tokens_ps.mean",
        "services.chat [short].latency_ps.p90", "services.0.windows.12.arrived",
        "services.job/chat.latency_ps.most"}) {
    EXPECT_TRUE(is_column(name)) << name;
  }
  for (const char* const name : {"services.0.tenant", "services.met_per_s", "services.0.p99",
                                 "service_totals.chat.met", "services.0.windows.x.arrived"}) {
    EXPECT_FALSE(is_column(name)) << name;
  }
  EXPECT_EQ(describe_column("services.0.first_token_ps.p99").unit, "ps");
  EXPECT_EQ(describe_column("services.0.first_token_ps.count").unit, "");
  EXPECT_EQ(describe_column("services.chat.met_per_s").unit, "1/s");
}

// The table of a service had an empty column of memory and nothing of what it is judged by.
TEST_F(ServiceColumns, AreInTheTableOfAService) {
  const Sweep sweep = read_sweep("lab/sweep.yaml", {}, loader_of(sweep_with("")));
  EXPECT_THAT(sweep.columns, ElementsAre("services.chat.met_per_s", "throughput_samples_per_s",
                                         "iteration_time_ps", "services.chat.first_token_ps.p99",
                                         "services.chat.between_tokens_ps.p99",
                                         "services.chat.cost_a_million_tokens"));
  EXPECT_TRUE(sweep.objective.maximize);
  // Other work has what it had.
  const Files trained = testing::small_sweep();
  EXPECT_THAT(read_sweep("lab/sweep.yaml", {}, loader_of(trained)).columns,
              Contains("memory_per_tile_bytes"));
}

TEST_F(ServiceColumns, OfANameAreOfAllReplicas) {
  const SweepOutcome outcome =
      run(folder(), sweep_with("objective: {minimize: services.chat.latency_ps.p99}\n"
                               "report: [services.chat.served, services.0.served, "
                               "service_totals.0.served, services.chat.1.served]\n"));
  ASSERT_EQ(outcome.table.rows.size(), 2U);
  EXPECT_EQ(outcome.finished, 2U);
  const auto at = [&](std::size_t row, const std::string& name) {
    std::size_t column = 0;
    while (outcome.table.columns.at(column).name != name) {
      ++column;
    }
    return outcome.table.rows[row].numbers.at(column);
  };
  for (const std::size_t row : {0U, 1U}) {
    EXPECT_EQ(at(row, "services.chat.served"), "60");
    EXPECT_NE(at(row, "services.chat.first_token_ps.p99"), "");
    EXPECT_NE(at(row, "services.chat.cost_a_million_tokens"), "");
  }
  EXPECT_EQ(at(0, "services.chat.1.served"), "");
  EXPECT_EQ(std::stoi(at(1, "services.0.served")) + std::stoi(at(1, "services.chat.1.served")), 60);
  EXPECT_EQ(at(1, "service_totals.0.served"), "60");
  EXPECT_EQ(outcome.table.objective.column, "services.chat.latency_ps.p99");
  EXPECT_THAT(to_csv(outcome.table), HasSubstr(",services.chat.first_token_ps.p99,"));
}

TEST_F(ServiceColumns, AreTheSameOnAnyNumberOfRanks) {
  const Files files = sweep_with("");
  const std::string expected = to_csv(run(folder(), files).table);
  comm::run_ranks_as_threads(2, [&](comm::Communicator& communicator) {
    const SweepOutcome outcome =
        run_sweep("lab/sweep.yaml", {}, folder() + "2", communicator, loader_of(files), {});
    if (communicator.rank() == 0) {
      EXPECT_EQ(to_csv(outcome.table), expected);
    }
  });
}

TEST_F(ServiceColumns, ThatAreMisspeltAreRefused) {
  EXPECT_THAT(complaint_about("report: [services.chat.met_a_second]\n"),
              HasSubstr("sweep.yaml:3:1: error: report: unknown column"));
  EXPECT_THAT(complaint_about("report: [services.chta.met]\n"),
              HasSubstr("unknown service 'chta'; did you mean 'chat'? known: chat"));
  EXPECT_EQ(complaint_about("report: [\"services.chat [short].met\"]\n"), "");
  Files trained = testing::small_sweep();
  trained["lab/sweep.yaml"] += "report: [services.0.met]\n";
  try {
    read_sweep("lab/sweep.yaml", {}, loader_of(trained));
    FAIL() << "nothing is refused";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("serves no requests"));
  }
}

// A model in a file: all points had been refused one by one.
TEST_F(ServiceColumns, AxesIntoAFileAreRefused) {
  Files files = sweep_with("");
  files["lab/service.yaml"].replace(
      experiment.find("{layers: 2, hidden: 64, heads: 4, sequence: 256, vocabulary: 64}"), 64,
      "model.yaml");
  files["lab/model.yaml"] =
      "kind: transformer\nlayers: 2\nhidden: 64\nheads: 4\nsequence: 256\nvocabulary: 64\n";
  files["lab/sweep.yaml"] =
      "experiment: service.yaml\naxes:\n  workload.tenants.0.language_model.layers: [2, 4]\n";
  try {
    run(folder(), files);
    FAIL() << "nothing is refused";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("sweep.yaml:3:3: error: "
                                        "workload.tenants.0.language_model is a single value"));
  }
}

// Its points had three numbers each.
TEST_F(ServiceColumns, AFolderWithOtherColumnsIsRefused) {
  const Files files = sweep_with("");
  run(folder(), files);
  SweepState state = read_sweep_state(folder());
  EXPECT_THAT(state.columns, Contains("services.chat.met_per_s"));
  const std::vector<SweepRow> rows = read_sweep_logs(folder());
  const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
  EXPECT_EQ(resume_sweep(folder(), *alone, loader_of(files), {}).table.rows.size(), 2U);

  state.columns.clear();  // of an earlier build
  prepare_sweep_folder(folder(), state, "");
  {
    SweepLog log(sweep_log_path(folder(), 0));
    SweepRow row = rows.front();
    row.numbers.resize(3);
    log.append(row);
  }
  try {
    resume_sweep(folder(), *alone, loader_of(files), {});
    FAIL() << "nothing is refused";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("its points have other columns"));
  }
}

}  // namespace
}  // namespace tessera::explore::service_columns_test
