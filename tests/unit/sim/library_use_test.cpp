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

// Of a plan on two servers of four accelerators each.
std::vector<std::string> notes_of(const std::string& strategy,
                                  const std::string& library = "nccl") {
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
           "  dram: {at: none}\n"
           "workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16,\n"
           "  vocabulary: 50, batch: 4}\n"
           "strategy: {tensor: 4, data: 2, " +
           strategy + "}\nrun: {trace: none}\n"}};
  const Experiment experiment = testing::read(files);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {}).notes;
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

}  // namespace
}  // namespace tessera::sim::library_use_test
