#include "tessera/collective/algorithm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "tessera/core/error.hpp"

namespace tessera::collective::algorithm_test {
namespace {

TEST(Algorithms, AreTheKnownOnes) {
  EXPECT_THAT(algorithms().names(),
              ::testing::ElementsAre("direct", "double-binary-tree", "halving-doubling", "line",
                                     "ring", "ring-bidirectional", "ring-relay"));
  EXPECT_EQ(algorithms().kind(), "collective algorithm");
}

TEST(ChunkBytes, AddUpAndDifferByOneAtMostWithTheLargerOnesFirst) {
  for (const std::uint64_t bytes :
       std::array<std::uint64_t, 6>{0, 1, 7, 1000, 65'537, 1ULL << 63}) {
    for (const std::uint32_t size : {1U, 2U, 3U, 8U, 33U}) {
      Bytes sum;
      for (std::uint32_t chunk = 0; chunk < size; ++chunk) {
        const Bytes here = chunk_bytes(Bytes(bytes), size, chunk);
        EXPECT_GE(here.count(), bytes / size);
        EXPECT_LE(here.count(), bytes / size + 1);
        if (chunk > 0) {
          EXPECT_LE(here, chunk_bytes(Bytes(bytes), size, chunk - 1));
        }
        EXPECT_EQ(chunk_bytes(Bytes(bytes), size, Chunks{0, chunk}), sum);
        sum += here;
      }
      EXPECT_EQ(sum, Bytes(bytes)) << size;
    }
  }
}

TEST(ChunkBytes, AChunkOutsideTheVectorIsADefect) {
  EXPECT_THROW(chunk_bytes(Bytes(8), 4, 4), InternalError);
  EXPECT_THROW(chunk_bytes(Bytes(8), 0, 0), InternalError);
  EXPECT_THROW(chunk_bytes(Bytes(8), 4, Chunks{3, 2}), InternalError);
}

}  // namespace
}  // namespace tessera::collective::algorithm_test
