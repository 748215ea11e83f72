#include "tessera/core/sparse_table.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tessera::sparse_table_test {
namespace {

TEST(SparseTable, KeepsWhatWasSet) {
  SparseTable table(5000, 7);
  table.set(0, 1);
  table.set(4999, 2);
  table.set(4998, 3);
  table.set(4999, 4);
  EXPECT_EQ(table[0], 1U);
  EXPECT_EQ(table[1], 7U);
  EXPECT_EQ(table[2048], 7U);
  EXPECT_EQ(table[4998], 3U);
  EXPECT_EQ(table[4999], 4U);
}

TEST(SparseTable, TakesMemoryForWhatWasSet) {
  SparseTable table(1U << 28, 0);
  table.set(123'456'789, 5);
  EXPECT_EQ(table[123'456'789], 5U);
  EXPECT_EQ(table[123'456'788], 0U);
  EXPECT_LT(table.resident_bytes(), 2U << 20);
}

TEST(SparseTable, GivesWhatIsNotUsualInOrder) {
  SparseCounts table(3000, 2);
  table.at(2999) += 5;
  table.at(10) += 1;
  table.set(11, 2);
  std::vector<std::pair<std::size_t, std::uint64_t>> found;
  table.visit([&](std::size_t entry, std::uint64_t value) { found.emplace_back(entry, value); });
  EXPECT_EQ(found, (std::vector<std::pair<std::size_t, std::uint64_t>>{{10, 3}, {2999, 7}}));
  EXPECT_EQ(table.sum(), 3000U * 2 + 6);
  EXPECT_EQ(table.listed().size(), 3000U);
  EXPECT_EQ(SparseCounts(table.listed(), 0)[10], 3U);
}

}  // namespace
}  // namespace tessera::sparse_table_test
