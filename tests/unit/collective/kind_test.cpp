#include "tessera/collective/kind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::collective::kind_test {
namespace {

TEST(Kind, HasTwoNames) {
  EXPECT_EQ(to_string(Kind::all_reduce), "all_reduce");
  EXPECT_EQ(to_string(Kind::reduce_scatter), "reduce_scatter");
  EXPECT_EQ(to_string(Kind::barrier), "barrier");
  EXPECT_THAT(kind_names(), ::testing::ElementsAre("all-reduce", "reduce-scatter", "all-gather",
                                                   "all-to-all", "broadcast", "reduce", "gather",
                                                   "scatter", "barrier", "reduce-scatter-block"));
  EXPECT_THROW(to_string(static_cast<Kind>(kinds)), InternalError);
}

TEST(Kind, IsFoundByAnyOfThem) {
  for (std::size_t number = 0; number < kinds; ++number) {
    const auto kind = static_cast<Kind>(number);
    std::string letters = to_string(kind);
    EXPECT_EQ(kind_named(letters), kind);
    EXPECT_EQ(kind_named(kind_names()[number]), kind);
    letters.erase(std::remove(letters.begin(), letters.end(), '_'), letters.end());
    EXPECT_EQ(kind_named(letters), kind);
  }
  EXPECT_EQ(kind_named("reduce-scatter-block"), Kind::reduce_scatter);
  EXPECT_EQ(kind_named("all-reduces"), std::nullopt);
  EXPECT_EQ(kind_named(""), std::nullopt);
}

TEST(Kind, KnowsItsRootAndItsSums) {
  EXPECT_TRUE(has_root(Kind::scatter));
  EXPECT_FALSE(has_root(Kind::all_gather));
  EXPECT_TRUE(adds_up(Kind::reduce));
  EXPECT_FALSE(adds_up(Kind::gather));
}

}  // namespace
}  // namespace tessera::collective::kind_test
