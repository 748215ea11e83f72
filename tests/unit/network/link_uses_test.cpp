// What links carry, of which the analytical network keeps an account.

#include "tessera/network/link_uses.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <vector>

#include "harness.hpp"

namespace tessera::network::link_uses_test {
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

const LinkUses::Use& use_of(const LinkUses& links, std::uint32_t node) {
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

TEST(LinkUses, AddUpWhatPasses) {
  const auto line = network_of(mesh(1, 8));
  LinkUses links(*line.machine.topology);
  EXPECT_TRUE(links.uses().empty());
  links.carry(eastward(3, 5), EntityId(5), 100, ps(0), ps(10));
  links.carry(eastward(0, 7), EntityId(7), 100, ps(0), ps(1 << 20));
  links.carry(eastward(0, 4), EntityId(4), 10, ps(0), ps(1 << 20));
  links.carry(eastward(1, 6), EntityId(6), 1, ps(3 << 20), ps(4 << 20));
  EXPECT_EQ(use_of(links, 0).bytes, 110U);
  EXPECT_EQ(use_of(links, 1).bytes, 111U);
  EXPECT_EQ(use_of(links, 2).bytes, 111U);
  EXPECT_EQ(use_of(links, 3).bytes, 211U);
  EXPECT_EQ(use_of(links, 6).bytes, 100U);
  EXPECT_LT(use_of(links, 0).from, LinkUses::several);  // by this link alone
  EXPECT_EQ(use_of(links, 1).from, LinkUses::several);  // first of one, in the middle of others
  EXPECT_EQ(use_of(links, 1).to, LinkUses::several);
  EXPECT_LT(use_of(links, 6).to, LinkUses::several);
  // About a quarter and a quarter of the run, with a part more at their ends.
  const int marked = std::popcount(use_of(links, 2).marks);
  EXPECT_GE(links.part() * marked, ps(2 << 20));
  EXPECT_LE(links.part() * (marked - 3), ps(2 << 20));
}

// Of two ranks, in two orders.
TEST(LinkUses, AddUpOverRanksAndCheckpoints) {
  const auto line = network_of(mesh(1, 8));
  LinkUses all(*line.machine.topology);
  LinkUses one(*line.machine.topology);
  LinkUses other(*line.machine.topology);
  all.carry(eastward(0, 7), EntityId(7), 100, ps(5), ps(1 << 14));
  one.carry(eastward(0, 7), EntityId(7), 100, ps(5), ps(1 << 14));
  all.carry(eastward(1, 6), EntityId(6), 7, ps(1 << 25), ps(1 << 26));
  other.carry(eastward(1, 6), EntityId(6), 7, ps(1 << 25), ps(1 << 26));
  for (LinkUses* const first : {&one, &other}) {
    LinkUses sum(*line.machine.topology);
    for (const LinkUses* const part : {first, first == &one ? &other : &one}) {
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

// Marks of the parts of the run in which something is under way, the first and the last included;
// there are 64, of 1024 ps at first.
TEST(LinkUses, MarkPartsOfTheRun) {
  const auto line = network_of(mesh(1, 5));
  const auto marks_of = [&](std::int64_t begin, std::int64_t end, std::int64_t part) {
    LinkUses links(*line.machine.topology);
    links.carry(eastward(0, 3), EntityId(3), 1, ps(begin * 1024), ps(end * 1024));
    EXPECT_EQ(links.part(), ps(part * 1024));
    EXPECT_EQ(use_of(links, 0).marks, use_of(links, 2).marks);
    EXPECT_EQ(use_of(links, 3).marks, 0U);
    return use_of(links, 1).marks;
  };
  EXPECT_EQ(marks_of(0, 0, 1), 1U);
  EXPECT_EQ(marks_of(1, 3, 1), 0b1110U);
  EXPECT_EQ(marks_of(5, 3, 1), std::uint64_t{1} << 5) << "over before it began";
  EXPECT_EQ(marks_of(63, 63, 1), std::uint64_t{1} << 63);
  EXPECT_EQ(marks_of(62, 64, 2), std::uint64_t{3} << 31);
  EXPECT_EQ(marks_of(0, 127, 2), ~std::uint64_t{0});
  EXPECT_EQ(marks_of(0, 1 << 20, 1 << 15), (std::uint64_t{1} << 33) - 1);
  EXPECT_EQ(marks_of(1, 2, 1), 0b110U);
}

// What was marked before is so in the longer parts of later on.
TEST(LinkUses, LengthenParts) {
  const auto line = network_of(mesh(1, 5));
  const auto marks_after = [&](std::int64_t end) {
    LinkUses links(*line.machine.topology);
    for (const std::int64_t at : {0, 1, 7, 63}) {
      links.carry(eastward(0, 3), EntityId(3), 1, ps(at * 1024), ps(at * 1024));
    }
    links.carry(eastward(1, 4), EntityId(4), 1, ps(end * 1024), ps(end * 1024));
    return use_of(links, 0).marks;
  };
  EXPECT_EQ(marks_after(63), std::uint64_t{1} << 63 | 0b1000'0011U);
  EXPECT_EQ(marks_after(64), std::uint64_t{1} << 31 | 0b1001U);
  EXPECT_EQ(marks_after(2047), 0b11U) << "32 of them in one";
  EXPECT_EQ(marks_after(4095), 0b1U);
  EXPECT_EQ(marks_after(1 << 20), 0b1U);
}

TEST(LinkUses, KnowByWhichLinkMessagesComeAndGo) {
  const auto line = network_of(mesh(1, 5));
  LinkUses links(*line.machine.topology);
  EXPECT_EQ(LinkUses::Use{}.from, LinkUses::nobody);
  EXPECT_EQ(LinkUses::Use{}.to, LinkUses::nobody);
  EXPECT_EQ(LinkUses::Use{}.bytes, 0U);
  for (int twice = 0; twice < 2; ++twice) {
    links.carry(eastward(0, 3), EntityId(3), 1, ps(0), ps(1));
    EXPECT_EQ(use_of(links, 1).from, 0U << 4 | machine::east);
    EXPECT_EQ(use_of(links, 1).to, 3U << 4 | (2U ^ machine::east));
  }
  links.carry(eastward(1, 4), EntityId(4), 1, ps(0), ps(1));
  EXPECT_EQ(use_of(links, 3).from, 1U << 4 | machine::east);
  links.carry(eastward(0, 4), EntityId(4), 1, ps(0), ps(1));
  EXPECT_EQ(use_of(links, 3).from, LinkUses::several);
  EXPECT_EQ(use_of(links, 3).to, 4U << 4 | (3U ^ machine::east));
}

// Of large machines every third node, or fewer.
TEST(LinkUses, LookAtSomeNodesOfLargeMachines) {
  const auto large = network_of(mesh(2, 400'000));
  const machine::Topology& topology = *large.machine.topology;
  LinkUses links(topology);  // 2.4 million links
  constexpr std::uint32_t every = 5;
  std::size_t looked_at = 0;
  for (std::uint32_t node = 0; node < topology.nodes(); node += every) {
    looked_at += topology.ports(EntityId(node));
  }
  EXPECT_EQ(links.size(), looked_at);
  EXPECT_EQ(links.link_at(0).node, EntityId(0));
  EXPECT_EQ(links.link_at(topology.ports(EntityId(0))).node, EntityId(every));
  EXPECT_EQ(links.link_at(looked_at - 1).node, EntityId((topology.nodes() - 1) / every * every));
  links.carry(eastward(1000, 1020), EntityId(1020), 3, ps(0), ps(1));
  std::uint64_t bytes = 0;
  for (const LinkUses::Use& use : links.uses()) {
    bytes += use.bytes;
  }
  EXPECT_EQ(bytes, 3U * 4) << "1000, 1005, 1010 and 1015";
  EXPECT_EQ(use_of(links, 1005).bytes, 3U);
  EXPECT_EQ(LinkUses::predicted_bytes(topology),
            topology.nodes() / every * 4 + topology.links() / every * sizeof(LinkUses::Use));
  EXPECT_GE(links.resident_bytes(), looked_at * sizeof(LinkUses::Use) + looked_at / 4 * 4);
  EXPECT_LT(links.resident_bytes(), looked_at * sizeof(LinkUses::Use) + 2 * 4 * 200'000);
}

}  // namespace
}  // namespace tessera::network::link_uses_test
