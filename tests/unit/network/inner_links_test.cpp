// Links in the middle of ways, of which the analytical network keeps an account.

#include "tessera/network/inner_links.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <vector>

#include "harness.hpp"

namespace tessera::network::inner_links_test {
namespace {

using machine::Hop;
using testing::mesh;
using testing::network_of;

std::vector<Hop> eastward(std::uint32_t from, std::uint32_t to) {
  std::vector<Hop> way;
  for (; from < to; ++from) {
    way.push_back({EntityId(from), machine::east});
  }
  return way;
}

const InnerLinks::Use& use_of(const InnerLinks& links, std::uint32_t node) {
  for (std::size_t place = 0; place < links.uses().size(); ++place) {
    if (links.link_at(place) == Hop{EntityId(node), machine::east}) {
      return links.uses()[place];
    }
  }
  throw InternalError("no such link");
}

SimTime ps(std::int64_t time) {
  return SimTime::from_ps(time);
}

TEST(InnerLinks, AddUpWhatPassesBetweenTheFirstLinkAndTheLast) {
  const auto line = network_of(mesh(1, 8));
  InnerLinks links(*line.machine.topology);
  links.carry(eastward(3, 5), EntityId(5), 100, ps(0), ps(10));
  EXPECT_TRUE(links.uses().empty());
  links.carry(eastward(0, 7), EntityId(7), 100, ps(0), ps(1 << 20));
  links.carry(eastward(0, 4), EntityId(4), 10, ps(0), ps(1 << 20));
  links.carry(eastward(1, 6), EntityId(6), 1, ps(3 << 20), ps(4 << 20));
  EXPECT_EQ(use_of(links, 0).bytes, 0U);
  EXPECT_EQ(use_of(links, 1).bytes, 110U);
  EXPECT_EQ(use_of(links, 2).bytes, 111U);
  EXPECT_EQ(use_of(links, 3).bytes, 101U);
  EXPECT_EQ(use_of(links, 6).bytes, 0U);
  EXPECT_LT(use_of(links, 2).from, InnerLinks::nobody);
  EXPECT_EQ(use_of(links, 2).from, InnerLinks::several);
  EXPECT_NE(use_of(links, 1).from, InnerLinks::several);  // node 0 alone
  EXPECT_EQ(use_of(links, 1).to, InnerLinks::several);
  // About a quarter and a quarter of the run, with a part more at their ends.
  const int marked = std::popcount(use_of(links, 2).marks);
  EXPECT_GE(links.part() * marked, ps(2 << 20));
  EXPECT_LE(links.part() * (marked - 3), ps(2 << 20));
}

// Of two ranks, in two orders.
TEST(InnerLinks, AddUpOverRanksAndCheckpoints) {
  const auto line = network_of(mesh(1, 8));
  InnerLinks all(*line.machine.topology);
  InnerLinks one(*line.machine.topology);
  InnerLinks other(*line.machine.topology);
  all.carry(eastward(0, 7), EntityId(7), 100, ps(5), ps(1 << 14));
  one.carry(eastward(0, 7), EntityId(7), 100, ps(5), ps(1 << 14));
  all.carry(eastward(1, 6), EntityId(6), 7, ps(1 << 25), ps(1 << 26));
  other.carry(eastward(1, 6), EntityId(6), 7, ps(1 << 25), ps(1 << 26));
  for (InnerLinks* const first : {&one, &other}) {
    InnerLinks sum(*line.machine.topology);
    for (const InnerLinks* const part : {first, first == &one ? &other : &one}) {
      pdes::StateWriter writer;
      part->save(writer);
      pdes::StateReader reader(writer.bytes());
      sum.add(reader);
    }
    EXPECT_EQ(sum.part(), all.part());
    for (std::uint32_t node = 0; node < 7; ++node) {
      EXPECT_EQ(use_of(sum, node).bytes, use_of(all, node).bytes);
      EXPECT_EQ(use_of(sum, node).marks, use_of(all, node).marks);
      EXPECT_EQ(use_of(sum, node).from, use_of(all, node).from);
      EXPECT_EQ(use_of(sum, node).to, use_of(all, node).to);
    }
  }
}

}  // namespace
}  // namespace tessera::network::inner_links_test
