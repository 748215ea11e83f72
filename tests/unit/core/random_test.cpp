#include "tessera/core/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

namespace tessera::random_test {
namespace {

using Words = std::array<std::uint32_t, 4>;
constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();

// Known answers of philox4x32-10 from the file kat_vectors of Random123.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DrawsArePhiloxOfIndexEntityAndStreamUnderTheSeed) {
  RandomStream stream(0, EntityId(0), 0);
  EXPECT_EQ(stream.next_u64(), 0xe169c58d6627e8d5ULL);
  RandomStream far(0x299f31d0a4093822ULL, EntityId(0x13198a2e), 0x03707344, 0x85a308d3243f6a88ULL);
  EXPECT_EQ(far.next_u64(), 0x94fdccebd16cfe09ULL);
}

TEST(RandomStream, ContinuesFromItsIndexAlone) {
  RandomStream whole(42, EntityId(7), 3);
  for (int i = 0; i < 5; ++i) {
    whole.next_u64();
  }
  RandomStream resumed(42, EntityId(7), 3, whole.index());
  EXPECT_EQ(resumed.index(), 5U);
  EXPECT_EQ(resumed.next_u64(), whole.next_u64());
}

TEST(RandomStream, SeedEntityStreamAndIndexAllMatter) {
  std::set<std::uint64_t> draws;
  for (std::uint64_t seed : {1ULL, 2ULL, 1ULL << 32}) {
    for (std::uint32_t entity : {0U, 1U, 2U}) {
      for (std::uint32_t stream : {0U, 1U, 2U}) {
        for (std::uint64_t index : {0ULL, 1ULL, 1ULL << 32}) {
          draws.insert(RandomStream(seed, EntityId(entity), stream, index).next_u64());
        }
      }
    }
  }
  EXPECT_EQ(draws.size(), 81U);
}

TEST(RandomStream, UniformStaysInItsHalfOpenRange) {
  RandomStream stream(1, EntityId(1), 0);
  double sum = 0;
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) {
    const double value = stream.next_uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  // Six standard deviations of the mean: 6 / sqrt(12 n).
  EXPECT_NEAR(sum / draws, 0.5, 6 / std::sqrt(12.0 * draws));
}

TEST(RandomStream, BelowCoversEveryValueEvenly) {
  RandomStream stream(2, EntityId(1), 0);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) {
    const std::uint64_t value = stream.next_below(counts.size());
    ASSERT_LT(value, counts.size());
    ++counts[value];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10'000, 6 * std::sqrt(70'000 * 6.0 / 49));
  }
  EXPECT_EQ(RandomStream(2, EntityId(1), 0).next_below(1), 0U);
  EXPECT_LT(RandomStream(2, EntityId(1), 0).next_below(highest), highest);
}

TEST(RandomStream, ExponentialIsMinusTheLogarithmOfTheUniform) {
  RandomStream uniform(3, EntityId(1), 0);
  RandomStream exponential(3, EntityId(1), 0);
  double sum = 0;
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) {
    const double expected = -2.5 * std::log1p(-uniform.next_uniform());
    const double value = exponential.next_exponential(2.5);
    ASSERT_NEAR(value, expected, 1e-15 * std::max(1.0, expected));
    ASSERT_GE(value, 0.0);
    sum += value;
  }
  EXPECT_NEAR(sum / draws, 2.5, 6 * 2.5 / std::sqrt(double{draws}));
}

// Bit patterns, so that a mathematics library or compiler that computes otherwise is noticed.
TEST(RandomStream, ExponentialIsTheSameToTheLastBitEverywhere) {
  RandomStream stream(0, EntityId(0), 0);
  EXPECT_EQ(stream.next_exponential(1), 0x1.0ff3272d9b9a0p+1);
  EXPECT_EQ(stream.next_exponential(1), 0x1.cc5968d84186dp-2);
  EXPECT_EQ(stream.next_exponential(1), 0x1.8a15885c9e060p-2);
}

}  // namespace
}  // namespace tessera::random_test
