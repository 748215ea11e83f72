// Times of collectives on an idle machine.
#include "tessera/collective/turns.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "tessera/collective/algorithm.hpp"

namespace tessera::collective::turns_test {
namespace {

// Members of two servers, of which messages between them take longer.
SimTime barrier_of(std::uint32_t size, std::int64_t inside, std::int64_t between) {
  const auto algorithm = algorithms().at("halving-doubling")({});
  return barrier_time(*algorithm, size, [&](Member from, Member to, Bytes) {
    return SimTime::from_ps((from < size / 2) == (to < size / 2) ? inside : between);
  });
}

// Of 1, 2, 4 and 8 members to go, no chain comes by more than two between servers.
TEST(BarrierTime, IsThatOfTheSlowestChain) {
  EXPECT_EQ(barrier_of(16, 100, 100), SimTime::from_ps(400));
  EXPECT_EQ(barrier_of(16, 100, 1000), SimTime::from_ps(2200));
  EXPECT_EQ(barrier_of(2, 100, 1000), SimTime::from_ps(1000));
  EXPECT_EQ(barrier_of(1, 100, 1000), SimTime::zero());
}

}  // namespace
}  // namespace tessera::collective::turns_test
