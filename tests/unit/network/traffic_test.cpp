// Patterns and processes of synthetic traffic.

#include "tessera/network/traffic/traffic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tessera::network::traffic_test {
namespace {

config::Section section_of(const std::string& text, config::Diagnostics& diagnostics) {
  return {config::parse("t.yaml", text, diagnostics), "", diagnostics};
}

std::unique_ptr<TrafficPattern> pattern(const std::string& name, const TrafficNodes& nodes,
                                        const std::string& text = "{}") {
  config::Diagnostics diagnostics;
  config::Section section = section_of(text, diagnostics);
  auto made = traffic_patterns().at(name)(section, nodes);
  diagnostics.throw_if_any();
  return made;
}

constexpr TrafficNodes square{64, 8, 8};

TEST(TrafficPattern, SendsWhereItSays) {
  RandomStream random(1, EntityId(0), 0);
  EXPECT_EQ(pattern("transpose", square)->target(8 * 2 + 5, random), 8U * 5 + 2);
  EXPECT_EQ(pattern("bit-complement", square)->target(5, random), 58U);
  EXPECT_EQ(pattern("tornado", square)->target(0, random), 8U * 3 + 3);
  EXPECT_EQ(pattern("neighbour", square)->target(63, random), 0U);
  EXPECT_EQ(pattern("neighbour", square)->target(8 * 2 + 3, random), 8U * 3 + 4);
}

TEST(TrafficPattern, PermutationsAreOnesAndUniformIsEven) {
  RandomStream random(1, EntityId(0), 0);
  for (const char* name : {"transpose", "bit-complement", "tornado", "neighbour"}) {
    std::set<std::uint32_t> targets;
    const auto made = pattern(name, square);
    for (std::uint32_t node = 0; node < 64; ++node) {
      targets.insert(made->target(node, random));
    }
    EXPECT_EQ(targets.size(), 64U) << name;
  }
  std::vector<int> hits(64, 0);
  const auto uniform = pattern("uniform", square);
  for (int i = 0; i < 64'000; ++i) {
    ++hits[uniform->target(0, random)];
  }
  for (const int hit : hits) {
    EXPECT_NEAR(hit, 1000, 160);
  }
}

TEST(TrafficPattern, FixedOnesGoWhereTheyGoWhateverIsDrawn) {
  for (const std::string& name : traffic_patterns().names()) {
    const auto made = pattern(name, square);
    std::set<std::uint32_t> targets;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      RandomStream random(seed, EntityId(0), 0);
      targets.insert(made->target(3, random));
    }
    EXPECT_EQ(targets.size() == 1, made->is_fixed()) << name;
  }
}

TEST(TrafficPattern, HotspotTakesItsShare) {
  RandomStream random(1, EntityId(0), 0);
  const auto made = pattern("hotspot", square, "{spots: [7, 9], share: 0.5}");
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint32_t target = made->target(0, random);
    hits += target == 7 || target == 9 ? 1 : 0;
  }
  EXPECT_NEAR(hits, 5000 + 5000 * 2 / 64, 250);
}

TEST(TrafficPattern, RefusesOtherMachines) {
  EXPECT_THROW(pattern("transpose", {32, 4, 8}), ConfigError);
  EXPECT_THROW(pattern("tornado", {32, 0, 0}), ConfigError);
  EXPECT_THROW(pattern("hotspot", square, "{spots: [64]}"), ConfigError);
  EXPECT_THROW(pattern("hotspot", square, "{spots: [3, 5, 3]}"), ConfigError);
}

struct Moments {
  double rate = 0;
  double bunching = 0;  // variance over mean of counts in windows of 64 cycles
};

Moments moments_of(const std::string& name, double rate, const std::string& text = "{}") {
  config::Diagnostics diagnostics;
  config::Section section = section_of(text, diagnostics);
  const auto process = injection_processes().at(name)(section, rate);
  diagnostics.throw_if_any();
  RandomStream random(5, EntityId(3), 0);
  InjectionState state;
  constexpr std::uint64_t windows = 8000;
  std::vector<double> counts(windows, 0);
  std::uint64_t cycle = process->gap(state, random, true, ~std::uint64_t{0});
  while (cycle < windows * 64) {
    counts[cycle / 64] += 1;
    cycle += 1 + process->gap(state, random, false, ~std::uint64_t{0});
  }
  double sum = 0;
  double squares = 0;
  for (const double count : counts) {
    sum += count;
    squares += count * count;
  }
  const double mean = sum / windows;
  return {mean / 64, (squares / windows - mean * mean) / mean};
}

TEST(InjectionProcess, BernoulliHasItsRateAndNoMemory) {
  for (const double rate : {0.003, 0.1, 0.7}) {
    const Moments moments = moments_of("bernoulli", rate);
    EXPECT_NEAR(moments.rate, rate, 0.03 * rate);
    EXPECT_NEAR(moments.bunching, 1 - rate, 0.1);
  }
  EXPECT_DOUBLE_EQ(moments_of("bernoulli", 1).rate, 1);
}

// Bursts without a message cost time, of which a rate that is next to none has as many as it likes.
TEST(InjectionProcess, LooksNoFurtherThanItIsAskedTo) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("p.yaml", "burst: 300\non: 0.4\n", diagnostics), "",
                          diagnostics);
  const auto process = injection_processes().at("on-off")(section, 1e-12);
  diagnostics.throw_if_any();
  RandomStream random(5, EntityId(3), 0);
  InjectionState state;
  EXPECT_GT(process->gap(state, random, true, 1000), 1000U);
}

TEST(InjectionProcess, OnOffHasItsRateInBursts) {
  const Moments moments = moments_of("on-off", 0.1, "{burst: 40, on: 0.25}");
  EXPECT_NEAR(moments.rate, 0.1, 0.005);
  EXPECT_GT(moments.bunching, 4);
  EXPECT_THROW(moments_of("on-off", 0.5, "{on: 0.25}"), ConfigError);
}

}  // namespace
}  // namespace tessera::network::traffic_test
