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

// Clang says by features what GCC says by macros.
#if !defined(__has_feature)
#define TESSERA_HAS_FEATURE(name) 0
#else
#define TESSERA_HAS_FEATURE(name) __has_feature(name)
#endif
#if defined(__SANITIZE_THREAD__) || TESSERA_HAS_FEATURE(thread_sanitizer)
constexpr std::uint64_t with_shadows = 5;  // ThreadSanitizer has four bytes for each
#elif defined(__SANITIZE_ADDRESS__) || TESSERA_HAS_FEATURE(address_sanitizer)
constexpr std::uint64_t with_shadows = 2;  // and AddressSanitizer keeps what was freed
#else
constexpr std::uint64_t with_shadows = 1;
#endif

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

// A link that is slow makes no table of all routes to a tile.
TEST(LargeMachine, HasSlowLinks) {
  constexpr std::uint64_t little = std::uint64_t{64} << 20;
  std::vector<std::string> settings = all_tiles_large;
  settings.emplace_back("machine.faults.links=[{from: 0, to: 1, bandwidth: 50 %}]");
  const std::uint64_t before = peak_resident_bytes();
  const Experiment large = read(small_experiment(), settings);
  const std::string tables = large.jobs.front().job->describe(large).tables;
  EXPECT_LT(peak_resident_bytes() - before, little);
  settings[0] = "machine.topology.rows=8";
  settings[1] = "machine.topology.columns=8";
  const Experiment small = read(small_experiment(), settings);
  EXPECT_EQ(tables, small.jobs.front().job->describe(small).tables);
}

// Routes go around a dead link, and channels at the edge are searched around it.
TEST(LargeMachine, HasDeadLinks) {
  constexpr std::uint64_t little = std::uint64_t{64} << 20;
  std::vector<std::string> settings = all_tiles_large;
  settings.emplace_back("machine.faults.links=[{from: 0, to: 1, dead: true}]");
  const std::uint64_t before = peak_resident_bytes();
  const Experiment large = read(small_experiment(), settings);
  const std::string tables = large.jobs.front().job->describe(large).tables;
  EXPECT_EQ(forecast(large, 1).links, std::uint64_t{4} * 16383 * 16382 - 2);
  EXPECT_LT(peak_resident_bytes() - before, little);
  settings[0] = "machine.topology.rows=8";
  settings[1] = "machine.topology.columns=8";
  const Experiment small = read(small_experiment(), settings);
  EXPECT_EQ(tables, small.jobs.front().job->describe(small).tables);
}

// NPUs have numbers, and nothing more unless the plan has work for them.
TEST(LargeMachine, HasPlansAsGraphs) {
  constexpr std::uint64_t side = 2000;
  constexpr std::uint64_t bytes_a_node = 24;
  const std::string text = std::to_string(side);
  const std::uint64_t before = peak_resident_bytes();
  const Experiment experiment =
      read(small_experiment(), {"machine.topology.rows=" + text, "machine.topology.columns=" + text,
                                "execution={}", "run.iterations=50000"});
  for (const int ranks : {1, 2}) {
    EXPECT_GT(forecast(experiment, choose_cut(experiment, ranks, ranks).partition).instructions,
              0U);
  }
  EXPECT_EQ(cut_for(experiment, 2).partition.owner.size(), side * side);
  EXPECT_LT(peak_resident_bytes() - before, side * side * bytes_a_node * with_shadows);
}

// Of 50 000 iterations, which are worth a cut: lists for all nodes would take gigabytes.
TEST(LargeMachine, IsCutOverRanksInLittleMemory) {
  constexpr std::uint64_t little = std::uint64_t{128} << 20;
  for (const std::string dram : {"edge", "each"}) {
    testing::Files files = small_experiment();
    if (dram == "each") {
      files = testing::edited("parts/machine.yaml", "at: edge, edges: [west]", "at: each");
    }
    std::vector<std::string> settings = all_tiles_large;
    settings.emplace_back("run.iterations=50000");
    const std::uint64_t before = peak_resident_bytes();
    const Experiment experiment = read(files, settings);
    for (const CutChoice& cut : {choose_cut(experiment, 2, 2), cut_for(experiment, 2)}) {
      EXPECT_GT(forecast(experiment, cut.partition).largest_bytes, 0U);
    }
    EXPECT_EQ(predict_cuts(experiment, 2).size(), 6U) << dram;
    EXPECT_LT(peak_resident_bytes() - before, little) << dram;
  }
}

// Over a machine of more than a million nodes.
TEST(LargeMachine, IsCutAsASmallOneWhereWorkIs) {
  const auto owners = [](std::uint32_t side, const std::string& name) {
    const std::string text = std::to_string(side);
    const Experiment experiment =
        read(small_experiment(), {"machine.topology.rows=" + text,
                                  "machine.topology.columns=" + text, "run.partition=" + name});
    const machine::Owners owner = cut_for(experiment, 2).partition.owner;
    EXPECT_EQ(owner.size(), std::size_t{side} * side);
    std::vector<std::uint32_t> found;
    for (std::uint32_t row = 0; row < 20; ++row) {
      for (std::uint32_t column = 0; column < 20; ++column) {
        found.push_back(owner[row * side + column]);
      }
    }
    return found;
  };
  for (const std::string name : {"replicas", "stages", "groups"}) {
    EXPECT_EQ(owners(1100, name), owners(20, name)) << name;
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
