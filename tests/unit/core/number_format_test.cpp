#include "tessera/core/number_format.hpp"

#include <gtest/gtest.h>

namespace tessera::number_format_test {
namespace {

TEST(NumberFormat, OfElementsAloneHasNoScales) {
  EXPECT_EQ(format_of(DataType::bf16).bytes_of(100), Bytes(200));
  EXPECT_EQ(format_of(DataType::fp8).bytes_of(100), Bytes(100));
}

// One scale of 8 bits for 32 elements: 1 + 1/32 bytes each.
TEST(NumberFormat, OfMicroscalingHasAScaleForABlock) {
  EXPECT_EQ(format_of(DataType::mxfp8).bytes_of(32 * 32), Bytes(33 * 32));
  EXPECT_EQ(format_of(DataType::mxfp8).bytes_of(33), Bytes(33 + 2));
  EXPECT_EQ(format_of(DataType::mxfp8).bytes_of(0), Bytes(0));
}

TEST(NumberFormat, OfBlocksHasTheirScales) {
  const NumberFormat blocks{DataType::fp8, 128, Bytes(4)};
  EXPECT_EQ(blocks.bytes_of(7168), Bytes(7168 + 4 * 56));
}

}  // namespace
}  // namespace tessera::number_format_test
