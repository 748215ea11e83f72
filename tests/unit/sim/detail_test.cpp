// One tile in detail among coarse ones: compute models by the type of a tile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::sim::detail_test {
namespace {

using testing::complaint_of;
using ::testing::HasSubstr;
using testing::read;
using testing::small_experiment;

// Node 0 in detail; its operands are in memory, so that it is slower.
const std::string detail =
    "machine.types={fine: {nodes: [0], compute: {model: npu, array: [8, 8], vector_width: 16, "
    "scratchpad: 16 KiB, accumulator: 4 KiB}}}";
// Replicas that never meet, and do not stream; of one stage, as layers are cut by the tiles' times.
const std::vector<std::string> apart{"workload.mode=inference", "strategy.pipeline=1",
                                     "run.trace=full", "machine.tile.sram=0 B"};

std::vector<std::string> with(std::vector<std::string> settings, const std::string& one) {
  settings.push_back(one);
  return settings;
}

using Times = std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t>>;

// Operators by node: begin, end, name.
std::map<std::uint32_t, Times> times_of(const Experiment& experiment, const std::string& name) {
  const std::string folder =
      (std::filesystem::path(::testing::TempDir()) / ("tessera_detail_" + name)).string();
  std::filesystem::remove_all(folder);
  const auto communicator = comm::make_in_process();
  run(experiment, *communicator, {folder, {}});
  std::map<std::uint32_t, Times> times;
  for (const trace::TracePart& part : trace::trace_parts(1)) {
    const trace::TraceReader reader(folder + "/" + part.name);
    if (reader.committed_rows("operators") == 0) {
      continue;
    }
    const trace::ReadTable table = reader.read("operators");
    for (std::uint64_t row = 0; row < table.rows; ++row) {
      const auto record = table.record<trace::OperatorRow>(row);
      times[record.node].emplace_back(record.start_ps, record.end_ps, record.name);
    }
  }
  std::filesystem::remove_all(folder);
  return times;
}

TEST(Detail, TilesThatDoNotWaitForItAreAsBefore) {
  const Experiment coarse = read(small_experiment(), apart);
  const Experiment mixed = read(small_experiment(), with(apart, detail));
  const auto before = times_of(coarse, "before");
  const auto after = times_of(mixed, "after");
  ASSERT_EQ(before.size(), 4U);
  ASSERT_EQ(after.size(), 4U);
  std::size_t others = 0;
  for (std::uint32_t role = 0; role < 4; ++role) {
    const std::uint32_t node = mixed.plan().placement.tile(role).value();
    if (mixed.plan().placement.role(role).replica == 0) {
      EXPECT_NE(after.at(node), before.at(node)) << node;
    } else {
      EXPECT_EQ(after.at(node), before.at(node)) << node;
      ++others;
    }
  }
  EXPECT_EQ(others, 2U);
}

TEST(Detail, ResultsDoNotDependOnTheNumberOfRanks) {
  const Experiment experiment = read(small_experiment(), {detail});
  const auto communicator = comm::make_in_process();
  const trace::Summary expected = run(experiment, *communicator, {});
  EXPECT_NE(expected.result_digest, run(read(small_experiment()), *communicator, {}).result_digest);
  for (int ranks = 2; ranks <= 4; ++ranks) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& some) {
      EXPECT_EQ(run(experiment, some, {}).result_digest, expected.result_digest) << ranks;
    });
  }
}

TEST(Detail, AModelThatAllTilesHaveIsThatModel) {
  const std::string all =
      "machine.types={fine: {nodes: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "
      "compute: {model: npu, array: [8, 8]}}}";
  const auto communicator = comm::make_in_process();
  EXPECT_EQ(run(read(small_experiment(), {all}), *communicator, {}).simulated_time_ps,
            run(read(small_experiment(), {"machine.compute={model: npu, array: [8, 8]}"}),
                *communicator, {})
                .simulated_time_ps);
}

TEST(Detail, ComplaintsNameTheType) {
  EXPECT_THAT(complaint_of(small_experiment(),
                           {"machine.types={fine: {nodes: [0], compute: {model: nbu}}}"}),
              HasSubstr("machine.types.fine.compute.model: unknown name 'nbu'"));
  EXPECT_THAT(complaint_of(small_experiment(),
                           {"machine.types={fine: {nodes: [0], compute: {model: npu, aray: 1}}}"}),
              HasSubstr("machine.types.fine.compute.aray: unknown key"));
}

}  // namespace
}  // namespace tessera::sim::detail_test
