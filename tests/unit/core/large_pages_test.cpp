#include "tessera/core/large_pages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>

namespace tessera::large_pages_test {
namespace {

template <class T>
std::uintptr_t place_of(const LargePageVector<T>& values) {
  return reinterpret_cast<std::uintptr_t>(values.data());
}

TEST(LargePages, EveryArrayBeginsWithACacheLine) {
  for (std::size_t size = 1; size < 200; size += 7) {
    const LargePageVector<std::array<char, 48>> values(size);
    EXPECT_EQ(place_of(values) % 64, 0U) << size;
  }
}

TEST(LargePages, ALargeArrayBeginsWithAPage) {
  const LargePageVector<std::uint32_t> values(std::size_t{5} << 20);
  EXPECT_EQ(place_of(values) % (std::size_t{2} << 20), 0U);
}

TEST(LargePages, AnArrayKeepsItsValuesAsItGrowsIntoLargePages) {
  LargePageVector<std::uint64_t> values(1000);
  std::iota(values.begin(), values.end(), 0U);
  values.resize(std::size_t{3} << 20);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(values[i], i);
  }
  EXPECT_EQ(values.back(), 0U);
}

}  // namespace
}  // namespace tessera::large_pages_test
