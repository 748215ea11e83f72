// Experts that do not all work on as many tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "read_text.hpp"

namespace tessera::workload::expert_loads_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Copies = std::vector<std::uint64_t>;

constexpr std::uint64_t s = 40;
constexpr std::uint64_t h = 96;

ReadResult read(const std::string& experts) {
  return read_text(
      "kind: transformer\nlayers: 3\nhidden: 96\nheads: 6\nsequence: 40\nvocabulary: 1000\n"
      "batch: 1\nbiases: false\nffn: 50\nexperts: {" +
      experts + "}\n");
}

Workload transformer(const std::string& experts) {
  const ReadResult result = read(experts);
  EXPECT_THAT(result.complaints, IsEmpty());
  return result.workload.value();
}

Copies copies_of(const std::string& experts, std::size_t layer = 1) {
  return find_operator(transformer(experts).layers[layer], "expert_up").loads.of_expert;
}

std::uint64_t sum_of(const Copies& copies) {
  return std::accumulate(copies.begin(), copies.end(), std::uint64_t{0});
}

const std::string given = "count: 4, top_k: 1, room: unlimited, shares: [4, 2, 1, 1]";

TEST(ExpertLoads, FollowTheSharesThatAreGiven) {
  EXPECT_THAT(copies_of(given), ElementsAre(20, 10, 5, 5));
  EXPECT_THAT(copies_of("count: 4, top_k: 1, room: unlimited"), ElementsAre(10, 10, 10, 10));
  EXPECT_THAT(copies_of("count: 4, top_k: 1"), IsEmpty()) << "padded";
}

TEST(ExpertLoads, BeyondTheCapacityAreDropped) {
  EXPECT_THAT(
      copies_of("count: 4, top_k: 1, room: dropped, capacity_factor: 1.5, shares: [4, 2, 1, "
                "1]"),
      ElementsAre(15, 10, 5, 5));
}

// A token goes to an expert once.
// FLOPs of a sample are those of the copies that are worked on, whatever room there would have
// been.
TEST(ExpertLoads, FlopsAreOfTheCopiesThatAreKept) {
  const auto flops = [](const std::string& experts) {
    return transformer("count: 4, top_k: 1, " + experts).flops_per_sample();
  };
  const Flops even = flops("room: unlimited");
  const std::string dropped = "room: dropped, shares: [4, 2, 1, 1]";
  EXPECT_EQ(flops(dropped + ", capacity_factor: 4"), even);
  EXPECT_EQ(flops("room: dropped, capacity_factor: 4"), even);
  // 10, 10, 5 and 5 of 40, of which nothing is rounded: a quarter of what experts do is missing.
  const Flops little = flops("room: dropped, capacity_factor: 0.5");
  EXPECT_EQ(2 * (even.count() - flops(dropped).count()), even.count() - little.count());
}

TEST(ExpertLoads, AreNoMoreThanTokens) {
  EXPECT_THAT(copies_of("count: 4, top_k: 2, room: unlimited, shares: [2, 1, 1, 0]"),
              ElementsAre(s, s / 2, s / 2, 0));
  for (const std::uint64_t copies :
       copies_of("count: 4, top_k: 2, room: unlimited, loads: zipf, skew: 10")) {
    EXPECT_LE(copies, s);
  }
}

TEST(ExpertLoads, AreDrawnForEachLayerAndSeed) {
  for (const std::string loads : {"zipf", "exponential"}) {
    const std::string text = "count: 16, top_k: 2, room: unlimited, loads: " + loads;
    const Copies first = copies_of(text);
    EXPECT_EQ(sum_of(first), 2 * s) << loads;
    EXPECT_EQ(first, copies_of(text)) << loads;
    EXPECT_NE(first, copies_of(text, 2)) << loads;
    EXPECT_NE(first, copies_of(text + ", seed: 2")) << loads;
    EXPECT_GT(*std::max_element(first.begin(), first.end()), 2 * s / 16);
  }
}

// 1, 1/2, 1/3, 1/4 of 25 / 12: 19.2, 9.6, 6.4, 4.8 of 40.
TEST(ExpertLoads, OfZipfAreAsPowersOfRanks) {
  Copies copies = copies_of("count: 4, top_k: 1, room: unlimited, loads: zipf");
  std::sort(copies.begin(), copies.end());
  EXPECT_THAT(copies, ElementsAre(5, 6, 10, 19));
  EXPECT_THAT(copies_of("count: 4, top_k: 1, room: unlimited, loads: zipf, skew: 0"), Each(10));
}

// Replicas wait for the one whose experts have most to do: of two with two experts each, 30 copies
// of 40; of four with one, 20.
TEST(ExpertLoads, OfTheBusiestPartAreWhatAllWaitFor) {
  const Workload workload = transformer(given);
  const Layer& even = workload.layers[1];
  const auto busy = [&](std::uint32_t parts) { return of_busiest(workload, parts)->layers[1]; };
  struct Case {
    std::uint32_t parts;
    std::uint64_t copies;  // for each expert
  };
  for (const Case& c : {Case{1, 10}, Case{2, 15}, Case{4, 20}}) {
    const Layer layer = busy(c.parts);
    const Operator& up = find_operator(layer, "expert_up");
    EXPECT_EQ(up.product, (MatrixProduct{c.copies, 50, h, 4}));
    EXPECT_EQ(up.forward_flops, up.product.flops());
    EXPECT_EQ(up.backward_flops, Flops(2 * up.forward_flops.count()));
    EXPECT_EQ(up.stored_whole, Bytes(2 * c.copies * 4 * h));
    EXPECT_EQ(up.parameters, 4 * 50 * h);
    EXPECT_EQ(find_operator(layer, "dispatch").exchange_elements, c.copies * 4 * h);
    EXPECT_EQ(find_operator(layer, "dispatch").input_elements, s * h);
    EXPECT_EQ(find_operator(layer, "combine").input_elements, c.copies * 4 * h);
    EXPECT_EQ(find_operator(layer, "combine").output_elements, s * h);
    EXPECT_EQ(find_operator(layer, "expert_gelu").output_elements, c.copies * 4 * 50);
    EXPECT_EQ(find_operator(layer, "router").product, find_operator(even, "router").product);
  }
  EXPECT_FALSE(of_busiest(transformer("count: 4, top_k: 1"), 2)) << "alike";
}

TEST(ExpertLoads, AreChecked) {
  EXPECT_THAT(read("count: 4, top_k: 1, loads: zipf").complaints,
              ElementsAre(AllOf(HasSubstr("experts.loads"), HasSubstr("room: dropped"))));
  EXPECT_THAT(read("count: 4, top_k: 1, room: unlimited, shares: [1, 2]").complaints,
              ElementsAre(AllOf(HasSubstr("experts.shares"), HasSubstr("4 numbers"))));
  EXPECT_THAT(read("count: 2, top_k: 1, room: unlimited, shares: [1, -2]").complaints,
              ElementsAre(HasSubstr("experts.shares")));
  EXPECT_THAT(read("count: 4, top_k: 2, room: unlimited, shares: [5, 1, 1, 1]").complaints,
              ElementsAre(AllOf(HasSubstr("experts.shares"),
                                HasSubstr("expert 0 would have 1.25 of the 2"))));
  EXPECT_THAT(read("count: 2, top_k: 1, room: unlimited, capacity_factor: 2").complaints,
              ElementsAre(AllOf(HasSubstr("experts.capacity_factor"), HasSubstr("no effect"))));
}

}  // namespace
}  // namespace tessera::workload::expert_loads_test
