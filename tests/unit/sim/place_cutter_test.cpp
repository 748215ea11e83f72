#include "cuts/place_cutter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::sim::place_cutter_test {
namespace {

using ::testing::ElementsAre;

struct Talk {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint64_t messages = 0;
};

machine::WeightedGraph graph_of(std::uint32_t vertices, const std::vector<Talk>& talks) {
  machine::WeightedGraph graph;
  graph.vertex_weights.assign(vertices, 1);
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    for (const Talk& talk : talks) {
      if (talk.a == vertex || talk.b == vertex) {
        graph.neighbours.push_back(talk.a == vertex ? talk.b : talk.a);
        graph.edge_weights.push_back(talk.messages);
      }
    }
    graph.first.push_back(graph.neighbours.size());
  }
  return graph;
}

// Side by side.
std::vector<Place> row_of(std::size_t groups) {
  std::vector<Place> places;
  for (std::size_t x = 0; x < groups; ++x) {
    places.push_back({static_cast<double>(x), 0});
  }
  return places;
}

std::vector<std::uint32_t> halves(const machine::WeightedGraph& graph, std::size_t groups) {
  return cut_where_few_cross(graph, std::vector<std::uint64_t>(groups, 10), row_of(groups), 2);
}

TEST(PlaceCutter, IsUnevenByAThirdAtMost) {
  // A chain of six: four and two are a third more and less than three.
  const std::vector<Talk> early{{0, 1, 1}, {1, 2, 5}, {2, 3, 9}, {3, 4, 8}, {4, 5, 9}};
  EXPECT_THAT(halves(graph_of(6, early), 6), ElementsAre(0, 0, 1, 1, 1, 1));
  const std::vector<Talk> alike{{0, 1, 1}, {1, 2, 7}, {2, 3, 7}, {3, 4, 7}, {4, 5, 1}};
  EXPECT_THAT(halves(graph_of(6, alike), 6), ElementsAre(0, 0, 0, 1, 1, 1)) << "of equal ones";
}

TEST(PlaceCutter, CountsAChannelWhereMostOfItsMessagesAre) {
  // Vertex 6 is a channel that all but the first group read.
  std::vector<Talk> talks{{0, 1, 9}, {1, 2, 9}, {2, 3, 9}, {3, 4, 9}, {4, 5, 9}};
  for (const std::uint32_t group : {1U, 2U, 3U, 4U, 5U}) {
    talks.push_back({group, 6, 10});
  }
  EXPECT_THAT(halves(graph_of(7, talks), 6), ElementsAre(0, 0, 1, 1, 1, 1));
}

TEST(PlaceCutter, CutsAcrossRowsToo) {
  const std::vector<Place> square{{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  const auto graph = graph_of(4, {{0, 1, 9}, {2, 3, 9}, {0, 2, 1}, {1, 3, 1}});
  EXPECT_THAT(cut_where_few_cross(graph, std::vector<std::uint64_t>(4, 1), square, 2),
              ElementsAre(0, 0, 1, 1));
}

// Column by column the third group of twice the load is the other half. Row by row it is in the
// middle: fewer messages cross there, and a half would have half as much again as its share.
TEST(PlaceCutter, TakesNoUnevenCutWhereTheOtherOrderHasAnEvenOne) {
  const auto graph = graph_of(3, {{1, 2, 10}, {0, 1, 1}, {0, 2, 1}});
  const std::vector<std::uint64_t> load{1, 1, 2};
  EXPECT_THAT(cut_where_few_cross(graph, load, std::vector<Place>{{0, 0}, {1, 2}, {2, 1}}, 2),
              ElementsAre(0, 0, 1));
  EXPECT_THAT(cut_where_few_cross(graph, load, std::vector<Place>{{0, 0}, {2, 1}, {1, 2}}, 2),
              ElementsAre(0, 0, 1));
}

TEST(PlaceCutter, GivesEachRankAGroup) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t groups = 2 + below(30);
    const std::uint32_t vertices = groups + below(4);
    std::vector<Talk> talks;
    for (std::uint32_t i = below(60); i > 0; --i) {
      const std::uint32_t a = below(groups);
      const std::uint32_t b = below(vertices);
      if (a != b) {
        talks.push_back({a, b, 1 + below(100)});
      }
    }
    std::vector<std::uint64_t> load;
    std::vector<Place> place;
    for (std::uint32_t group = 0; group < groups; ++group) {
      load.push_back(below(50));
      place.push_back({static_cast<double>(below(6)), static_cast<double>(below(6))});
    }
    const std::uint32_t ranks = 2 + below(groups - 1);
    const auto owner = cut_where_few_cross(graph_of(vertices, talks), load, place, ranks);
    ASSERT_EQ(owner.size(), groups);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      EXPECT_NE(std::find(owner.begin(), owner.end(), rank), owner.end())
          << "round " << round << ", rank " << rank << " of " << ranks;
    }
    EXPECT_LT(*std::max_element(owner.begin(), owner.end()), ranks);
  }
}

}  // namespace
}  // namespace tessera::sim::place_cutter_test
