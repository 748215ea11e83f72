// What tenants keep in memories that they share, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "files.hpp"
#include "tenants.hpp"
#include "tessera/sim/serving/serving.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::tenants_memory_test {
namespace {

using tenancy::inference;
using tenancy::Machine;
using tenancy::npu_keys;
using tenancy::operators;
using tenancy::replaced;
using tenancy::run_it;
using tenancy::serving;
using tenancy::tenant;
using tenancy::together;
using tenancy::transformer;
using tenancy::Work;
using testing::complaint_of;
using testing::Files;
using testing::read;

// A machine whose tiles share one memory.
Files in_one_memory(const std::string& capacity, const std::vector<std::string>& tenants) {
  Machine machine;
  machine.dram = "nodes, nodes: [0], capacity: " + capacity;
  machine.compute = npu_keys;
  return together(machine, tenants);
}

TEST(TenantsInMemory, FitTheMemoriesThatTheyShare) {
  const std::string step = tenant("step", "0-7", transformer.lines);
  const std::string chat = tenant("chat", "8-15", serving.lines);
  const auto blocks = [&](const std::vector<std::string>& tenants) {
    const Experiment experiment = read(in_one_memory("3 MB", tenants));
    return *served_by(*experiment.jobs.back().job)->tenants[1].batching.blocks;
  };
  // Caches take what is left: what the tiles of the step keep is missing.
  const std::uint64_t all = blocks({chat});
  const std::uint64_t beside = blocks({step, chat});
  EXPECT_LT(beside, all);
  EXPECT_EQ(read(in_one_memory("3 MB", {step, chat})).jobs[0].job->planned()->in_channels.size(),
            1U);
  // Others that serve have as much.
  EXPECT_NEAR(static_cast<double>(blocks({tenant("other", "0-7", serving.lines), chat})),
              static_cast<double>(all) / 2, static_cast<double>(all) / 8);

  EXPECT_EQ(complaint_of(in_one_memory("1.2 MB", {step})), "");
  EXPECT_EQ(complaint_of(in_one_memory("1.2 MB", {chat})), "");
  EXPECT_THAT(
      complaint_of(in_one_memory("1.2 MB", {step, chat})),
      ::testing::AllOf(::testing::HasSubstr("tenants[1].workload: the memory at tile (0,0)"),
                       ::testing::HasSubstr("'step' "), ::testing::HasSubstr(", 'chat' ")));
}

TEST(TenantsInMemory, HaveTensorsAndOperandsInMemoriesThatTheyShare) {
  const Work tensors{"tensors",
                     "workload: {kind: graph, tensors: [{name: t, bytes: 100 kB}], vertices: ["
                     "{name: v, start: true, flops: 1 MFLOP, uses: [t]}]}\n"};
  const std::string first = tenant("first", "0-7", tensors.lines);
  const std::string second = tenant("second", "8-15", operators.lines);
  EXPECT_EQ(complaint_of(in_one_memory("90 kB", {second})), "");
  EXPECT_THAT(complaint_of(in_one_memory("110 kB", {first, second})),
              ::testing::HasSubstr("of tenants"));
}

// Rows of memory are nobody else's.
TEST(TenantsInMemory, HaveOperandsAtAddressesOfTheirOwn) {
  constexpr std::uint64_t unit = std::uint64_t{16} << 20U;
  const std::string step = tenant("step", "0-7", transformer.lines);
  const std::string other =
      tenant("other", "8-11", replaced(inference.lines, "data: 2", "data: 1"));
  const std::string chip = tenant("chip", "12-13", operators.lines);
  const std::string more = tenant("more", "14-15", operators.lines);
  const Experiment experiment = read(in_one_memory("1 GB", {more, step, other, chip}));
  const std::size_t operations = experiment.jobs[1].job->planned()->plan.operations.size();
  ASSERT_GT(operations, 0U);
  EXPECT_EQ(experiment.jobs[1].job->planned()->plan.first_operation, 0U);
  EXPECT_EQ(experiment.jobs[2].job->planned()->plan.first_operation, operations);
  // Behind programs, of which each tile has its own.
  const std::uint64_t first = experiment.jobs[0].job->first_address();
  EXPECT_GT(first, 0U);
  EXPECT_EQ(first % unit, 0U);
  EXPECT_EQ(experiment.jobs[3].job->first_address(), first + unit);

  Files files = in_one_memory("1 GB", {more, step, other, chip});
  std::string& text = files.at("lab/experiment.yaml");
  text = replaced(text, "{model: channel}", "{model: dram, preset: LPDDR5}");
  const trace::Summary summary = run_it(files);
  EXPECT_EQ(summary.status, "finished");
  EXPECT_EQ(run_it(files, 3).result_digest, summary.result_digest);

  const std::string more_requests =
      "workload: {kind: serving, tenants: [{language_model: {layers: 1, hidden: 32, heads: 4, "
      "sequence: 64, vocabulary: 50}, requests: {arrivals: closed, count: 1, prompt: 4, generate: "
      "1}}]}\n";
  const Experiment served = read(in_one_memory(
      "1 GB", {chip, tenant("a", "0-7", serving.lines), tenant("b", "8-9", more_requests)}));
  EXPECT_EQ(served.jobs[0].job->first_address(), 0U);
  EXPECT_EQ(served.jobs[1].job->first_address(), unit);
  EXPECT_GT(served.jobs[2].job->first_address(), unit);
}

}  // namespace
}  // namespace tessera::sim::tenants_memory_test
