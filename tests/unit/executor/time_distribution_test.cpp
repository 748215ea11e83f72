#include "tessera/executor/time_distribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/core/random.hpp"

namespace tessera::executor::time_distribution_test {
namespace {

using ::testing::ElementsAre;

TEST(TimeDistribution, HasPercentilesByNearestRank) {
  TimeDistribution times;
  EXPECT_THAT(times.percentiles({50, 99}), ElementsAre(0, 0));
  for (std::uint64_t ps = 200; ps > 0; --ps) {
    times.add(ps);
  }
  EXPECT_THAT(times.percentiles({1, 50, 95, 99, 100}), ElementsAre(2, 100, 190, 198, 200));
  EXPECT_EQ(times.mean(), 100U);  // 100.5
  EXPECT_EQ(times.most(), 200U);
  EXPECT_TRUE(times.is_exact());
}

TEST(TimeDistribution, OfManyIsOffByHalfAThousandthAtMost) {
  TimeDistribution exact;
  TimeDistribution counted(100);
  RandomStream random(1, EntityId(0), 0);
  for (int i = 0; i < 50'000; ++i) {
    const auto ps = static_cast<std::uint64_t>(random.next_exponential(1e10));
    exact.add(ps);
    counted.add(ps);
  }
  EXPECT_TRUE(exact.is_exact());
  EXPECT_FALSE(counted.is_exact());
  EXPECT_EQ(counted.count(), exact.count());
  EXPECT_EQ(counted.mean(), exact.mean());
  EXPECT_EQ(counted.most(), exact.most());
  const std::vector<std::uint32_t> percents{1, 10, 50, 90, 95, 99, 100};
  const auto rough = counted.percentiles(percents);
  const auto right = exact.percentiles(percents);
  for (std::size_t i = 0; i < percents.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(rough[i]) / static_cast<double>(right[i]), 1, 0.0005)
        << percents[i];
  }
  EXPECT_LT(counted.resident_bytes(), 600'000U);
}

// A list that is full had grown to twice as much before its times were counted.
TEST(TimeDistribution, HoldsNoMoreThanItIsPredictedTo) {
  for (const std::uint64_t count : {1U, 1000U, 1U << 20U, (1U << 20U) + 1}) {
    TimeDistribution times;
    std::size_t most = 0;
    for (std::uint64_t number = 0; number < count; ++number) {
      times.add(number);
      most = std::max(most, times.resident_bytes());
    }
    EXPECT_EQ(most, TimeDistribution::predicted_bytes(count)) << count;
    EXPECT_EQ(times.is_exact(), count <= 1U << 20U);
  }
}

// Whichever comes first, the least or the largest.
TEST(TimeDistribution, HoldsSpansBetweenLeastAndLargestAlone) {
  TimeDistribution up(0);
  TimeDistribution down(0);
  for (std::uint64_t step = 0; step <= 1000; ++step) {
    up.add(1'000'000'000'000 + step * 1'000'000'000);
    down.add(2'000'000'000'000 - step * 1'000'000'000);
  }
  EXPECT_LT(up.resident_bytes(), 10'000U);
  EXPECT_EQ(down.resident_bytes(), up.resident_bytes());
  EXPECT_EQ(down.percentiles({1, 50, 100}), up.percentiles({1, 50, 100}));
  TimeDistribution early(0);
  early.add(1'000'000'000);
  early.add_all(up);
  EXPECT_EQ(early.count(), 1002U);
  EXPECT_NEAR(static_cast<double>(early.percentiles({50}).front()), 1.5e12, 1e9);
}

TEST(TimeDistribution, OfSmallTimesIsExactInAnyCase) {
  TimeDistribution counted(0);
  for (const std::uint64_t ps : {0, 1, 1023, 1024, 2047}) {
    counted.add(ps);
  }
  EXPECT_THAT(counted.percentiles({20, 40, 60, 80, 100}), ElementsAre(0, 1, 1023, 1024, 2047));
}

TEST(TimeDistribution, IsTheSameAfterACheckpoint) {
  for (const std::size_t most_exact : {0, 5, 1000}) {
    TimeDistribution times(most_exact);
    for (std::uint64_t ps = 1; ps < 1'000'000'000'000; ps *= 7) {
      times.add(ps);
    }
    pdes::StateWriter writer;
    times.save(writer);
    TimeDistribution again(most_exact);
    pdes::StateReader reader(writer.bytes());
    again.restore(reader);
    EXPECT_TRUE(reader.at_end());
    EXPECT_EQ(again.is_exact(), times.is_exact());
    for (TimeDistribution* each : {&times, &again}) {
      each->add(123'456'789);
      each->add(std::uint64_t{1} << 62U);
    }
    EXPECT_EQ(again.count(), times.count());
    EXPECT_EQ(again.mean(), times.mean());
    EXPECT_EQ(again.most(), times.most());
    const std::vector<std::uint32_t> percents{1, 25, 50, 75, 99, 100};
    EXPECT_EQ(again.percentiles(percents), times.percentiles(percents));
  }
}

}  // namespace
}  // namespace tessera::executor::time_distribution_test
