// What is said where no strategy fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore::advice_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::loader_of;
using ::testing::Not;
using testing::small_sweep;
using ::testing::StartsWith;

Advice advice_of(const std::string& sram, const std::vector<std::string>& kept,
                 std::uint64_t devices = 0) {
  SearchRequest request;
  request.experiment = "lab/experiment.yaml";
  request.overrides = {"machine.tile.sram=" + sram};
  request.kept = kept;
  request.devices = devices;
  const auto alone = comm::make_in_process();
  const SearchOutcome outcome = search_strategies(request, *alone, loader_of(small_sweep()));
  EXPECT_EQ(outcome.fitting, 0U);
  return outcome.advice.value_or(Advice());
}

// It said what the whole machine has.
TEST(Advice, CountsTheDevicesThatMayBeUsed) {
  const Advice advice = advice_of("20 kB", {}, 2);
  EXPECT_THAT(advice.remedies, Contains(HasSubstr("2 devices have room for 40 kB")));
  EXPECT_THAT(advice_of("1 kB", {}).remedies,
              Contains(HasSubstr("the whole machine has room for 16 kB")));
}

TEST(Advice, SaysOnHowManyMoreDevicesItWouldFit) {
  const Advice advice = advice_of("100 kB", {}, 2);
  EXPECT_THAT(advice.remedies, Contains(StartsWith("on 8 devices, with ")));
  EXPECT_THAT(advice_of("1 kB", {}, 2).remedies, Not(Contains(StartsWith("on "))));
}

// Each alone is not enough.
TEST(Advice, TakesTogetherWhatHelps) {
  const Advice advice = advice_of(
      "34 kB", {"recompute=none", "zero=0", "sequence_parallel=false", "tensor=2", "pipeline=2"});
  EXPECT_THAT(advice.remedies, Contains(StartsWith("together ")));
  EXPECT_THAT(advice.remedies,
              Contains(::testing::AllOf(StartsWith("together "), HasSubstr("recompute: full"),
                                        HasSubstr(": fits"))));
}

}  // namespace
}  // namespace tessera::explore::advice_test
