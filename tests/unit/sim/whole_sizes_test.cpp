// Sizes that are no whole number of what they are made of: what a run has in their place is noted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"

namespace tessera::sim::whole_sizes_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read;

using Settings = std::vector<std::string>;

std::vector<std::string> notes_of(const Settings& settings) {
  const Files files{
      {"lab/experiment.yaml",
       "machine:\n"
       "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 32 GB/s, latency: 10 ns}\n"
       "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
       "  dram: {at: each, bandwidth: 32 GB/s, latency: 1 ns}\n"
       "workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, vocabulary: "
       "50, batch: 4}\nstrategy: {data: 4}\nrun: {trace: none}\n"}};
  return testing::run_on(1, read(files, settings)).notes;
}

TEST(WholeSizes, PacketsOfFlits) {
  const auto packets = [](const std::string& size) {
    return notes_of({"machine.network={model: flit, packet_size: " + size + "}"});
  };
  EXPECT_THAT(packets("500 B"),
              Contains("machine.network.packet_size: packets have 16 flits, 512 B"));
  EXPECT_THAT(packets("1 B"), Contains("machine.network.packet_size: packets have 2 flits, 64 B"));
  EXPECT_THAT(packets("512 B"), Each(Not(HasSubstr("packet_size"))));
}

// A flit of 32 B takes a nanosecond.
TEST(WholeSizes, CyclesOfFlits) {
  const auto notes = [](const std::string& latency, const std::string& flits) {
    return notes_of(
        {"machine.topology.latency=" + latency,
         "machine.network={model: flit, packet_size: 4 KiB, flit_size: " + flits + "}"});
  };
  EXPECT_THAT(
      notes("1500 ps", "32 B"),
      Contains(HasSubstr(
          "have a latency of 2 ns, rounded up to whole cycles of 1 ns, instead of 1.5 ns")));
  EXPECT_THAT(notes("2 ns", "32 B"), Each(Not(HasSubstr("whole cycles"))));
  const auto fast = [](const std::string& bandwidth) {
    return notes_of({"machine.topology.bandwidth=" + bandwidth, "machine.network={model: flit}"});
  };
  EXPECT_THAT(fast("10 TB/s"),
              Contains(HasSubstr("whole picoseconds: all links carry 80 % of their bandwidth")));
  EXPECT_THAT(fast("8 TB/s"), Each(Not(HasSubstr("whole picoseconds"))));
}

TEST(WholeSizes, PacketsThatSlowLinksCannotTakeWhole) {
  const auto packets = [](const std::string& network, const std::string& size) {
    return notes_of({"machine.topology.bandwidth=1 MB/s",
                     "machine.network={model: " + network + ", packet_size: " + size + "}"});
  };
  for (const std::string network : {"packet", "crossbar, port_bandwidth: 1 MB/s"}) {
    EXPECT_THAT(packets(network, "1 MB"), Contains("machine.network.packet_size: packets have 4294 "
                                                   "B, the largest that the slowest link allows"));
    EXPECT_THAT(packets(network, "4 kB"), Each(Not(HasSubstr("packet_size"))));
  }
}

TEST(WholeSizes, WindowsOfTransfers) {
  const auto window = [](const std::string& size) {
    return notes_of({"machine.memory={model: dram, transfer: 4 KiB, window: " + size + "}"});
  };
  EXPECT_THAT(
      window("11 KiB"),
      Contains("machine.memory.window: a tile has only whole transfers in flight, 8192 B at most"));
  EXPECT_THAT(window("12 KiB"), Each(Not(HasSubstr("whole transfers"))));
}

TEST(WholeSizes, PiecesOfLines) {
  const auto piece = [](const std::string& size) {
    return notes_of({"machine.coherence={line: 64 B, piece: " + size + "}"});
  };
  EXPECT_THAT(piece("100 B"),
              Contains("machine.coherence.piece: messages request whole lines, 64 B at most"));
  EXPECT_THAT(piece("128 B"), Each(Not(HasSubstr("whole lines"))));
}

// A token has 256 B of keys and values.
TEST(WholeSizes, CachesOfBlocks) {
  const auto cache = [](const std::string& size) {
    const Files files{
        {"lab/experiment.yaml",
         "machine:\n"
         "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 64 GB/s, latency: 10 ns}\n"
         "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
         "  dram: {at: edge, edges: [west], bandwidth: 32 GB/s, latency: 100 ns, capacity: 1 MiB}\n"
         "  compute: {model: npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, "
         "accumulator: "
         "16 KiB}\n"
         "run: {trace: none}\nworkload:\n  kind: serving\n  npu_cores: 2\n  tenants:\n"
         "    - name: chat\n      replicas: 2\n      language_model: {layers: 2, hidden: 32, "
         "heads: "
         "4, sequence: 64, vocabulary: 50}\n      batching: {chunk: 8, block: 4, cache: " +
             size +
             "}\n      requests: {arrivals: closed, clients: 3, count: 5, prompt: 20, generate: "
             "6}\n"}};
    return read(files).notes;
  };
  const auto fit = HasSubstr("B stay free");
  EXPECT_THAT(cache("15900 B"), Contains("workload.tenants[0].batching.cache: 15 blocks of 1024 B "
                                         "fit, and 540 B stay free"));
  EXPECT_EQ(std::ranges::count_if(cache("15900 B"),
                                  [](const std::string& note) {
                                    return note.find("stay free") != std::string::npos;
                                  }),
            1);
  EXPECT_THAT(cache("16 KiB"), Each(Not(fit)));
  EXPECT_THAT(cache("16400 B"), Each(Not(fit)));  // 16 B of them
}

}  // namespace
}  // namespace tessera::sim::whole_sizes_test
