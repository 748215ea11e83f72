#include "tessera/core/divisor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/core/random.hpp"

namespace tessera::divisor_test {
namespace {

constexpr std::uint32_t highest = std::numeric_limits<std::uint32_t>::max();

void expect_division(std::uint32_t number, std::uint32_t divisor) {
  const Divisor by(divisor);
  EXPECT_EQ(by.quotient(number), number / divisor) << number << " / " << divisor;
  EXPECT_EQ(by.remainder(number), number % divisor) << number << " % " << divisor;
}

TEST(Divisor, DividesByOneUntilTold) {
  EXPECT_EQ(Divisor().quotient(highest), highest);
  EXPECT_EQ(Divisor().remainder(highest), 0U);
  EXPECT_EQ(Divisor().value(), 1U);
}

// Where a rounded reciprocal goes wrong first: beside multiples, at both ends of the range.
TEST(Divisor, IsExactBesideMultiples) {
  std::vector<std::uint32_t> divisors{highest, highest - 1, highest / 2, highest / 2 + 1, 641, 633};
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t power = 1U << bit;
    divisors.insert(divisors.end(), {power, power + 1, std::max(power - 1, 1U)});
  }
  for (const std::uint32_t divisor : divisors) {
    const std::uint32_t last = highest - highest % divisor;
    for (const std::uint32_t multiple : {0U, divisor, last}) {
      for (const std::uint32_t number : {multiple - 1, multiple, multiple + 1}) {
        expect_division(number, divisor);
      }
    }
  }
}

TEST(Divisor, IsExactForNumbersAtRandom) {
  RandomStream stream(1, EntityId(0), 0);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t word = stream.next_u64();
    // Divisors of all lengths.
    const auto divisor = static_cast<std::uint32_t>(word >> 32) >> (word % 32);
    expect_division(static_cast<std::uint32_t>(stream.next_u64()), std::max(divisor, 1U));
  }
}

}  // namespace
}  // namespace tessera::divisor_test
