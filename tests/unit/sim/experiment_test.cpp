#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"

namespace tessera::sim::experiment_test {
namespace {

using ::testing::AllOf;
using testing::complaint_of;
using testing::edited;
using ::testing::ElementsAre;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::small_experiment;
using ::testing::StartsWith;

TEST(ReadExperiment, ReadsTheFilesItNames) {
  const Experiment experiment = read(small_experiment());
  EXPECT_EQ(experiment.name, "small");
  EXPECT_EQ(experiment.machine.topology->nodes(), 16U);
  EXPECT_EQ(experiment.planned()->workload.samples, 4U);
  EXPECT_EQ(experiment.plan().strategy.degrees.tiles(), 8U);
  EXPECT_EQ(experiment.options.iterations, 2U);
  EXPECT_EQ(experiment.options.trace, TraceLevel::none);
  EXPECT_EQ(experiment.options.partition, "auto");
  EXPECT_EQ(experiment.lookahead, SimTime::from_ps(1000));
  EXPECT_GT(experiment.ideal_time(), SimTime::zero());
}

TEST(ReadExperiment, TakesPartsInline) {
  Files files = small_experiment();
  files["lab/experiment.yaml"] =
      "machine: parts/machine.yaml\nworkload: parts/workload.yaml\nstrategy: {pipeline: 4}\n";
  const Experiment experiment = read(files);
  EXPECT_EQ(experiment.name, "experiment");
  EXPECT_EQ(experiment.plan().strategy.degrees.pipeline, 4U);
  EXPECT_EQ(experiment.options.trace, TraceLevel::summary);
}

TEST(ReadExperiment, OverridesValuesAndWholeParts) {
  Files files = small_experiment();
  files["other.yaml"] = "pipeline: 1\ndata: 4\n";
  const Experiment experiment =
      read(files, {"strategy.tensor=4", "strategy=other.yaml", "machine.topology.rows=5",
                   "run.iterations=7", "run.iterations=3"});
  EXPECT_EQ(experiment.plan().strategy.degrees.pipeline, 1U);
  EXPECT_EQ(experiment.plan().strategy.degrees.data, 4U);
  EXPECT_EQ(experiment.plan().strategy.degrees.tensor, 4U);
  EXPECT_EQ(experiment.machine.topology->nodes(), 20U);
  EXPECT_EQ(experiment.options.iterations, 3U);
}

TEST(ReadExperiment, TakesTilesFromAFile) {
  Files files = small_experiment();
  files["lab/parts/strategy.yaml"] =
      "pipeline: 2\ntensor: 2\ndata: 2\nplacement: {layout: given, tiles: tiles.csv}\n";
  files["lab/parts/tiles.csv"] =
      "# made by hand\nstage,tile\n0,1\n1,4-7\n0,0\r\n\n0,tile (2,1)\n0,10\n";
  const auto tiles = [](const Experiment& experiment) {
    std::vector<std::uint32_t> numbers;
    for (const EntityId tile : experiment.plan().placement.tiles()) {
      numbers.push_back(tile.value());
    }
    return numbers;
  };
  EXPECT_THAT(tiles(read(files)), ElementsAre(1, 0, 9, 10, 4, 5, 6, 7));
  // The resolved configuration holds the tiles themselves.
  Files resolved;
  resolved["lab/experiment.yaml"] = read(files).resolved;
  EXPECT_EQ(tiles(read(resolved)), tiles(read(files)));
  EXPECT_EQ(read(resolved).resolved, read(files).resolved);
  files["tiles.yaml"] = "- 12-15\n- [[0, 0, 2, 2]]\n";
  EXPECT_THAT(tiles(read(files, {"strategy.placement.tiles=tiles.yaml"})),
              ElementsAre(12, 13, 14, 15, 0, 1, 4, 5));
}

TEST(ReadExperiment, SaysWhatIsWrongInAFileOfTiles) {
  Files files = small_experiment();
  files["lab/parts/strategy.yaml"] =
      "pipeline: 2\ntensor: 2\ndata: 2\nplacement: {layout: given, tiles: tiles.csv}\n";
  EXPECT_THAT(complaint_of(files), HasSubstr("lab/parts/tiles.csv: no such file"));
  const auto complaint = [&](const std::string& text) {
    files["lab/parts/tiles.csv"] = text;
    return complaint_of(files);
  };
  EXPECT_EQ(complaint("0,1\n"), "lab/parts/tiles.csv:1:1: error: expected the head 'stage,tile'");
  EXPECT_THAT(complaint("stage,tile\n0,0-3\n1;4\n"),
              StartsWith("lab/parts/tiles.csv:3:1: error: expected STAGE,TILE"));
  EXPECT_THAT(complaint("stage,tile\n0,0-3\n1,4-6\n1,99\n"),
              StartsWith("lab/parts/tiles.csv:4:3: error: strategy.placement.tiles: stage 1: there "
                         "is no tile '99'"));
  EXPECT_THAT(complaint("stage,tile\n99999999,0\n"), HasSubstr("stage 99999999 is too high"));
}

TEST(ReadExperiment, TheResolvedConfigurationGivesTheSameAgain) {
  const Experiment first = read(small_experiment());
  Files files;
  files["lab/experiment.yaml"] = first.resolved;
  const Experiment second = read(files);
  EXPECT_EQ(second.resolved, first.resolved);
  EXPECT_EQ(second.configuration_hash(), first.configuration_hash());
  EXPECT_NE(read(small_experiment(), {"run.iterations=3"}).configuration_hash(),
            first.configuration_hash());
}

// Read without a word, and of no effect on anything.
TEST(ReadExperiment, SaysWhichKeysHaveNoEffect) {
  const auto says = [](const std::vector<std::string>& overrides, const std::string& note) {
    const Experiment experiment = read(small_experiment(), overrides);
    EXPECT_THAT(experiment.notes, ::testing::Contains(note));
    // A run that goes on reads every key, and says it again for those that were given.
    Files files;
    files["lab/experiment.yaml"] = experiment.resolved;
    EXPECT_EQ(read(files).notes, experiment.notes);
  };
  says({"machine.host={bandwidth: 10 GB/s, latency: 1 us}"},
       "machine.host has no effect with work that copies nothing to hosts (strategy.offload, or "
       "tiers and adapters of served models)");
  says({"machine.types={a: {sram: 1 MB}}"},
       "machine.types.a has no effect with no tile of this type");
  says({"execution={times: recorded}"},
       "execution.times has no effect with a plan, which has no recorded times");
  says({"execution={remote: {request: free}}"},
       "execution.remote.request has no effect with graphs that access no remote memory");
  says({"execution={collectives: {bandwidths: [1 GB/s, 2 GB/s]}}"},
       "execution.collectives.bandwidths has no effect with any order but themis");
  says({"execution={collectives: {other_algorithm: direct}}"},
       "execution.collectives.other_algorithm has no effect with communicators that all fill a box "
       "of the dimensions");
  for (const char* const way : {"execution={}", "run.trace=summary"}) {
    says({way, "strategy.software={host_waits: layers}"},
         "strategy.software.host_waits has no effect with a machine without hosts "
         "(machine.compute.issue)");
  }
  says({"machine.network={model: crossbar}",
        "machine.faults={links: [{from: 0, to: 1, bandwidth: 1 %}]}"},
       "machine.faults.links has no effect with a network without links (machine.network.model)");
  says({"strategy.sram=algorithm-1", "machine.tile.operands=dram",
        "machine.dram={at: each, "
        "bandwidth: 20 GB/s, latency: 50 ns}"},
       "strategy.sram has no effect with tiles that stream nothing into SRAM (tile.operands, "
       "tile.sram, dram)");
  says({"machine.faults={random: {seed: 2, share: 100 %, speed: 50 %}}"},
       "machine.faults.random.seed has no effect with a share of all nodes, or of none");
  says({"run.bin=1 us"}, "run.bin has no effect with trace: none");
  says({"run.bins=9"}, "run.bins has no effect with trace: none");
  for (const char* const network : {"analytical", "crossbar", "flow"}) {
    says({"run.trace=summary", "run.bins=9", "machine.memory.model=bandwidth",
          std::string("machine.network.model=") + network},
         "run.bins has no effect with network, memory and compute models that record nothing over "
         "time");
  }
  const std::string own =
      " has no effect with a memory with its own timing (machine.memory), except for estimates";
  says({"machine.memory={model: dram, preset: HBM2}"}, "machine.dram.latency" + own);
  says({"machine.memory={model: dram, preset: HBM2}"},
       "machine.dram.bandwidth" + own + " and for operands of tiles in DRAM");
}

// An array with a clock of its own takes neither the peak of its tile nor a share of it.
TEST(ReadExperiment, SaysWherePeaksAreNotWhatProductsTake) {
  const auto notes = [](const std::string& compute, const std::string& more = "run.bins=9") {
    return read(small_experiment(), {"run.trace=summary", "machine.compute={" + compute + "}",
                                     "machine.tile.peak={fp16: 300 GFLOP/s}", more})
        .notes;
  };
  const std::string half = "machine.tile.efficiency=0.5";
  const std::string unused =
      "machine.tile.efficiency has no effect with a compute model whose array has its own clock";
  const auto other_peak = [](const std::string& rate) {
    return "machine.tile.peak states 300 GFLOP/s for fp16, on which utilization is based; products "
           "run at the " +
           rate + " of the array at its clock (compute.macs_per_pe)";
  };
  const std::string clocked = "model: systolic, array: [8, 8], clock: 1 GHz";
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes(clocked), Notes{other_peak("128 GFLOP/s")});
  EXPECT_EQ(notes(clocked + ", macs_per_pe: {fp16: 2}"), Notes{other_peak("256 GFLOP/s")});
  EXPECT_EQ(notes("model: systolic, array: [10, 15], clock: 1 GHz"), Notes{});
  EXPECT_EQ(notes("model: systolic, array: [8, 8]", half), Notes{});
  EXPECT_EQ(notes(clocked, half),
            (Notes{unused + ", except for work without products", other_peak("128 GFLOP/s")}));
  EXPECT_EQ(notes(clocked + ", vector_peak: 1 GFLOP/s", half),
            (Notes{unused, other_peak("128 GFLOP/s")}));
  EXPECT_EQ(notes("model: npu, array: [8, 8], operands: sram", half),
            (Notes{unused, other_peak("128 GFLOP/s")}));
  // Types with the peak of `tile` say it once, and of where it stands.
  EXPECT_EQ(notes(clocked, "machine.types={a: {nodes: [0]}, b: {nodes: [1]}}"),
            Notes{other_peak("128 GFLOP/s")});
}

// Keys of compute models that the work or the machine leaves without effect; they were read without
// a word.
TEST(ReadExperiment, SaysWhichKeysOfComputeModelsHaveNoEffect) {
  const std::string unknown_rows =
      " has no effect with work whose rows are not known, as they are only for language models "
      "served by tiles";
  const std::string no_cache = " has no effect with no cache (tile.sram, with operands: dram)";
  const std::string alike =
      " has no effect with work whose sequences are all alike, as only those of requests differ";
  const std::string additions =
      " has no effect with operations of programs and graphs, whose work without a product is "
      "additions";
  const std::string others =
      " has no effect with any work but programs of plans, as only for these it is known how a "
      "collective proceeds";
  const auto says = [](const std::string& compute, const std::vector<std::string>& notes,
                       const std::string& more = "run.bins=9") {
    const Experiment experiment =
        read(small_experiment(), {"run.trace=summary", "machine.tile.peak={fp16: 32768 GFLOP/s}",
                                  "machine.compute={" + compute + "}", more});
    EXPECT_EQ(experiment.notes, notes) << compute;
    Files files;
    files["lab/experiment.yaml"] = experiment.resolved;
    EXPECT_EQ(read(files).notes, notes) << compute;
  };
  const std::string gemm = "model: gemm, units: 4, tiles: [16x16], ";
  const std::string path = "machine.compute.";
  says(gemm + "norm_row_bandwidth: 1 GB/s", {path + "norm_row_bandwidth" + unknown_rows});
  says(
      gemm + "vector_row_bandwidth: 1 GB/s, rotary_row_bandwidth: 2 GB/s",
      {path + "vector_row_bandwidth" + unknown_rows, path + "rotary_row_bandwidth" + unknown_rows});
  says(gemm + "lookup_serial_rows: 16, lookup_row_time: 1 us",
       {path + "lookup_serial_rows" + unknown_rows, path + "lookup_row_time" + unknown_rows});
  says(gemm + "vector_cache_bandwidth: 1 TB/s", {path + "vector_cache_bandwidth" + no_cache});
  const std::string attention = gemm + "attention_efficiency: 0.5, attention_rows: 64, ";
  says(attention + "attention_skip: 8",
       {path + "attention_rows" + alike, path + "attention_skip" + alike},
       "workload.attention=flash");
  const std::string unfused = " has no effect with work without fused (flash) attention";
  says(attention, {path + "attention_efficiency" + unfused, path + "attention_rows" + unfused});
  const std::string beside =
      gemm + "collective_units: 1, collective_accesses: 2, persistent_products: true";
  const std::string open =
      " has no effect with plans whose collectives all go message by message "
      "(strategy.aggregation: none)";
  const std::string waits = " has no effect with plans without collectives beside operations";
  says(beside, {path + "collective_units" + waits, path + "collective_accesses" + waits,
                path + "persistent_products" + waits});
  says(beside, {path + "collective_accesses" + open, path + "persistent_products" + open},
       "strategy.overlap_gradients=true");
  says(beside, {path + "collective_accesses" + others, path + "persistent_products" + others},
       "execution={}");
  const std::string hosts = gemm + "issue: 1 us";
  says(hosts, {}, "strategy.software.host_waits=layers");
  says("model: npu", {"machine.tile.sram has no effect with cores that load operands themselves "
                      "(machine.compute.operands: memory)"});
  const std::string npu = "model: npu, operands: sram, ";
  says(npu + "banks: 4", {path + "banks has no effect with scratchpad_word: 0 B"});
  says(npu + "banks: 4, scratchpad_word: 32 B", {});
  // The work is of fp16.
  const std::string narrow =
      path + "eight_bit_efficiency has no effect with work without products of fp8 and int8";
  const std::string array = "model: gemm, array: [16, 16], ";
  says(gemm + "eight_bit_efficiency: 0.5", {narrow});
  says(gemm + "matrix_efficiency: 0.5", {});
  const std::string no_int8 =
      path + "macs_per_pe.int8 has no effect with work without products of int8";
  for (const std::string& model : {array, npu, std::string("model: systolic, array: [8, 8], ")}) {
    says(model + "macs_per_pe: {int8: 2, fp16: 2, bf16: 1}", {no_int8},
         "machine.tile.peak={fp16: 65536 GFLOP/s}");
  }
  const std::string stepped = "model: systolic-cycle, array: [8, 8], ";
  says(stepped + "seed: 1", {});
  says(stepped + "seed: 2",
       {path + "seed has no effect with cycles, which do not depend on the data"});
  says(npu + "latencies: {add: 2, exp: 4, gelu: 8}",
       {path + "latencies.exp" + additions, path + "latencies.gelu" + additions});
}

// The resolved configuration states the default, which had been noted where the file had no sram.
TEST(ReadExperiment, SaysNothingOfSramThatNobodyStates) {
  const Experiment given =
      read(small_experiment(), {"run.trace=summary", "machine.compute={model: npu}",
                                "machine.tile={peak: {fp16: 1 TFLOP/s}}"});
  Files files;
  files["lab/experiment.yaml"] = given.resolved;
  const std::vector<std::string> again = read(files).notes;
  EXPECT_EQ(again, given.notes);
  EXPECT_THAT(again, ::testing::Each(::testing::Not(HasSubstr("machine.tile.sram"))));
}

TEST(ReadExperiment, SaysNothingOfKeysThatHaveAnEffect) {
  EXPECT_THAT(read(small_experiment(), {"run.trace=summary", "run.bins=9"}).notes,
              ::testing::IsEmpty());
  for (const char* const other : {"machine.network.model=packet", "machine.memory.model=channel",
                                  "machine.compute={model: npu}"}) {
    EXPECT_THAT(read(small_experiment(),
                     {"machine.network.model=analytical", "machine.memory.model=bandwidth",
                      "run.trace=summary", "run.bins=9", other})
                    .notes,
                ::testing::Each(::testing::Not(HasSubstr("run.bins"))));
  }
  EXPECT_THAT(read(small_experiment(), {"run.trace=summary"}).notes, ::testing::IsEmpty());
  EXPECT_THAT(read(small_experiment(), {"machine.host={bandwidth: 10 GB/s, latency: 1 us}",
                                        "strategy.offload={layers: 1}"})
                  .notes,
              ::testing::Each(::testing::Not(HasSubstr("machine.host"))));
  EXPECT_THAT(
      read(small_experiment(),
           {"run.trace=summary", "workload.data_type=fp8", "machine.tile.peak={fp8: 1 TFLOP/s}",
            "machine.compute={model: gemm, array: [16, 16], eight_bit_efficiency: 0.5, "
            "macs_per_pe: {fp8: 2}}"})
          .notes,
      ::testing::IsEmpty());
  EXPECT_THAT(
      read(small_experiment(),
           {"run.trace=summary", "machine.faults={random: {seed: 2, share: 50 %, speed: 50 %}}"})
          .notes,
      ::testing::IsEmpty());
  EXPECT_THAT(read(small_experiment(), {"run.trace=summary",
                                        "execution={collectives: {order: themis, "
                                        "bandwidths: [1 GB/s, 2 GB/s]}}"})
                  .notes,
              ::testing::IsEmpty());
}

// Keys of experts at their defaults had been refused, so that no run with experts could go on.
TEST(ReadExperiment, TheResolvedExpertsAreReadBack) {
  for (const std::string experts :
       {"{count: 4, top_k: 2}", "{count: 4, top_k: 2, room: dropped, loads: zipf, skew: 1.5}",
        "{count: 4, top_k: 2, room: unlimited, shares: [4, 2, 1, 1]}"}) {
    const Experiment first = read(edited("parts/workload.yaml", "optimizer: adam\n",
                                         "optimizer: adam\nexperts: " + experts + "\n"));
    Files files;
    files["lab/experiment.yaml"] = first.resolved;
    EXPECT_EQ(complaint_of(files), "") << experts;
    EXPECT_EQ(read(files).resolved, first.resolved) << experts;
  }
}

TEST(ReadExperiment, PointsAtTheMistakeInItsOwnFile) {
  EXPECT_THAT(complaint_of(edited("parts/machine.yaml", "rows", "rwos")),
              StartsWith("lab/parts/machine.yaml:1:"));
  EXPECT_THAT(complaint_of(edited("parts/machine.yaml", "sram:", "sramm:")),
              AllOf(StartsWith("lab/parts/machine.yaml:2:"), HasSubstr("did you mean 'sram'")));
  EXPECT_THAT(complaint_of(edited("parts/workload.yaml", "hidden: 32", "hidden: many")),
              StartsWith("lab/parts/workload.yaml:3:9:"));
  EXPECT_THAT(complaint_of(edited("parts/strategy.yaml", "data: 2", "data: 3")),
              AllOf(StartsWith("lab/parts/strategy.yaml:"), HasSubstr("not a multiple")));
  EXPECT_THAT(complaint_of(edited("experiment.yaml", "bins: 8", "bins: 0")),
              StartsWith("lab/experiment.yaml:5:"));
  EXPECT_THAT(complaint_of(edited("experiment.yaml", "trace: none", "trace: nine")),
              HasSubstr("did you mean 'none'"));
  EXPECT_THAT(complaint_of(edited("experiment.yaml", "run:", "runn:")),
              AllOf(StartsWith("lab/experiment.yaml:5:1:"), HasSubstr("did you mean 'run'")));
}

TEST(ReadExperiment, PointsAtAFileThatIsNotThere) {
  EXPECT_THAT(complaint_of(edited("experiment.yaml", "parts/workload", "parts/work")),
              AllOf(StartsWith("lab/experiment.yaml:3:11:"), HasSubstr("lab/parts/work.yaml")));
  EXPECT_THROW(read({}), ConfigError);
}

TEST(ReadExperiment, PointsAtOverridesToo) {
  EXPECT_THAT(complaint_of(small_experiment(), {"machine.topology.rows=none"}),
              StartsWith("--set machine.topology.rows=none:1:"));
  EXPECT_THAT(complaint_of(small_experiment(), {"strategy.pipelin=3"}),
              HasSubstr("did you mean 'pipeline'"));
}

TEST(ReadExperiment, NamesMissingParts) {
  Files files;
  files["lab/experiment.yaml"] = "name: x\n";
  EXPECT_THAT(complaint_of(files), HasSubstr("machine: missing"));
  files["lab/experiment.yaml"] = "";
  EXPECT_THAT(complaint_of(files), HasSubstr("the file is empty"));
}

TEST(ReadExperiment, PointsAtTheStrategyWhenThePlanDoesNotFit) {
  EXPECT_THAT(complaint_of(edited("experiment.yaml", "strategy: parts/strategy.yaml",
                                  "strategy: {pipeline: 2, placement: {group: [3, 1]}}")),
              AllOf(StartsWith("lab/experiment.yaml:4:"), HasSubstr("placement.group")));
}

TEST(ReadExperiment, NeedsAPeakForTheWorkloadsType) {
  EXPECT_THAT(complaint_of(edited("parts/machine.yaml", "fp16: 1 TFLOP/s", "int8: 1 TOPS")),
              AllOf(HasSubstr("computes in fp16"), HasSubstr("int8 only")));
}

}  // namespace
}  // namespace tessera::sim::experiment_test
