// Collectives of graphs by the algorithm that a library chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::library_choice_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

trace::Summary run_of(std::uint32_t servers, std::uint32_t accelerators, const std::string& size,
                      const std::string& network, const std::string& execution = "") {
  const std::string each = std::to_string(accelerators);
  const testing::Files files{
      {"lab/experiment.yaml",
       "machine:\n"
       "  topology: {kind: cluster, nodes: " +
           std::to_string(servers) + ", accelerators: " + each + ", nics: " + each +
           ", switch: {bandwidth: 400 GB/s, latency: 100 ns}, "
           "nic: {bandwidth: 60 GB/s, latency: 1 us}, port: {bandwidth: 50 GB/s, latency: 1 us}, "
           "fabric: {kind: switch}}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\n"
           "  dram: {at: none}\n"
           "  network: {model: packet, routing: cluster" +
           network +
           "}\n"
           "workload: {kind: collective, collective: all-reduce, size: " +
           size + "}\n" + execution + "run: {trace: none}\n"}};
  const Experiment experiment = testing::read(files);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {});
}

std::int64_t time_of(std::uint32_t servers, std::uint32_t accelerators, const std::string& size,
                     const std::string& network, const std::string& execution = "") {
  return run_of(servers, accelerators, size, network, execution).simulated_time_ps;
}

const std::string nccl = ", library: nccl";
const std::string hopper = ", library: nccl, nvswitch_generation: 3";

// 25 us, and 9/8 of 800 MB at 85 % of 400 GB/s.
TEST(LibraryChoice, SwitchesThatAddUpTakeTheTimeOfTheModel) {
  EXPECT_NEAR(static_cast<double>(time_of(1, 8, "800 MB", hopper)),
              25e6 + 1.125 * 800e6 / 0.85 / 400 * 1e3, 10);
  EXPECT_EQ(time_of(1, 8, "800 MB", hopper + ", nvls: false"), time_of(1, 8, "800 MB", ""));
}

// 25 us and a tree's 2 log2 2 steps of 14 us, and 9/8 of 800 MB in the servers. What the barrier
// takes is part of it, which crosses between servers twice in its four steps.
TEST(LibraryChoice, SwitchesOfSeveralServersTakeTheTimeOfTheModel) {
  EXPECT_NEAR(static_cast<double>(time_of(2, 8, "800 MB", hopper)),
              25e6 + 2 * 14e6 + 1.125 * 800e6 / 0.85 / 400 * 1e3, 10);
}

// A kilobyte over many servers goes by a tree, a gigabyte by rings, whatever is named.
TEST(LibraryChoice, SizeDecidesBetweenRingAndTree) {
  const std::string tree = "execution: {collectives: {algorithms: [ring, double-binary-tree]}}\n";
  const std::string named =
      "execution: {collectives: {algorithms: [halving-doubling, halving-doubling]}}\n";
  EXPECT_EQ(time_of(32, 2, "1 kB", nccl), time_of(32, 2, "1 kB", "", tree));
  EXPECT_EQ(time_of(32, 2, "1 kB", nccl, named), time_of(32, 2, "1 kB", "", tree));
  EXPECT_LT(time_of(32, 2, "1 kB", nccl), time_of(32, 2, "1 kB", ""));
  EXPECT_EQ(time_of(4, 2, "1 GB", nccl, named), time_of(4, 2, "1 GB", ""));
}

TEST(LibraryChoice, SaysWhatOfTheLibraryIsSimulated) {
  const auto note = Contains(HasSubstr("machine.network.library chooses"));
  EXPECT_THAT(run_of(1, 8, "1 MB", nccl).notes, note);
  EXPECT_THAT(run_of(1, 8, "1 MB", "").notes, Not(note));
}

}  // namespace
}  // namespace tessera::sim::library_choice_test
