#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "planning.hpp"

namespace tessera::plan::placement_given_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Planned;

// On the mesh of 4 x 8 tiles.
Planned given(const std::string& degrees, const std::string& tiles) {
  return testing::planned("{" + degrees + ", placement: {layout: given, tiles: " + tiles + "}}");
}

std::vector<std::uint32_t> tiles_of(const Planned& made) {
  std::vector<std::uint32_t> numbers;
  for (const EntityId tile : made.plan.placement.tiles()) {
    numbers.push_back(tile.value());
  }
  return numbers;
}

std::string complaint_of(const std::string& degrees, const std::string& tiles) {
  try {
    given(degrees, tiles);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(GivenStages, TakesNumbersRangesNamesAndCells) {
  EXPECT_THAT(tiles_of(given("pipeline: 2, tensor: 4", "[[5, 3, 4, 0], 8-11]")),
              ElementsAre(5, 3, 4, 0, 8, 9, 10, 11));
  EXPECT_THAT(tiles_of(given("pipeline: 2, tensor: 2", "[['tile (0,7)', [1, 0]], [[3, 7], 30]]")),
              ElementsAre(7, 8, 31, 30));
  EXPECT_THAT(tiles_of(given("tensor: 4, data: 2", "[[0-1, 6-7, 8-11]]")),
              ElementsAre(0, 1, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(tiles_of(given("pipeline: 3", "[4, 2, 'tile (3,0)']")), ElementsAre(4, 2, 24));
}

// Alone, a rectangle is arranged as a stage of `s-shape`; beside others its tiles come row by row.
TEST(GivenStages, TakesRectangles) {
  EXPECT_THAT(tiles_of(given("pipeline: 2, tensor: 4", "[[[0, 0, 2, 2]], [[2, 4, 2, 2]]]")),
              ElementsAre(0, 1, 9, 8, 20, 21, 29, 28));
  EXPECT_THAT(tiles_of(given("tensor: 4, data: 2", "[[[1, 2, 2, 3], 0, 1]]")),
              ElementsAre(10, 11, 12, 18, 19, 20, 0, 1));
}

TEST(GivenStages, ArrangesRectanglesNearAndFar) {
  const std::string text =
      "{tensor: 2, data: 2, placement: {layout: given, tiles: [[[0, 0, 2, "
      "2]]], tensor_group: [1, 2], tensor_members: ";
  EXPECT_THAT(tiles_of(testing::planned("{tensor: 4, data: 4, placement: {layout: given, tiles: "
                                        "[[[0, 0, 4, 4]]], tensor_members: far}}")),
              ElementsAre(0, 2, 18, 16, 1, 3, 19, 17, 9, 11, 27, 25, 8, 10, 26, 24));
  EXPECT_THAT(tiles_of(testing::planned(text + "near}}")), ElementsAre(0, 1, 8, 9));
}

TEST(GivenStages, BindsLayers) {
  const Planned made = given("pipeline: 3, tensor: 2",
                             "[{tiles: 0-1, layers: [0, 0]}, {tiles: [2, 3], layers: ['layer 0', "
                             "'layer 4']}, {tiles: 4-5, layers: [6, head]}]");
  EXPECT_EQ(made.plan.stages[0].chunks[0].end, 1U);
  EXPECT_EQ(made.plan.stages[1].chunks[0].first, 1U);
  EXPECT_EQ(made.plan.stages[1].chunks[0].end, 6U);
  EXPECT_EQ(made.plan.stages[2].chunks[0].end, 8U);
  EXPECT_THAT(tiles_of(made), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(GivenStages, BindsOperatorsAtTheEdgesOfLayers) {
  const workload::Workload workload = given("pipeline: 1", "[0]").workload;
  const auto& operators = workload.layers[3].operators;
  const auto layers = [&](const std::string& first) {
    return "[{tiles: 0, layers: [embedding, 'layer 1']}, {tiles: 1, layers: ['layer 2/" + first +
           "', head]}]";
  };
  EXPECT_EQ(given("pipeline: 2", layers(operators.front().name)).plan.stages[1].chunks[0].first,
            3U);
  EXPECT_THAT(complaint_of("pipeline: 2", layers(operators[1].name)),
              HasSubstr("begins with the first operator of a layer"));
}

TEST(GivenStages, SaysWhatIsWrong) {
  const std::string two = "pipeline: 2, tensor: 2";
  EXPECT_THAT(complaint_of(two, "[[0, 1], [1, 2]]"),
              HasSubstr("stage 1: tile 1, tile (0,1), is given twice"));
  EXPECT_THAT(complaint_of(two, "[[0, 1], [2]]"), HasSubstr("stage 1: has 1 tiles, but data"));
  EXPECT_THAT(complaint_of(two, "[[0, 1, 2], [3, 4]]"), HasSubstr("stage 0: has 3 tiles"));
  EXPECT_THAT(complaint_of(two, "[[0, 1]]"), HasSubstr("has 1 stages, but pipeline = 2"));
  EXPECT_THAT(complaint_of(two, "[[0, tile], [3, 4]]"), HasSubstr("there is no tile 'tile'"));
  EXPECT_THAT(complaint_of(two, "[[0, 32], [3, 4]]"),
              HasSubstr("there is no tile '32'; tiles are numbered 0 to 31"));
  EXPECT_THAT(complaint_of(two, "[31-32, [3, 4]]"), HasSubstr("reaches past the machine"));
  EXPECT_THAT(complaint_of(two, "[4-3, [3, 4]]"), HasSubstr("is empty"));
  EXPECT_THAT(complaint_of(two, "[[[4, 0], 1], [3, 4]]"),
              HasSubstr("(4,0) does not lie in the grid of 4 x 8"));
  EXPECT_THAT(complaint_of(two, "[[[3, 0, 2, 1]], [3, 4]]"),
              HasSubstr("the rectangle of 2 x 1 at (3,0) does not lie in the grid"));
  EXPECT_THAT(complaint_of(two, "[[[1, 2, 3], 1], [3, 4]]"), HasSubstr("expected [row, column]"));
  EXPECT_THAT(complaint_of(two, "[{layers: [0, 1]}, 0-1]"), HasSubstr("missing 'tiles'"));
  EXPECT_THAT(complaint_of(two, "[{tile: 0-1}, 2-3]"), HasSubstr("unknown key 'tile'"));
  EXPECT_THAT(complaint_of(two, "~"), HasSubstr("needs a list with the tiles of each stage"));
}

TEST(GivenStages, SaysWhichLayersAreWrong) {
  const auto layers = [](const std::string& first, const std::string& second) {
    return complaint_of("pipeline: 2", "[{tiles: 0" + first + "}, {tiles: 1" + second + "}]");
  };
  EXPECT_THAT(layers(", layers: [0, 3]", ""), HasSubstr("for all stages or none"));
  EXPECT_THAT(layers("", ", layers: [4, 7]"), HasSubstr("for all stages or none"));
  EXPECT_THAT(layers(", layers: [1, 3]", ", layers: [4, 7]"),
              HasSubstr("must begin with layer 0, 'embedding'"));
  EXPECT_THAT(layers(", layers: [0, 3]", ", layers: [5, 7]"),
              HasSubstr("must begin with layer 4, 'layer 3'"));
  EXPECT_THAT(layers(", layers: [0, 3]", ", layers: [4, 6]"),
              HasSubstr("must end with the last layer, 'head'"));
  EXPECT_THAT(layers(", layers: [0, 7]", ", layers: [8, 9]"), HasSubstr("no layer '8'"));
  EXPECT_THAT(layers(", layers: [0, 3]", ", layers: [4, 3]"), HasSubstr("has no layer"));
  EXPECT_THAT(layers(", layers: [0]", ", layers: [4, 7]"), HasSubstr("expected layers: [first"));
}

TEST(GivenStages, IsOnlyForItsLayout) {
  try {
    testing::planned("{placement: {tiles: [0]}}");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is only for 'layout: given'"));
  }
}

}  // namespace
}  // namespace tessera::plan::placement_given_test
