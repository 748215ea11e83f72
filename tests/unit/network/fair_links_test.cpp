// Links that those who use them share evenly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"

namespace tessera::network::fair_links_test {
namespace {

using testing::Arrived;
using testing::carry;
using testing::Described;
using testing::mesh;
using testing::network_of;
using testing::RunSettings;
using testing::Send;
using testing::Traffic;

// Packets of 1000 B, each 100 ns of a link.
Described grid(int rows, int columns, const std::string& arbitration,
               const std::string& more = "routing: yx") {
  return network_of(mesh(rows, columns), "packet_size: 1000 B, max_packets: 100000, arbitration: " +
                                             arbitration + ", " + more);
}

std::map<int, std::int64_t> ends(const Traffic& traffic) {
  std::map<int, std::int64_t> all;
  for (const Arrived& arrived : traffic.arrivals) {
    all[arrived.tag] = arrived.at_ps;
  }
  return all;
}

// 1 MB of the node in the middle has the link to the right booked for 100 us when the first of ten
// packets comes from the left, 2 ns later. In even parts these go at 100, 200, 400, 600, … 1800 ns:
// the second by its number, as start tags are the same, and from then on by turns.
TEST(FairLinks, LetASmallMessageGoBesideALargeOne) {
  const std::vector<Send> sends{{0, 1, 2, 1'000'000, 1}, {0, 0, 2, 10'000, 2}};
  const auto first_come = ends(carry(grid(1, 3, "first-come"), sends));
  EXPECT_EQ(first_come.at(1), 100'002'000);
  EXPECT_EQ(first_come.at(2), 101'002'000);
  const auto fair = ends(carry(grid(1, 3, "fair"), sends));
  EXPECT_EQ(fair.at(2), 1'902'000);
  EXPECT_EQ(fair.at(1), 101'002'000);  // the link is never idle
}

// Three of 100 kB meet on the link from the middle of a grid to the right, two of one tenant.
TEST(FairLinks, GiveEvenPartsToTilesOrTenants) {
  const std::vector<Send> sends{
      {0, 1, 5, 100'000, 1}, {0, 3, 5, 100'000, 3}, {0, 7, 5, 100'000, 7}};
  RunSettings settings;
  settings.tenants = {0, 0, 0, 0, 0, 0, 1, 1, 1};
  const auto by_tiles = ends(carry(grid(3, 3, "fair"), sends, settings));
  for (const auto& [tag, at] : by_tiles) {
    EXPECT_NEAR(static_cast<double>(at), 30e6, 0.3e6) << tag;
  }
  const auto by_tenants = ends(carry(grid(3, 3, "fair-tenants"), sends, settings));
  EXPECT_NEAR(static_cast<double>(by_tenants.at(7)), 20e6, 0.3e6);
  EXPECT_NEAR(static_cast<double>(by_tenants.at(1)), 30e6, 0.3e6);
  EXPECT_NEAR(static_cast<double>(by_tenants.at(3)), 30e6, 0.3e6);
}

// What a tile sends because another asked for it goes on that one's part of links.
TEST(FairLinks, CountAnswersAsTheTargets) {
  const std::vector<Send> sends{{0, 0, 2, 1'000'000, 1}, {0, 0, 2, 10'000, 2, 0, answer_flag}};
  for (const std::string arbitration : {"fair", "fair-tenants"}) {
    RunSettings settings;
    settings.tenants = {0, 0, 1};
    const auto at = ends(carry(grid(1, 3, arbitration), sends, settings));
    EXPECT_LT(at.at(2), 2'300'000) << arbitration;
    EXPECT_GT(at.at(2), 1'800'000) << arbitration;
  }
}

// Where nobody has a tenant there is one part, in order of arrival.
TEST(FairLinks, AreFirstComeWithoutTenants) {
  const std::vector<Send> sends{{0, 1, 2, 1'000'000, 1}, {0, 0, 2, 10'000, 2}};
  EXPECT_EQ(carry(grid(1, 3, "fair-tenants"), sends).arrivals,
            carry(grid(1, 3, "first-come"), sends).arrivals);
}

std::vector<Send> drawn(std::uint64_t seed, std::uint32_t nodes, std::uint16_t count) {
  RandomStream random(seed, EntityId(0), 0);
  const auto node = [&] { return static_cast<std::uint32_t>(random.next_below(nodes)); };
  std::vector<Send> sends;
  for (std::uint16_t tag = 0; tag < count; ++tag) {
    Send send;
    send.at_ps = static_cast<std::int64_t>(random.next_below(3'000'000));
    send.from = node();
    send.to = node();
    send.bytes = random.next_below(20) == 0 ? 0 : random.next_below(30'000);
    send.tag = tag;
    send.flags = random.next_below(3) == 0 ? answer_flag : 0;
    sends.push_back(send);
  }
  return sends;
}

// Messages of one pair come in their order, and links carry the same bytes.
TEST(FairLinks, CarryWhatTheyWouldInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::vector<Send> sends = drawn(seed, 12, 150);
    for (Send& send : sends) {
      send.flags = 0;
    }
    std::sort(sends.begin(), sends.end(),
              [](const Send& a, const Send& b) { return a.at_ps < b.at_ps; });
    const Traffic fair = carry(grid(3, 4, "fair"), sends);
    const Traffic first_come = carry(grid(3, 4, "first-come"), sends);
    ASSERT_EQ(fair.arrivals.size(), sends.size());
    EXPECT_EQ(fair.hops, first_come.hops);
    ASSERT_EQ(fair.totals.size(), first_come.totals.size());
    for (std::size_t i = 0; i < fair.totals.size(); ++i) {
      EXPECT_EQ(fair.totals[i].bytes, first_come.totals[i].bytes);
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> last;
    for (const Arrived& arrived : fair.arrivals) {  // `word`: its place among the sends
      std::uint64_t& before = last[{arrived.from, arrived.at}];
      EXPECT_GE(arrived.word, before);
      before = arrived.word;
    }
  }
}

TEST(FairLinks, AreTheSameOnRanks) {
  const std::string more = "switching: store-and-forward";
  for (const std::string arbitration : {"fair", "fair-tenants"}) {
    for (const std::string& keys : {std::string("routing: yx"), more}) {
      RunSettings settings;
      settings.bin_ps = 1'000'000;
      settings.tenants = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, machine::Sharers::nobody};
      const std::vector<Send> sends = drawn(7, 12, 200);
      const Traffic alone = carry(grid(3, 4, arbitration, keys), sends, settings);
      for (const int ranks : {2, 3, 4}) {
        settings.ranks = ranks;
        const Traffic other = carry(grid(3, 4, arbitration, keys), sends, settings);
        EXPECT_EQ(alone.arrivals, other.arrivals) << ranks;
        EXPECT_EQ(alone.totals, other.totals) << ranks;
        EXPECT_EQ(alone.bins, other.bins) << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::network::fair_links_test
