// What a run holds: as its plan has it, on any number of ranks, and in what is left out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::memory_run_test {
namespace {

using ::testing::Contains;
using ::testing::Not;
using testing::read;
using testing::small_experiment;

trace::Summary run_one(const std::vector<std::string>& overrides) {
  Experiment experiment = read(small_experiment(), overrides);
  const auto communicator = comm::make_in_process();
  return run_with_replay(experiment, *communicator, {});
}

void expect_equal(const std::vector<trace::PeakMemory>& one,
                  const std::vector<trace::PeakMemory>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t stage = 0; stage < one.size(); ++stage) {
    EXPECT_EQ(one[stage].bytes, other[stage].bytes) << stage;
    EXPECT_EQ(one[stage].parts, other[stage].parts) << stage;
    EXPECT_EQ(one[stage].phase, other[stage].phase) << stage;
    EXPECT_EQ(one[stage].micro_batch, other[stage].micro_batch) << stage;
    EXPECT_EQ(one[stage].chunk, other[stage].chunk) << stage;
  }
}

TEST(RunMemory, PeaksAreThoseOfThePlan) {
  for (const std::string schedule : {"gpipe", "1f1b", "zb-h1", "zb-v", "dualpipe-v", "dualpipe"}) {
    std::vector<std::string> settings{"strategy.schedule=" + schedule};
    if (schedule.ends_with("-v") || schedule == "dualpipe") {
      settings.insert(settings.end(), {"strategy.chunks=2", "workload.batch=16"});
    }
    const Experiment experiment = read(small_experiment(), settings);
    const trace::Summary summary = run_one(settings);
    ASSERT_EQ(summary.peak_memory.size(), experiment.plan().stages.size());
    for (std::size_t stage = 0; stage < summary.peak_memory.size(); ++stage) {
      const plan::MemoryUse& planned = experiment.plan().stages[stage].memory.peak;
      const trace::PeakMemory& peak = summary.peak_memory[stage];
      EXPECT_EQ(peak.bytes, planned.total().count()) << schedule << ", " << stage;
      EXPECT_EQ(peak.name, "stage " + std::to_string(stage));
      std::uint64_t sum = 0;
      for (const auto& [part, bytes] : peak.parts) {
        sum += bytes;
      }
      EXPECT_EQ(sum, peak.bytes);
    }
  }
}

TEST(RunMemory, DoesNotDependOnTheNumberOfRanks) {
  const trace::Summary expected = run_one({});
  const Experiment experiment = read(small_experiment());
  for (int ranks = 2; ranks <= 4; ++ranks) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      const trace::Summary summary = run(experiment, communicator, {});
      expect_equal(summary.peak_memory, expected.peak_memory);
    });
  }
}

TEST(RunMemory, OfMicroBatchesThatAreNotSimulatedCounts) {
  for (const char* const schedule : {"1f1b", "zb-h1"}) {
    std::vector<std::string> settings{"workload.batch=256", "machine.network.model=analytical",
                                      "machine.memory.model=bandwidth", "strategy.capacity=ignore",
                                      std::string("strategy.schedule=") + schedule};
    const trace::Summary whole = run_one(settings);
    settings.emplace_back("run.replay=exact");
    const trace::Summary replayed = run_one(settings);
    EXPECT_GT(replayed.replayed_micro_batches, 0U) << schedule;
    expect_equal(replayed.peak_memory, whole.peak_memory);
  }
}

TEST(RunMemory, GoesThroughTheSummarysFile) {
  const trace::Summary summary = run_one({});
  const std::string path = ::testing::TempDir() + "/tessera_memory_summary.json";
  std::ofstream(path) << trace::to_json(summary);
  expect_equal(trace::read_summary(path).peak_memory, summary.peak_memory);
}

// Models of a memory that nothing is read from or written to were read without a word.
TEST(RunMemory, SaysThatNothingAccessesIt) {
  const std::string note = "machine.memory has no effect with work that accesses no memory";
  for (const char* const memory : {"{model: bandwidth}", "{burst: 1 KiB}", "{arbitration: fair}",
                                   "{model: dram, preset: HBM2}"}) {
    const std::string key = std::string("machine.memory=") + memory;
    const trace::Summary resident = run_one({"machine.tile.sram=1 GB", key});
    EXPECT_THAT(resident.notes, Contains(note)) << memory;
    EXPECT_EQ(resident.memory_read_bytes, 0U);
    EXPECT_EQ(resident.result_digest, run_one({"machine.tile.sram=1 GB"}).result_digest) << memory;
    EXPECT_THAT(run_one({"machine.tile.sram=10 kB", key}).notes, Not(Contains(note))) << memory;
  }
  EXPECT_THAT(run_one({"machine.tile.sram=1 GB", "machine.memory={burst: 64 KiB}"}).notes,
              Not(Contains(note)));
  EXPECT_NE(run_one({"machine.tile.sram=10 kB", "machine.memory={model: bandwidth}"}).result_digest,
            run_one({"machine.tile.sram=10 kB"}).result_digest);
}

// Two tiles of one stage, with operands in DRAM; `cores` of them are NPU cores.
trace::Summary run_at_operands(const std::string& cores, const std::string& where,
                               const std::vector<std::string>& overrides = {}) {
  const std::string types =
      cores.empty() ? ""
                    : "  types: {t: {nodes: [" + cores +
                          "], compute: {model: npu, array: [16, 16], vector_width: 64, scratchpad: "
                          "256 KiB, accumulator: 64 KiB, operands: " +
                          where + "}}}\n";
  const Experiment experiment = read(
      {{"lab/experiment.yaml",
        "machine:\n"
        "  topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 100 GB/s, latency: 10 ns}\n"
        "  tile: {peak: {fp16: 512 GFLOP/s}, operands: dram}\n"
        "  dram: {at: each, bandwidth: 100 GB/s, latency: 10 ns}\n"
        "  power: {memory: 1000}\n" +
            types +
            "workload: {kind: layers, mode: inference, data_type: fp16, batch: 128, input: [256], "
            "layers: [{kind: linear, name: l, outputs: 256, bias: false}]}\n"
            "strategy: {pipeline: 1, tensor: 1, data: 2, micro_batch: 64}\n"
            "run: {trace: none}\n"}},
      overrides);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {});
}

// The first tile of a stage stood for all of them.
TEST(RunMemory, BytesOfOperandsInDramAreOfEachTileOfAStage) {
  constexpr double of_tile = 2 * (64 * 256 + 256 * 256 + 64 * 256);
  EXPECT_DOUBLE_EQ(*run_at_operands("", "").memory_bytes, 2 * of_tile);
  const double of_cores = *run_at_operands("0, 1", "memory").memory_bytes;
  EXPECT_GT(of_cores, 2 * of_tile);
  for (const char* const core : {"0", "1"}) {
    const trace::Summary mixed = run_at_operands(core, "memory");
    EXPECT_DOUBLE_EQ(*mixed.memory_bytes, of_tile + of_cores / 2) << core;
    EXPECT_DOUBLE_EQ(mixed.power_w_per_tile, run_at_operands("0", "memory").power_w_per_tile);
  }
}

// Cores whose operands are in the tile's SRAM, which are in DRAM on such tiles, moved none of them.
TEST(RunMemory, BytesOfOperandsInDramAreThoseOfCoresToo) {
  const double expected = *run_at_operands("", "").memory_bytes;
  for (const char* const cores : {"0", "1", "0, 1"}) {
    const trace::Summary summary = run_at_operands(cores, "sram");
    EXPECT_DOUBLE_EQ(*summary.memory_bytes, expected) << cores;
    EXPECT_GT(summary.power_w_per_tile, 0) << cores;
  }
}

// Cores that access memory themselves go by the device, not by the rate that operands would have.
TEST(RunEnergy, OfMemoriesThatCoresAccessIsOfWhatTheseMoveAtBest) {
  const std::string device = "machine.memory={model: dram, preset: HBM2}";
  const trace::Summary summary = run_at_operands("0, 1", "memory", {device});
  const trace::Summary inert =
      run_at_operands("0, 1", "memory", {device, "machine.tile.operands=sram"});
  EXPECT_EQ(summary.simulated_time_ps, inert.simulated_time_ps);
  EXPECT_DOUBLE_EQ(*summary.memory_bytes, *inert.memory_bytes);
  EXPECT_LT(inert.power_w_per_tile, 1000);
  EXPECT_DOUBLE_EQ(summary.power_w_per_tile, inert.power_w_per_tile);
}

TEST(RunEnergy, FollowsFromWhatDevicesDraw) {
  const trace::Summary none = run_one({});
  EXPECT_EQ(none.energy_j_per_iteration, 0);
  const trace::Summary idle = run_one({"machine.power={idle: 100, host: 50}"});
  EXPECT_EQ(idle.result_digest, none.result_digest);
  EXPECT_DOUBLE_EQ(idle.power_w_per_tile, 150);
  EXPECT_NEAR(
      idle.energy_j_per_iteration,
      150.0 * static_cast<double>(idle.tiles) * static_cast<double>(idle.iteration_time_ps) * 1e-12,
      1e-9 * idle.energy_j_per_iteration);
  const trace::Summary busy = run_one({"machine.power={idle: 100, compute: 400, link: 30}"});
  EXPECT_GT(busy.power_w_per_tile, 100);
  EXPECT_LT(busy.power_w_per_tile, 500);
}

TEST(RunStragglers, AreTheSameOnAnyNumberOfRanks) {
  const std::vector<std::string> slow{
      "machine.faults={random: {share: 30 %, speed: 50 %, seed: 3}}"};
  const trace::Summary expected = run_one(slow);
  EXPECT_NE(expected.result_digest, run_one({}).result_digest);
  const Experiment experiment = read(small_experiment(), slow);
  EXPECT_FALSE(experiment.machine.speeds.empty());
  for (int ranks = 2; ranks <= 4; ++ranks) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      EXPECT_EQ(run(experiment, communicator, {}).result_digest, expected.result_digest) << ranks;
    });
  }
}

}  // namespace
}  // namespace tessera::sim::memory_run_test
