#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness.hpp"

namespace tessera::memory::bandwidth_test {
namespace {

using testing::Access;
using testing::described;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Outcome;
using testing::run;

Described machine_with(const std::string& memory) {
  return described(
      "topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 1 GB/s, latency: 2 ns}\n"
      "dram: {at: each, bandwidth: 3 GB/s, latency: 100 ns}\n"
      "memory: {" +
      memory + "}\n");
}

TEST(BandwidthMemory, IsLatencyPlusSizeOverBandwidth) {
  const Described machine = machine_with("model: bandwidth");
  for (const std::uint64_t bytes : {0ULL, 1ULL, 3ULL, 1000ULL, 1'000'000'007ULL}) {
    for (const bool write : {false, true}) {
      const Outcome outcome = run(machine, {Access{500, 3, bytes, write, 4}});
      ASSERT_EQ(outcome.done.size(), 1U);
      const auto service = static_cast<std::int64_t>((bytes * 1000 + 2) / 3);
      EXPECT_EQ(outcome.done[0].at_ps, 500 + 100'000 + service) << bytes;
      EXPECT_EQ(outcome.done[0].tag, 4);
    }
  }
}

TEST(BandwidthMemory, SharesNothing) {
  const Outcome outcome =
      run(machine_with("model: bandwidth"),
          {{0, 1, 3000, false, 0}, {0, 1, 3000, true, 1}, {0, 2, 3000, false, 0}});
  ASSERT_EQ(outcome.done.size(), 3U);
  for (const auto& done : outcome.done) {
    EXPECT_EQ(done.at_ps, 100'000 + 1'000'000);
  }
  EXPECT_THAT(outcome.totals, IsEmpty());
}

TEST(ReadMemory, KnowsItsModels) {
  EXPECT_THAT(memories().names(), ElementsAre("bandwidth", "channel", "dram"));
}

TEST(ReadMemory, PointsAtWhatIsWrong) {
  const auto complaint_of = [](const std::string& memory) -> std::string {
    try {
      machine_with(memory);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint_of(""), "");
  EXPECT_THAT(complaint_of("model: chanel"), HasSubstr("did you mean 'channel'"));
  EXPECT_THAT(complaint_of("burst: 0 B"), HasSubstr("memory.burst"));
  EXPECT_THAT(complaint_of("max_bursts: 0"), HasSubstr("memory.max_bursts"));
  // Keys of another model may stand there.
  EXPECT_EQ(complaint_of("model: bandwidth, burst: 1 KiB"), "");
  EXPECT_THAT(complaint_of("model: bandwidth, brust: 1 KiB"), HasSubstr("memory.brust"));
}

}  // namespace
}  // namespace tessera::memory::bandwidth_test
