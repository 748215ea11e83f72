// Which core an operator of a chip begins at.

#include "tessera/executor/chip.hpp"

#include <gtest/gtest.h>

#include "tessera/npu/specs.hpp"

namespace tessera::executor::chip_test {
namespace {

// Of four cores, the number of the first group that each takes.
std::vector<std::uint32_t> first_groups(const ChipWork& work, std::uint32_t number) {
  std::vector<std::uint32_t> groups;
  for (std::uint32_t place = 0; place < work.cores.size(); ++place) {
    groups.push_back(work.first_group(number, place));
  }
  return groups;
}

TEST(ChipWork, DealsTilesFromTheCoreOfTheNumberOrTheOneThatIsSaid) {
  ChipWork work;
  work.cores.resize(4);
  work.operators.resize(7);
  work.operators[2].first_core = 3;
  using List = std::vector<std::uint32_t>;
  EXPECT_EQ(first_groups(work, 0), (List{0, 1, 2, 3}));
  EXPECT_EQ(first_groups(work, 1), (List{3, 0, 1, 2}));
  EXPECT_EQ(first_groups(work, 2), (List{1, 2, 3, 0}));
  EXPECT_EQ(first_groups(work, 6), (List{2, 3, 0, 1}));
}

TEST(ChipWork, NobodyTakesPartInNothing) {
  ChipWork work;
  work.cores.resize(4);
  work.operators.resize(1);
  work.operators[0].tiles = npu::lower_nothing({work.core, 4});
  for (std::uint32_t place = 0; place < 4; ++place) {
    EXPECT_FALSE(work.takes_part(0, place));
  }
  EXPECT_EQ(work.shares(), 0U);
}

}  // namespace
}  // namespace tessera::executor::chip_test
