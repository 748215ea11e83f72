// Collectives of plans in the time that a library's model has for the machine's links.

#include <gtest/gtest.h>

#include <string>

#include "planning.hpp"

namespace tessera::plan::library_time_test {
namespace {

using testing::planned;
using testing::Planned;

// Servers of eight accelerators and NICs, behind one switch.
std::string servers(std::uint32_t count, const std::string& latency) {
  return "topology: {kind: cluster, nodes: " + std::to_string(count) +
         ", accelerators: 8, nics: 8, switch: {bandwidth: 350 GB/s, latency: 1 ns}, "
         "nic: {bandwidth: 60 GB/s, latency: " +
         latency + "}, port: {bandwidth: 35 GB/s, latency: " + latency +
         "}, fabric: {kind: switch}}\n"
         "tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\ndram: {at: none}\n";
}

// The same server alone, as a graph.
const std::string one_server =
    "topology: {kind: graph, nodes: [{name: gpu, count: 8}, {name: nvswitch, kind: switch}], "
    "links: [{from: gpu, to: nvswitch, bandwidth: 350 GB/s, latency: 1 ns}]}\n"
    "tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\ndram: {at: none}\n";

struct Reduction {
  SimTime time;
  double bytes = 0;
};

// Of the sum of gradients of a model of one large layer.
Reduction reduction(std::uint32_t count, const std::string& machine, bool nvls = false) {
  const std::string ranks = std::to_string(8 * count);
  collective::LibrarySettings library;
  library.library = collective::Library::nccl;
  library.device = collective::LibraryDevice::hopper;
  library.nvls = nvls;
  const Planned work = planned(
      "data: " + ranks + "\nmicro_batch: 1\naggregation: stage\ncapacity: ignore\n", machine,
      "kind: transformer\nlayers: 1\nhidden: 8192\nheads: 4\nsequence: 16\nvocabulary: 64\n"
      "batch: " +
          ranks + "\ndata_type: fp16\noptimizer: adam\n",
      {}, library);
  Reduction found;
  for (const auto& piece : work.plan.stages[0].program.pieces) {
    for (const Instruction& instruction : piece) {
      if (instruction.group == Group::data && instruction.action == Action::elapse) {
        found.time += SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
      }
    }
  }
  found.bytes = static_cast<double>(work.plan.stages[0].memory.gradients.count());
  return found;
}

// The latency of links, of which a ring's bytes hide much, takes nothing off what they take
// themselves: eight NICs of 35 GB/s carry them at most.
TEST(LibraryTime, RingsAreNeverFasterThanTheirLinks) {
  const Reduction far = reduction(64, servers(64, "3 us"));
  EXPECT_GT(static_cast<double>(far.time.ps()), 2 * 511.0 / 512 * far.bytes / 280 * 1e3);
  EXPECT_EQ(far.time, reduction(64, servers(64, "1 ns")).time);
}

// 9/8 of the vector at 85 % of the link, in place of 14/8 at all of it.
TEST(LibraryTime, SwitchesAddUpInAServer) {
  const Reduction ring = reduction(1, servers(1, "1 ns"));
  const Reduction switched = reduction(1, servers(1, "1 ns"), true);
  EXPECT_NEAR(static_cast<double>(ring.time.ps()), 1.75 * ring.bytes / 350 * 1e3 + 56e6, 1e5);
  EXPECT_NEAR(static_cast<double>(switched.time.ps()), 1.125 / 0.85 * ring.bytes / 350 * 1e3 + 25e6,
              1e5);
}

// Between servers too, whose rings have one channel of eight leave at each member.
TEST(LibraryTime, SwitchesOfSeveralServersHaveTheWholeVectorOnTheirLinks) {
  const Reduction switched = reduction(2, servers(2, "1 ns"), true);
  EXPECT_NEAR(static_cast<double>(switched.time.ps()),
              1.125 / 0.85 * switched.bytes / 350 * 1e3 + 53e6, 1e5);
}

}  // namespace
}  // namespace tessera::plan::library_time_test
