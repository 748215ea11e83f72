// A library of collectives is said to have no effect on those of a plan that it does not time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::library_use_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// On two servers of four accelerators each.
std::vector<std::string> notes_of_work(const std::string& work, const std::string& library,
                                       const std::string& compute = "") {
  const testing::Files files{
      {"lab/experiment.yaml",
       "machine:\n"
       "  topology: {kind: cluster, nodes: 2, accelerators: 4, nics: 4, "
       "switch: {bandwidth: 200 GB/s, latency: 1 ns}, nic: {bandwidth: 30 GB/s, latency: 1 ns}, "
       "port: {bandwidth: 20 GB/s, latency: 1 ns}, fabric: {kind: switch}}\n"
       "  network: {model: packet, routing: cluster, library: " +
           library +
           "}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\n"
           "  dram: {at: " +
           (compute.empty() ? "none}"
                            : "each, bandwidth: 10 GB/s, latency: 1 ns}\n  compute: " + compute) +
           "\nworkload: " + work + "\nrun: {trace: none}\n"}};
  const Experiment experiment = testing::read(files);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {}).notes;
}

// Of a plan.
std::vector<std::string> notes_of(const std::string& strategy,
                                  const std::string& library = "nccl") {
  return notes_of_work(
      "{kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, batch: "
      "4}\nstrategy: {" +
          std::string(strategy.starts_with("tensor") ? "" : "tensor: 4, data: 2, ") + strategy +
          "}",
      library);
}

const auto has_no_effect = HasSubstr("machine.network.library has no effect on ");

TEST(LibraryUse, SaysNothingWhereAllCollectivesAreRingsOfClosedForm) {
  EXPECT_THAT(notes_of("aggregation: stage"), Not(Contains(has_no_effect)));
  EXPECT_THAT(notes_of("aggregation: stage, collectives: {data: halving-doubling}", "none"),
              Not(Contains(has_no_effect)));
}

TEST(LibraryUse, NamesThoseThatAreNoRings) {
  EXPECT_THAT(notes_of("aggregation: stage, collectives: {data: halving-doubling}"),
              Contains(AllOf(has_no_effect, HasSubstr("(data)"), Not(HasSubstr("(tensor)")),
                             Not(HasSubstr("of this plan")))));
  EXPECT_THAT(notes_of("aggregation: stage, collectives: {data: halving-doubling, tensor: "
                       "halving-doubling}"),
              Contains(AllOf(has_no_effect, HasSubstr("of this plan"), HasSubstr("(data)"),
                             HasSubstr("(tensor)"))));
}

TEST(LibraryUse, NamesThoseThatAreSimulated) {
  EXPECT_THAT(notes_of("aggregation: tensor"),
              Contains(AllOf(has_no_effect, HasSubstr("(data)"), Not(HasSubstr("(tensor)")))));
}

TEST(LibraryUse, SaysOfWorkWithoutCollectives) {
  const std::string traffic =
      "{kind: traffic, pattern: uniform, rate: 0.1, cycles: 100, flit_size: 32 B, cycle: 1 ns}";
  const std::string operators =
      "{kind: operators, operators: [{kind: gemm, name: a, rows: 64, columns: 64, depth: 64}]}";
  const std::string cores =
      "{model: npu, array: [8, 8], vector_width: 64, scratchpad: 64 KiB, accumulator: 16 KiB}";
  const std::string note = "machine.network.library has no effect on ";
  EXPECT_THAT(notes_of_work(traffic, "nccl"), Contains(note + "synthetic traffic"));
  EXPECT_THAT(notes_of_work(traffic, "none"), Not(Contains(has_no_effect)));
  EXPECT_THAT(notes_of_work(operators, "nccl", cores), Contains(note + "operators on a chip"));
  EXPECT_THAT(notes_of_work(operators, "none", cores), Not(Contains(has_no_effect)));
}

TEST(LibraryUse, NamesWhatElseHasNoEffectWhereItTimesNothing) {
  const std::string hopper = "nccl, nvswitch_generation: 3";
  const auto nor = HasSubstr("; nor ha");
  EXPECT_THAT(notes_of("aggregation: none", hopper),
              Contains(AllOf(has_no_effect, HasSubstr("; nor has nvswitch_generation"))));
  EXPECT_THAT(notes_of("aggregation: none", hopper + ", nvls: false"),
              Contains(AllOf(has_no_effect, HasSubstr("; nor have nvswitch_generation and nvls"))));
  EXPECT_THAT(notes_of("aggregation: stage, collectives: {data: halving-doubling, tensor: "
                       "halving-doubling}",
                       hopper),
              Contains(AllOf(has_no_effect, nor)));
  EXPECT_THAT(notes_of("aggregation: none"), Not(Contains(nor)));
  EXPECT_THAT(notes_of("aggregation: tensor", hopper), Not(Contains(nor)));
}

TEST(LibraryUse, HasNoneInPlansWithoutCollectives) {
  const std::string alone = "machine.network.library has no effect on a plan without collectives";
  EXPECT_THAT(notes_of("tensor: 1, data: 1, pipeline: 1, aggregation: stage"), Contains(alone));
  EXPECT_THAT(notes_of("tensor: 1, data: 1, pipeline: 1"), Contains(alone));
}

TEST(LibraryUse, SaysThatGroupsOfOneAreNotAggregated) {
  const auto note = "strategy.aggregation has no effect with groups of one tile";
  EXPECT_THAT(notes_of("tensor: 1, data: 1, pipeline: 2, aggregation: stage"), Contains(note));
  EXPECT_THAT(notes_of("aggregation: stage"), Not(Contains(note)));
}

}  // namespace
}  // namespace tessera::sim::library_use_test
