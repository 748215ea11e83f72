// Bytes and steps of algorithms are those of their closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lane_run.hpp"
#include "tessera/collective/algorithm.hpp"

namespace tessera::collective::closed_forms_test {
namespace {

using testing::run;
using testing::Totals;

// Bytes that are divided by any number below, so that the forms hold exactly.
constexpr std::uint64_t even_bytes = 720'720 * 32;

std::uint32_t log2_up(std::uint32_t size) {
  return static_cast<std::uint32_t>(std::bit_width(size - 1));
}

// Reduce-scatter and all-gather send (n - 1)/n of the vector a member at best, all-reduce twice as
// much (Patarasuk and Yuan; Thakur et al.).
TEST(ClosedForms, OfTheBandwidthOptimal) {
  for (const char* name : {"ring", "ring-bidirectional", "direct", "halving-doubling"}) {
    const auto algorithm = algorithms().at(name)({});
    for (const std::uint32_t size : {2U, 4U, 8U, 16U}) {
      const Bytes share(even_bytes / size * (size - 1));
      for (const Kind kind : {Kind::reduce_scatter, Kind::all_gather, Kind::all_to_all}) {
        const Totals totals = run(*algorithm, kind, size, Bytes(even_bytes));
        EXPECT_EQ(totals.most_sent, share) << name << ' ' << to_string(kind) << ' ' << size;
        EXPECT_EQ(totals.sent, share * size) << name << ' ' << to_string(kind) << ' ' << size;
      }
      const Totals totals = run(*algorithm, Kind::all_reduce, size, Bytes(even_bytes));
      EXPECT_EQ(totals.most_sent, share * 2) << name << ' ' << size;
    }
  }
}

TEST(ClosedForms, OfSteps) {
  const auto steps = [](const char* name, Kind kind, std::uint32_t size) {
    return algorithms().at(name)({})->steps(kind, size);
  };
  for (const std::uint32_t size : {2U, 3U, 8U, 13U, 64U}) {
    const std::uint32_t extra = std::has_single_bit(size) ? 0 : 2;
    const auto levels = static_cast<std::uint32_t>(std::bit_width(size)) - 1;
    EXPECT_EQ(steps("halving-doubling", Kind::all_reduce, size), 2 * levels + extra);
    EXPECT_EQ(steps("halving-doubling", Kind::reduce_scatter, size), levels + extra);
    EXPECT_EQ(steps("halving-doubling", Kind::broadcast, size), log2_up(size));
    EXPECT_EQ(steps("halving-doubling", Kind::barrier, size), log2_up(size));
    EXPECT_EQ(steps("ring-bidirectional", Kind::all_reduce, size), 2 * (size - 1));
    EXPECT_EQ(steps("direct", Kind::all_reduce, size), 2 * (size - 1));
    EXPECT_EQ(steps("ring-relay", Kind::all_to_all, size), size * (size - 1) / 2);
    EXPECT_EQ(steps("double-binary-tree", Kind::all_reduce, size), 6U);
  }
}

// A power of two: all but n (n - 1)/2 hops of one chunk each are gone.
TEST(ClosedForms, OfARelay) {
  const auto algorithm = algorithms().at("ring-relay")({});
  const Totals totals = run(*algorithm, Kind::all_to_all, 9, Bytes(9000));
  EXPECT_EQ(totals.most_sent, Bytes(1000 * 9 * 8 / 2));
}

// The pair sends its vector once more and the sum back.
TEST(ClosedForms, OfHalvingAndDoublingAmongAnyNumber) {
  const auto algorithm = algorithms().at("halving-doubling")({});
  const Totals totals = run(*algorithm, Kind::all_reduce, 6, Bytes(even_bytes));
  EXPECT_EQ(totals.sent.count(), 2 * even_bytes * 3 + 4 * even_bytes);
}

// Each half goes up every edge of its tree and down again; nobody sends more than twice the vector,
// which he does who is inside a tree: half of it to two children, half to his parent, and half as a
// leaf of the other.
TEST(ClosedForms, OfTwoTrees) {
  const auto algorithm = algorithms().at("double-binary-tree")({});
  for (const std::uint32_t size : {2U, 3U, 8U, 9U, 31U, 64U}) {
    const Totals totals = run(*algorithm, Kind::all_reduce, size, Bytes(even_bytes));
    EXPECT_EQ(totals.sent.count(), 2 * even_bytes * (size - 1)) << size;
    EXPECT_EQ(totals.messages, 4 * (size - 1)) << size;
    EXPECT_LE(totals.most_sent.count(), 2 * even_bytes) << size;
    const Totals spread = run(*algorithm, Kind::broadcast, size, Bytes(even_bytes));
    EXPECT_EQ(spread.sent.count(), even_bytes * (size - 1)) << size;
  }
}

// Depth of a tree: messages from a leaf to the root.
TEST(ClosedForms, TreesAreLow) {
  const auto algorithm = algorithms().at("double-binary-tree")({});
  for (const std::uint32_t size : {2U, 3U, 7U, 8U, 100U, 1000U}) {
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      std::uint32_t deepest = 0;
      std::uint32_t roots = 0;
      for (Member member = 0; member < size; ++member) {
        std::uint32_t depth = 0;
        Member at = member;
        while (true) {
          const Member up = algorithm->step(Kind::all_reduce, size, at, Bytes(8), 2, lane).send_to;
          if (up == nobody) {
            break;
          }
          at = up;
          ASSERT_LE(++depth, size);
        }
        roots += at == member ? 1 : 0;
        deepest = std::max(deepest, depth);
      }
      EXPECT_EQ(roots, 1U) << size;
      EXPECT_LE(deepest, log2_up(size) + 1) << size;
    }
  }
}

}  // namespace
}  // namespace tessera::collective::closed_forms_test
