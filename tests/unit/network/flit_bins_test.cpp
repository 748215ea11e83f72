// What links of the flit network did in bins of time, and when its runs end.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"

namespace tessera::network::flit_bins_test {
namespace {

using testing::carry;
using testing::chain;
using testing::Described;
using testing::mesh;
using testing::network_of;
using testing::Send;
using testing::Traffic;
using testing::Use;

Described flits(const std::string& topology, const std::string& keys = "") {
  return network_of(topology, "model: flit, flit_size: 32 B" + (keys.empty() ? "" : ", " + keys));
}

std::vector<Send> random_sends(std::uint32_t nodes) {
  RandomStream random(21, EntityId(0), 0);
  std::vector<Send> sends;
  for (int i = 0; i < 100; ++i) {
    sends.push_back({static_cast<std::int64_t>(random.next_below(4000)) * 1000,
                     static_cast<std::uint32_t>(random.next_below(nodes)),
                     static_cast<std::uint32_t>(random.next_below(nodes)), random.next_below(2000),
                     0});
  }
  return sends;
}

using Link = std::pair<std::uint32_t, unsigned>;

void expect_bins_add_up(const Traffic& traffic, const std::string& what) {
  std::map<Link, Use> sums;
  for (const Use& bin : traffic.bins) {
    Use& sum = sums[{bin.node, bin.port}];
    sum.bytes += bin.bytes;
    sum.busy_ps += bin.busy_ps;
    sum.queue = std::max(sum.queue, bin.queue);
    EXPECT_LE(bin.busy_ps, bin.end_ps - bin.begin_ps) << what;
  }
  EXPECT_EQ(sums.size(), traffic.totals.size()) << what;
  for (const Use& total : traffic.totals) {
    const Use& sum = sums[{total.node, total.port}];
    EXPECT_EQ(sum.bytes, total.bytes) << what;
    EXPECT_EQ(sum.busy_ps, total.busy_ps) << what;
    EXPECT_EQ(sum.queue, total.queue) << what;
  }
}

TEST(FlitBins, AddUpToTheTotals) {
  const std::string slow = chain({"32 GB/s", "10 GB/s", "3 GB/s"});
  for (const std::int64_t bin_ps : {2000, 50'000, 3'000'000}) {
    const std::string bins = ", bins of " + std::to_string(bin_ps) + " ps";
    for (const int ranks : {1, 3}) {
      const testing::RunSettings settings{ranks, "stripes", bin_ps};
      expect_bins_add_up(carry(flits(mesh(3, 3)), random_sends(9), settings), "mesh" + bins);
      expect_bins_add_up(carry(flits(slow), random_sends(4), settings), "chain" + bins);
    }
  }
}

TEST(FlitBins, AreTheSameOnAnyNumberOfRanks) {
  const Described far = flits(mesh(2, 4, "32 GB/s", "100 ns"));
  for (const std::int64_t bin_ps : {30'000, 120'000, 1'000'000}) {
    const Traffic one = carry(far, random_sends(8), {1, "stripes", bin_ps});
    for (const int ranks : {2, 4}) {
      const Traffic more = carry(far, random_sends(8), {ranks, "stripes", bin_ps});
      EXPECT_EQ(more.bins, one.bins) << bin_ps;
      EXPECT_EQ(more.totals, one.totals) << bin_ps;
      EXPECT_EQ(more.end_ps, one.end_ps) << bin_ps;
    }
  }
}

// A flit of 32 B takes a link of 100 MB/s 320 ns.
TEST(FlitBins, DivideAFlitBetweenThem) {
  const Traffic traffic =
      carry(flits(chain({"1 GB/s", "100 MB/s"})), {{0, 0, 2, 96, 0}}, {1, "stripes", 64'000});
  std::uint64_t most = 0;
  std::uint64_t all = 0;
  for (const Use& bin : traffic.bins) {
    if (bin.node == 1) {
      most = std::max(most, bin.bytes);
      all += bin.bytes;
    }
  }
  EXPECT_LE(most, 7U);  // 6.4 B in a bin
  EXPECT_EQ(all, 96U);
}

// Four streams meet at one link; later one message is alone on it.
TEST(FlitBins, HaveTheLongestQueueOfTheirOwnTime) {
  const Described slow = flits(chain({"32 GB/s", "8 GB/s"}));
  const Traffic traffic =
      carry(slow, {{0, 0, 2, 3200, 0}, {20'000'000, 1, 2, 32, 0}}, {1, "stripes", 5'000'000});
  std::vector<std::uint64_t> queues;
  for (const Use& bin : traffic.bins) {
    if (bin.node == 1) {
      queues.push_back(bin.queue);
    }
  }
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_GT(queues[0], 0U);
  EXPECT_EQ(queues[1], 0U);
}

// Credits come back after the last flit has arrived, and no run lasts for them.
TEST(FlitBins, ARunEndsWithItsLastMessage) {
  const Traffic traffic =
      carry(flits(mesh(1, 2, "32 GB/s", "100 ns"), "buffer: 255"), {{0, 0, 1, 32, 0}});
  ASSERT_EQ(traffic.arrivals.size(), 1U);
  EXPECT_EQ(traffic.end_ps, traffic.arrivals.front().at_ps);
}

}  // namespace
}  // namespace tessera::network::flit_bins_test
