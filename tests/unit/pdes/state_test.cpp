#include "tessera/pdes/state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::pdes::state_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of any size, one byte and none among them.
TEST(State, ComesOutAsItWentIn) {
  StateWriter writer;
  EXPECT_EQ(writer.size(), 0U);
  writer.put(std::uint8_t{7});
  writer.put(std::uint64_t{1} << 63 | 5);
  writer.put_all(std::vector<std::uint8_t>{1});
  writer.put_all(std::vector<double>{});
  writer.put_all(std::vector<std::uint16_t>{2, 3, 4});
  EXPECT_EQ(writer.size(), 1U + 8 + (8 + 1) + 8 + (8 + 6));
  StateReader reader(writer.bytes());
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(reader.get<std::uint8_t>(), 7U);
  EXPECT_EQ(reader.get<std::uint64_t>(), std::uint64_t{1} << 63 | 5);
  EXPECT_THAT(reader.get_all<std::uint8_t>(), ElementsAre(1));
  EXPECT_THAT(reader.get_all<double>(), IsEmpty());
  EXPECT_THAT(reader.get_all<std::uint16_t>(), ElementsAre(2, 3, 4));
  EXPECT_TRUE(reader.at_end());
  EXPECT_THROW(reader.get<std::uint8_t>(), InternalError);
}

TEST(State, IsNotReadBeyondItsEnd) {
  StateWriter writer;
  writer.put(std::uint32_t{9});
  StateReader reader(writer.bytes());
  EXPECT_THROW(reader.get<std::uint64_t>(), InternalError);
  EXPECT_EQ(reader.get<std::uint32_t>(), 9U);
  writer.clear();
  EXPECT_EQ(writer.size(), 0U);
}

}  // namespace
}  // namespace tessera::pdes::state_test
