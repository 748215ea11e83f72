// Lower bounds of chips: no iteration is shorter, whatever their memory is.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::chip_ideal_test {
namespace {

testing::Files chip() {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 640 GB/s, latency: 5 ns}\n"
           "  dram: {at: edge, edges: [west], bandwidth: 100 MB/s, latency: 60 ns}\n"
           "  memory: {model: channel}\n"
           "  compute: {model: npu, array: [8, 8], vector_width: 64, scratchpad: 64 KiB, "
           "accumulator: 16 KiB}\n"
           "workload:\n"
           "  kind: operators\n"
           "  operators: [{kind: gemm, name: a, rows: 64, columns: 64, depth: 64}]\n"
           "run: {trace: none}\n"}};
}

trace::Summary run_chip(const std::vector<std::string>& overrides) {
  Experiment experiment = testing::read(chip(), overrides);
  const auto communicator = comm::make_in_process();
  return run_with_replay(experiment, *communicator, {});
}

TEST(ChipIdeal, NoIterationIsShorter) {
  const std::vector<std::string> memories{"{model: channel}", "{model: bandwidth}",
                                          "{model: dram, preset: LPDDR5}"};
  // Strides of 4 look at a sixteenth of the image.
  const std::vector<std::string> operators{
      "{kind: gemm, name: a, rows: 64, columns: 64, depth: 64}",
      "{kind: convolution, name: a, input: 56, channels: 32, outputs: 16, kernel: 1, stride: 4}",
      "{kind: convolution, name: a, input: 57, channels: 32, outputs: 8, kernel: 2, stride: 8, "
      "dilation: 3}",
      "{kind: pool, name: a, height: 30, width: 30, channels: 16, kernel: 1, stride: 3}",
      "{kind: embedding, name: a, tokens: 50, width: 64}",
      "{kind: softmax, name: a, rows: 30, columns: 400}"};
  for (const std::string& memory : memories) {
    for (const std::string& op : operators) {
      const trace::Summary summary =
          run_chip({"machine.memory=" + memory, "workload.operators=[" + op + "]"});
      EXPECT_LE(summary.ideal_time_ps, summary.iteration_time_ps) << memory << op;
    }
  }
}

// Four cores of 8 x 8 at the usual clock, where tiles have no peak of their own; else that.
TEST(ChipPeak, IsOfArraysOrOfTiles) {
  const trace::Summary of_arrays = run_chip({"machine.compute.clock=2 GHz"});
  EXPECT_DOUBLE_EQ(of_arrays.peak_flops_per_s, 4 * 8 * 8 * 2 * 2e9);
  EXPECT_LT(of_arrays.achieved_flops_per_s, of_arrays.peak_flops_per_s);
  EXPECT_DOUBLE_EQ(run_chip({"machine.tile.peak.fp16=1 TFLOP/s"}).peak_flops_per_s, 4e12);
}

// They were read without a word. What is noted changes nothing.
TEST(ChipKeys, LatenciesOfPassesThatOperatorsDoNotHaveAreNoted) {
  const auto of = [](const std::string& op, const std::string& latencies) {
    return run_chip(
        {"workload.operators=[" + op + "]", "machine.compute.latencies={" + latencies + "}"});
  };
  const auto noted = [&](const std::string& op) {
    std::string names;
    const std::string usual = run_chip({"workload.operators=[" + op + "]"}).result_digest;
    for (const std::string name :
         {"add", "mul", "exp", "div", "gelu", "tree", "scalar_mul", "scalar_sqrt"}) {
      const trace::Summary run = of(op, name + ": 900");
      const std::string note = "machine.compute.latencies." + name +
                               " has no effect with operators that have no such passes";
      const bool is_noted = std::ranges::find(run.notes, note) != run.notes.end();
      EXPECT_TRUE(!is_noted || run.result_digest == usual) << op << name;
      names += is_noted ? name + " " : "";
    }
    return names;
  };
  const std::string rows = ", rows: 64, columns: 256}";
  EXPECT_EQ(noted("{kind: softmax, name: a" + rows), "div gelu scalar_mul scalar_sqrt ");
  EXPECT_EQ(noted("{kind: elementwise, operation: gelu, name: a, elements: 16384}"),
            "add mul exp div tree scalar_mul scalar_sqrt ");
  EXPECT_EQ(noted("{kind: gemm, name: a, rows: 64, columns: 64, depth: 64}"),
            "add mul exp div gelu tree scalar_mul scalar_sqrt ");
  EXPECT_NE(of("{kind: softmax, name: a" + rows, "exp: 900").result_digest,
            of("{kind: softmax, name: a" + rows, "exp: 9").result_digest);
}

TEST(ChipKeys, TypesThatOperatorsDoNotHaveAreNoted) {
  const std::string key = "machine.compute.macs_per_pe={int8: 2}";
  const std::string note =
      "machine.compute.macs_per_pe.int8 has no effect with work without products of int8";
  const auto has_note = [&](const trace::Summary& run) {
    return std::ranges::find(run.notes, note) != run.notes.end();
  };
  const trace::Summary half = run_chip({key, "workload.data_type=fp16"});
  EXPECT_TRUE(has_note(half));
  EXPECT_EQ(half.result_digest, run_chip({"workload.data_type=fp16"}).result_digest);
  const trace::Summary narrow = run_chip({key, "workload.data_type=int8"});
  EXPECT_FALSE(has_note(narrow));
  EXPECT_NE(narrow.result_digest, run_chip({"workload.data_type=int8"}).result_digest);
}

TEST(ChipIdeal, OfChannelsIsTheirBandwidthAndOfDevicesTheirs) {
  const std::string product =
      "workload.operators=[{kind: gemm, name: a, rows: 64, columns: 64, "
      "depth: 64}]";
  // Three operands of 8 KiB over two channels.
  EXPECT_EQ(run_chip({product}).ideal_time_ps, 3 * 8192 * 10'000 / 2);
  const auto device = [&](const std::string& bandwidth) {
    return run_chip({product, "machine.memory={model: dram, preset: LPDDR5}",
                     "machine.dram.bandwidth=" + bandwidth});
  };
  const auto notes = [](const trace::Summary& summary) {
    return std::count_if(summary.notes.begin(), summary.notes.end(), [](const std::string& note) {
      return note.starts_with("machine.dram.bandwidth is ");
    });
  };
  const trace::Summary one = device("100 MB/s");
  const trace::Summary other = device("51.2 GB/s");
  EXPECT_EQ(one.ideal_time_ps, other.ideal_time_ps);
  EXPECT_EQ(one.simulated_time_ps, other.simulated_time_ps);
  EXPECT_EQ(notes(one), 1);
  EXPECT_EQ(notes(other), 0);
}

// What the first core says to the other three, and they to it.
TEST(ChipIdeal, CountsTheBytesOfItsMessages) {
  const trace::Summary summary = run_chip({"run.iterations=3"});
  EXPECT_EQ(summary.message_bytes, 3U * 3 * 2 * 64);
  EXPECT_EQ(summary.collective_bytes, 0U);
  EXPECT_TRUE(summary.peak_memory.empty());  // not known
  EXPECT_NE(trace::to_json(summary).find("\"peak_memory\": null"), std::string::npos);
}

}  // namespace
}  // namespace tessera::sim::chip_ideal_test
