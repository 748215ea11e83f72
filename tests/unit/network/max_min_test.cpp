#include "flow/max_min.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/random.hpp"

namespace tessera::network::max_min_test {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Links = std::vector<MaxMin::Link>;

MaxMin of(const std::vector<double>& capacities) {
  return MaxMin(capacities);
}

TEST(MaxMin, OneLinkIsSharedByWeight) {
  MaxMin shares = of({12});
  shares.add(0, Links{0}, 1, MaxMin::no_limit);
  shares.add(1, Links{0}, 1, MaxMin::no_limit);
  shares.solve();
  EXPECT_THAT(shares.rate(0), DoubleEq(6));
  shares.add(2, Links{0}, 2, MaxMin::no_limit);
  shares.solve();
  EXPECT_THAT(shares.rate(1), DoubleEq(3));
  EXPECT_THAT(shares.rate(2), DoubleEq(6));
  shares.remove(0);
  shares.remove(2);
  shares.solve();
  EXPECT_THAT(shares.rate(1), DoubleEq(12));
}

// Bertsekas and Gallager's example: what one link leaves goes to those that can use it.
TEST(MaxMin, WhatIsLeftGoesToTheOthers) {
  MaxMin shares = of({1, 2});
  shares.add(0, Links{0, 1}, 1, MaxMin::no_limit);
  shares.add(1, Links{0}, 1, MaxMin::no_limit);
  shares.add(2, Links{1}, 1, MaxMin::no_limit);
  shares.solve();
  EXPECT_THAT(shares.rate(0), DoubleEq(0.5));
  EXPECT_THAT(shares.rate(1), DoubleEq(0.5));
  EXPECT_THAT(shares.rate(2), DoubleEq(1.5));
}

// Rates of a part are those of the whole, to the last bit.
TEST(MaxMin, RatesDoNotDependOnOtherLinks) {
  const std::vector<double> capacities{3.1, 0.7};
  MaxMin all(std::vector<double>{3.1, 0.7, 977.3});
  MaxMin part(capacities, MaxMin::whole, 977.3);
  for (MaxMin* const shares : {&all, &part}) {
    shares->add(0, Links{0}, 1, MaxMin::no_limit);
    shares->add(1, Links{0, 1}, 1, MaxMin::no_limit);
    shares->add(2, Links{1}, 1, MaxMin::no_limit);
    shares->add(3, Links{1}, 1, 0.1);
    shares->solve();
  }
  for (MaxMin::Flow flow = 0; flow < 4; ++flow) {
    EXPECT_EQ(all.rate(flow), part.rate(flow)) << "flow " << flow;
  }
}

TEST(MaxMin, LimitsLeaveMoreToOthers) {
  MaxMin shares = of({9});
  shares.add(0, Links{0}, 1, 1.0);
  shares.add(1, Links{0}, 1, MaxMin::no_limit);
  shares.add(2, Links{0}, 1, 100.0);
  shares.solve();
  EXPECT_THAT(shares.rate(0), DoubleEq(1));
  EXPECT_THAT(shares.rate(1), DoubleEq(4));
  EXPECT_THAT(shares.rate(2), DoubleEq(4));
}

TEST(MaxMin, LooksOnlyAtWhatAChangeReaches) {
  MaxMin shares = of({10, 10, 30});
  shares.add(0, Links{0}, 1, MaxMin::no_limit);
  shares.add(1, Links{1}, 1, MaxMin::no_limit);
  shares.add(3, Links{1, 2}, 1, 2.0);
  shares.solve();
  EXPECT_THAT(shares.rate(1), DoubleEq(8));
  shares.add(2, Links{1}, 1, MaxMin::no_limit);
  // Not the one that is at its limit, and would be with less.
  EXPECT_THAT(shares.solve(), UnorderedElementsAre(1, 2));
  EXPECT_THAT(shares.rate(1), DoubleEq(4));
  EXPECT_THAT(shares.solve(), IsEmpty());
}

TEST(MaxMin, KnowsTheShareOfAFlowAloneAtOnce) {
  MaxMin shares(std::vector<double>{10, 4});
  ASSERT_TRUE(shares.add_alone(0, Links{0, 1}, 1, MaxMin::no_limit));
  EXPECT_NEAR(shares.rate(0), 4, 1e-12);
  EXPECT_FALSE(shares.is_pending());
  EXPECT_FALSE(shares.add_alone(1, Links{0}, 1, MaxMin::no_limit)) << "not alone";
  EXPECT_EQ(shares.flows_on(0), 1);
  shares.add(1, Links{0}, 1, MaxMin::no_limit);
  EXPECT_TRUE(shares.is_pending());
  shares.solve();
  EXPECT_NEAR(shares.rate(1), 6, 1e-12);
  shares.remove(1);
  shares.solve();
  shares.remove(0);
  EXPECT_FALSE(shares.is_pending()) << "it leaves its share to nobody";
}

TEST(MaxMin, WithoutLinksTheLimitIsTheRate) {
  MaxMin shares = of({10});
  shares.add(0, Links{}, 1, 3.0);
  EXPECT_THAT(shares.solve(), ElementsAre(0));
  EXPECT_THAT(shares.rate(0), DoubleEq(3));
  shares.remove(0);
  EXPECT_THAT(shares.solve(), IsEmpty());
}

// Weights far apart, as of latencies of nanoseconds and of a second.
TEST(MaxMin, TakesWeightsOfAnySize) {
  MaxMin shares(std::vector<double>{1e6}, MaxMin::fine);
  shares.add(0, Links{0}, Wide{1} << 80U, MaxMin::no_limit);
  shares.add(1, Links{0}, Wide{1} << 80U, MaxMin::no_limit);
  shares.add(2, Links{0}, Wide{1} << 50U, MaxMin::no_limit);
  shares.solve();
  const double light = 1e6 / (1 + 0x1p31);
  EXPECT_THAT(shares.rate(2), DoubleNear(light, light * 1e-9));
  EXPECT_THAT(shares.rate(0), DoubleNear((1e6 - light) / 2, 1e-6));
}

// Random flows over random links. What is checked holds in every case:
// no link carries more than it can; every flow is at its limit, or on a full link on which nobody
// has more of its weight; and rates are those of a solution from scratch, bit for bit.
class RandomCase {
 public:
  RandomCase(std::uint32_t seed, bool alike) : random_(9, EntityId(seed), 0), alike_(alike) {
    const std::uint64_t links = 1 + random_.next_below(24);
    // Rates of few values make many ties.
    for (std::uint64_t link = 0; link < links; ++link) {
      capacities_.push_back(alike ? static_cast<double>(1 + random_.next_below(3))
                                  : 1e-3 + 1e5 * random_.next_uniform());
    }
    most_hops_ = 1 + random_.next_below(std::min<std::uint64_t>(links, 6));
    shares_.emplace(capacities_, digits());
  }

  void change() {
    const std::uint64_t changes = 1 + random_.next_below(4);
    for (std::uint64_t i = 0; i < changes; ++i) {
      if (!flows_.empty() && random_.next_below(5) < 2) {
        auto victim = flows_.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random_.next_below(flows_.size())));
        shares_->remove(victim->first);
        free_.push_back(victim->first);
        flows_.erase(victim);
      } else {
        add();
      }
    }
    shares_->solve();
  }

  void expect_fair() const {
    std::vector<double> loads(capacities_.size());
    std::vector<double> highest(capacities_.size());  // level of a flow there
    for (const auto& [flow, made] : flows_) {
      EXPECT_GT(shares_->rate(flow), 0);
      EXPECT_LE(shares_->rate(flow), made.limit);
      for (const MaxMin::Link link : made.route) {
        loads[link] += shares_->rate(flow);
        highest[link] =
            std::max(highest[link], shares_->rate(flow) / static_cast<double>(made.weight));
      }
    }
    for (std::size_t link = 0; link < loads.size(); ++link) {
      EXPECT_LE(loads[link], capacities_[link] * (1 + 1e-12)) << link;
    }
    for (const auto& [flow, made] : flows_) {
      const double level = shares_->rate(flow) / static_cast<double>(made.weight);
      const bool held = std::any_of(made.route.begin(), made.route.end(), [&](MaxMin::Link link) {
        return loads[link] >= capacities_[link] * (1 - 1e-12) &&
               level >= highest[link] * (1 - 1e-9);
      });
      EXPECT_TRUE(held || shares_->rate(flow) >= made.limit * (1 - 1e-12)) << flow;
    }
  }

  // In another order, too.
  void expect_as_from_scratch() const {
    MaxMin fresh(capacities_, digits());
    for (auto flow = flows_.rbegin(); flow != flows_.rend(); ++flow) {
      fresh.add(flow->first, flow->second.route, flow->second.weight, flow->second.limit);
    }
    fresh.solve();
    for (const auto& [flow, made] : flows_) {
      EXPECT_EQ(fresh.rate(flow), shares_->rate(flow)) << flow;
    }
  }

 private:
  struct Made {
    Links route;
    Wide weight = 1;
    double limit = MaxMin::no_limit;
  };

  unsigned digits() const { return alike_ ? MaxMin::whole : MaxMin::fine; }

  void add() {
    Made made;
    const std::uint64_t hops = 1 + random_.next_below(most_hops_);
    while (made.route.size() < hops) {
      const auto link = static_cast<MaxMin::Link>(random_.next_below(capacities_.size()));
      if (std::find(made.route.begin(), made.route.end(), link) == made.route.end()) {
        made.route.push_back(link);
      }
    }
    if (alike_) {
      made.weight = 1 + random_.next_below(2);
    } else {
      made.weight = static_cast<Wide>(0x1p80 / (1 + 1e6 * random_.next_uniform()));
    }
    if (random_.next_below(4) == 0) {
      made.limit = alike_ ? 0.5 : 1e-3 + 1e4 * random_.next_uniform();
    }
    MaxMin::Flow number = static_cast<MaxMin::Flow>(flows_.size() + free_.size());
    if (!free_.empty()) {
      number = free_.back();
      free_.pop_back();
    }
    if (random_.next_below(2) == 0 ||
        !shares_->add_alone(number, made.route, made.weight, made.limit)) {
      shares_->add(number, made.route, made.weight, made.limit);
    }
    flows_[number] = made;
  }

  RandomStream random_;
  bool alike_;
  std::vector<double> capacities_;
  std::uint64_t most_hops_ = 1;
  std::optional<MaxMin> shares_;
  std::map<MaxMin::Flow, Made> flows_;
  std::vector<MaxMin::Flow> free_;
};

constexpr std::uint32_t cases = 3000;
constexpr int changes_a_case = 25;

void expect_of_all_cases(bool alike) {
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("case " + std::to_string(seed));
    RandomCase one(seed, alike);
    for (int step = 0; step < changes_a_case; ++step) {
      one.change();
      one.expect_fair();
      one.expect_as_from_scratch();
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

TEST(MaxMin, IsFairWhateverCameBefore) {
  expect_of_all_cases(false);
}

TEST(MaxMin, IsFairWhereManyLevelsAreEqual) {
  expect_of_all_cases(true);
}

}  // namespace
}  // namespace tessera::network::max_min_test
