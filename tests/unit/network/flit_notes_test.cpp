// What the network of flits tells of what it rounds and of too few buffers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.hpp"

namespace tessera::network::flit_notes_test {
namespace {

using testing::Described;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mesh;
using testing::network_of;

std::vector<std::string> notes(const std::string& bandwidth, const std::string& latency,
                               const std::string& keys) {
  const Described described =
      network_of(mesh(2, 2, bandwidth, latency), "model: flit, flit_size: 32 B, " + keys);
  return described.network->notes(described.machine);
}

// Of more than one part in a hundred.
TEST(FlitNotes, TellOfWholeCycles) {
  EXPECT_THAT(notes("32 GB/s", "2 ns", "buffer: 64"), IsEmpty());
  EXPECT_THAT(notes("32 GB/s", "1500 ps", "buffer: 64"),
              ElementsAre(HasSubstr("have a latency of 2 ns, rounded up to whole cycles of 1 ns, "
                                    "instead of 1.5 ns (machine.network.flit_size)")));
  EXPECT_THAT(notes("32 GB/s", "99010 ps", "buffer: 255, virtual_channels: 1"), IsEmpty());
  EXPECT_THAT(notes("32 GB/s", "99009 ps", "buffer: 255, virtual_channels: 1")[0],
              HasSubstr("have a latency of 100 ns"));
}

TEST(FlitNotes, TellOfWholePicoseconds) {
  // 32 B in 3.2 ps.
  EXPECT_THAT(
      notes("10 TB/s", "4 ns", "buffer: 255")[0],
      HasSubstr(
          "a cycle takes 4 ps, rounded up to whole picoseconds: all links carry 80 % of their "
          "bandwidth"));
  EXPECT_THAT(notes("8 TB/s", "80 ps", "buffer: 255"), IsEmpty());
  EXPECT_THAT(notes("320 GB/s", "1 ns", "buffer: 255"), IsEmpty());
  EXPECT_THAT(notes("317 GB/s", "101 ps", "buffer: 255"), IsEmpty()) << "100.9 ps";
  EXPECT_THAT(notes("316 GB/s", "1020 ps", "buffer: 255"), IsEmpty());
}

TEST(FlitNotes, TellOfFewBuffers) {
  // Eight cycles over the link and ten through routers and back.
  EXPECT_THAT(notes("32 GB/s", "8 ns", "buffer: 4, virtual_channels: 2"),
              ElementsAre("links of class 'link' have 18 flits in a round trip, but a virtual "
                          "channel has 4 buffers: one stream gets at most 22 % of the bandwidth, "
                          "all virtual channels together 44 % (machine.network.buffer)"));
  EXPECT_THAT(
      notes("32 GB/s", "8 ns", "buffer: 17, virtual_channels: 2"),
      ElementsAre(HasSubstr("at most 94 % of the bandwidth, all virtual channels together 100 %")));
  EXPECT_THAT(notes("32 GB/s", "8 ns", "buffer: 18, virtual_channels: 1"), IsEmpty());
}

}  // namespace
}  // namespace tessera::network::flit_notes_test
