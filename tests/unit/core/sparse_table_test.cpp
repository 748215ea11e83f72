#include "tessera/core/sparse_table.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tessera::sparse_table_test
