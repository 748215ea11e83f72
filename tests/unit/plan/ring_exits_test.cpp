// Rings of replicas that leave their servers by way of the host.

#include <gtest/gtest.h>

#include <string>

#include "planning.hpp"

namespace tessera::plan::ring_exits_test {
namespace {

using testing::planned;
using testing::Planned;

// Servers of four accelerators and two NICs, behind one switch.
std::string servers(const std::string& port, const std::string& through_host) {
  return "topology: {kind: cluster, nodes: 4, accelerators: 4, nics: 2, "
         "switch: {bandwidth: 200 GB/s, latency: 1 ns}, nic: {bandwidth: 30 GB/s, latency: 1 ns" +
         through_host + "}, port: {bandwidth: " + port +
         ", latency: 1 ns}, fabric: {kind: switch}}\n"
         "tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\ndram: {at: none}\n";
}

// Of the sum of gradients.
std::uint64_t reduction(const std::string& degrees, const std::string& port,
                        const std::string& through_host = "") {
  const Planned work =
      planned(degrees + "micro_batch: 1\naggregation: stage\n", servers(port, through_host));
  std::uint64_t time = 0;
  for (const auto& piece : work.plan.stages[0].program.pieces) {
    for (const Instruction& instruction : piece) {
      time += instruction.group == Group::data && instruction.action == Action::elapse
                  ? instruction.bytes
                  : 0;
    }
  }
  return time;
}

const std::string host = ", through_host: 4 GB/s";

// Two replicas a server, each with a NIC of its own: as if all ports were as slow.
TEST(RingExits, MembersWithNicsOfTheirOwnGoThroughTheHost) {
  const std::string degrees = "tensor: 2\ndata: 8\n";
  EXPECT_EQ(reduction(degrees, "20 GB/s", host), reduction(degrees, "4 GB/s"));
  EXPECT_GT(reduction(degrees, "20 GB/s", host), reduction(degrees, "20 GB/s"));
  // A way through the host that is no slower changes nothing.
  EXPECT_EQ(reduction(degrees, "20 GB/s", ", through_host: 25 GB/s"),
            reduction(degrees, "20 GB/s"));
}

// All four accelerators, of which two share each NIC; or one, which comes in and leaves by its own.
TEST(RingExits, OthersLeaveByTheNicTheyCameInBy) {
  for (const char* const degrees : {"data: 16\n", "tensor: 4\ndata: 4\n"}) {
    EXPECT_EQ(reduction(degrees, "20 GB/s", host), reduction(degrees, "20 GB/s")) << degrees;
  }
}

}  // namespace
}  // namespace tessera::plan::ring_exits_test
