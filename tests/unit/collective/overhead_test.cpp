#include "tessera/collective/overhead.hpp"

#include <gtest/gtest.h>

namespace tessera::collective::overhead_test {
namespace {

constexpr SimTime of(std::int64_t ns) {
  return SimTime::from_ps(1000 * ns);
}

TEST(Overhead, IsOnceAndForEachMemberAndItsPart) {
  const Overhead overhead{of(1000), of(10), Bandwidth::bytes_per_second(1'000'000'000)};
  // 8000 B over 8 members: a part of 1000 B takes 1 us at 1 GB/s.
  EXPECT_EQ(overhead.before(Kind::all_reduce, 8, Bytes(8000)), of(1000 + 80 + 1000));
  EXPECT_EQ(overhead.before(Kind::all_gather, 8, Bytes(8000), 3), of(1000 + 240 + 1000));
  EXPECT_EQ(overhead.before(Kind::reduce_scatter, 4, Bytes(8000)), of(1000 + 40 + 2000));
  EXPECT_EQ(overhead.before(Kind::all_to_all, 8, Bytes(8000)), of(1000 + 80));
  EXPECT_EQ(overhead.before(Kind::barrier, 8, Bytes(0)), of(1000 + 80));
}

TEST(Overhead, IsNothingWithoutItsKeys) {
  EXPECT_TRUE(Overhead{}.is_nothing());
  EXPECT_EQ(Overhead{}.before(Kind::all_reduce, 8, Bytes(8000)), SimTime::zero());
  EXPECT_FALSE((Overhead{{}, {}, Bandwidth::bytes_per_second(1)}.is_nothing()));
}

}  // namespace
}  // namespace tessera::collective::overhead_test
