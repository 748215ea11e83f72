// Small work on large machines: what is known before a run costs no more than on small ones.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::large_machine_test {
namespace {

using testing::read;
using testing::small_experiment;

const std::vector<std::string> all_tiles_large{"machine.topology.rows=16383",
                                               "machine.topology.columns=16383"};

// Of 268 million tiles eight have work. A byte for each would be more than is allowed here.
TEST(LargeMachine, IsDescribedAndPredictedInLittleMemory) {
  constexpr std::uint64_t little = std::uint64_t{64} << 20;
  for (const std::string dram : {"edge", "each"}) {
    testing::Files files = small_experiment();
    if (dram == "each") {
      files = testing::edited("parts/machine.yaml", "at: edge, edges: [west]", "at: each");
    }
    const std::uint64_t before = peak_resident_bytes();
    const Experiment experiment = read(files, all_tiles_large);
    const CutChoice cut = choose_cut(experiment, 1, 1);
    const Forecast expected = forecast(experiment, cut.partition);
    const JobDescription job = experiment.jobs.front().job->describe(experiment);
    EXPECT_LT(peak_resident_bytes() - before, little) << dram;
    EXPECT_EQ(expected.links, std::uint64_t{4} * 16383 * 16382);
    EXPECT_EQ(cut.partition.members.front().size(), std::size_t{16383} * 16383);
    EXPECT_FALSE(job.tables.empty());
  }
}

// Tiles, capacity and routes of a plan are the same, wherever nodes are that it does not use.
TEST(LargeMachine, HasThePlanOfASmallOne) {
  const auto described = [](const std::vector<std::string>& sizes) {
    const Experiment experiment = read(small_experiment(), sizes);
    return experiment.jobs.front().job->describe(experiment).tables;
  };
  const std::string small = described({"machine.topology.rows=8", "machine.topology.columns=8"});
  EXPECT_EQ(described(all_tiles_large), small);
}

}  // namespace
}  // namespace tessera::sim::large_machine_test
