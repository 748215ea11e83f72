#include "packet/wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tessera/core/random.hpp"

namespace tessera::network::wire_test {
namespace {

// Whole and part of bytes at a rate, divided as they are.
void expect_duration(std::uint64_t rate, std::uint32_t bytes) {
  machine::LinkClass link_class;
  link_class.bandwidth = Bandwidth::bytes_per_second(rate);
  const WireClass wire(link_class);
  const Wide scaled = static_cast<Wide>(bytes) * 1'000'000'000'000ULL;
  const std::uint64_t kept = wire.bandwidth().bytes_per_second();
  const WireClass::Duration duration = wire.duration(bytes);
  EXPECT_EQ(duration.whole, static_cast<std::int64_t>(scaled / kept)) << bytes << " at " << rate;
  // The part is one of the reduced fraction.
  const std::uint64_t reduced = kept / wire.denominator();
  EXPECT_EQ(duration.part, static_cast<std::uint64_t>(scaled % kept) / reduced)
      << bytes << " at " << rate;
}

TEST(WireClass, DurationsAreExact) {
  for (const std::uint64_t rate :
       {233ULL, 1'000ULL, 17'157'945'438ULL, 4'294'967'291ULL, 1'000'000'000'000ULL,
        999'999'999'989ULL, 20'000'000'000'000ULL}) {
    for (const std::uint32_t bytes : {0U, 1U, 2U, 63U, 64U, 4095U, 4096U, 4097U, 0xFFFFFFFFU}) {
      expect_duration(rate, bytes);
    }
  }
}

TEST(WireClass, DurationsAreExactAtRandom) {
  RandomStream stream(3, EntityId(0), 0);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t word = stream.next_u64();
    const std::uint64_t rate = std::max<std::uint64_t>(233, word >> (16 + word % 40));
    const auto bytes = static_cast<std::uint32_t>(stream.next_u64() >> (32 + word / 64 % 32));
    expect_duration(rate, bytes);
  }
}

// 3 ps and a third a byte.
WireClass thirds() {
  machine::LinkClass link_class;
  link_class.bandwidth = Bandwidth::bytes_per_second(300'000'000'000);
  return WireClass(link_class);
}

TEST(WireClass, KnowsTheLongestWait) {
  const WireClass wire = thirds();
  LinkState state;
  wire.book(state, 3, SimTime::from_ps(100), SimTime::from_ps(100));
  EXPECT_EQ(state.longest_wait_ps, 0.0F) << "nobody waited";
  EXPECT_EQ(wire.book(state, 3, SimTime::from_ps(104), SimTime::from_ps(104)).start.ps(), 110);
  EXPECT_EQ(state.longest_wait_ps, 6.0F);
  wire.book(state, 3, SimTime::from_ps(119), SimTime::from_ps(119));
  EXPECT_EQ(state.longest_wait_ps, 6.0F);
  EXPECT_EQ(state.bytes, 9U);
  EXPECT_EQ(state.busy_ps, 30);
}

// Fractions go from packet to packet while the wire is busy, and are forgotten when it is not.
TEST(WireClass, CarriesFractionsOverABusyWire) {
  const WireClass wire = thirds();
  LinkState state;
  const auto end_of = [&](std::int64_t now, std::int64_t tail) {
    return wire.book(state, 1, SimTime::from_ps(now), SimTime::from_ps(tail)).end.ps();
  };
  EXPECT_EQ(end_of(0, 0), 4);
  EXPECT_EQ(end_of(0, 0), 7);
  EXPECT_EQ(end_of(0, 0), 10) << "three bytes take 10 ps";
  EXPECT_EQ(end_of(0, 0), 14);
  EXPECT_EQ(end_of(14, 14), 17) << "it goes on without a gap";
  EXPECT_EQ(end_of(18, 18), 22) << "it was idle";
  EXPECT_EQ(end_of(22, 26), 26) << "its tail comes later";
  EXPECT_EQ(end_of(22, 22), 30) << "and nothing is left over";
  EXPECT_EQ(state.busy_ps, 29);
}

TEST(FloorTime, IsNoMoreThanWhatAWireBooks) {
  const Bandwidth rate = Bandwidth::bytes_per_second(300'000'000'000);
  EXPECT_EQ(floor_time(Bytes(0), rate), SimTime::zero());
  EXPECT_EQ(floor_time(Bytes(1), rate).ps(), 3);
  EXPECT_EQ(floor_time(Bytes(3), rate).ps(), 9);
}

}  // namespace
}  // namespace tessera::network::wire_test
