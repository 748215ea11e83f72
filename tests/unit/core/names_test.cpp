#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/data_type.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/version.hpp"

namespace tessera::names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

TEST(DataType, NamesReadBack) {
  EXPECT_THAT(data_type_names(),
              ElementsAre("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"));
  for (const std::string& name : data_type_names()) {
    const auto type = data_type_from(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(to_string(*type), name);
  }
  EXPECT_THAT(product_type_names(),
              ElementsAre("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"));
  EXPECT_EQ(element_type(*data_type_from("mxfp8")), DataType::fp8);
  EXPECT_EQ(element_type(DataType::bf16), DataType::bf16);
  EXPECT_FALSE(data_type_from("FP16").has_value());
  EXPECT_FALSE(data_type_from("").has_value());
}

TEST(DataType, Sizes) {
  EXPECT_EQ(element_size(DataType::fp64), Bytes(8));
  EXPECT_EQ(element_size(DataType::fp32), Bytes(4));
  EXPECT_EQ(element_size(DataType::tf32), Bytes(4));
  EXPECT_EQ(element_size(DataType::fp16), Bytes(2));
  EXPECT_EQ(element_size(DataType::bf16), Bytes(2));
  EXPECT_EQ(element_size(DataType::fp8), Bytes(1));
  EXPECT_EQ(element_size(DataType::int8), Bytes(1));
  EXPECT_THROW(element_size(static_cast<DataType>(200)), InternalError);
}

TEST(Version, IsThreeNumbers) {
  EXPECT_THAT(std::string(version()), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(std::string(git_hash()), MatchesRegex("unknown|[0-9a-f]{12,}(-dirty)?"));
}

}  // namespace
}  // namespace tessera::names_test
