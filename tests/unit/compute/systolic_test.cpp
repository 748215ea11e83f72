// Closed forms of systolic arrays: by hand, and against the cycles of the seed's code and of
// SCALE-Sim (tests/validation/reference).

#include "tessera/compute/systolic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/compute/convolution.hpp"
#include "tessera/core/error.hpp"

namespace tessera::compute::systolic_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using workload::MatrixProduct;
using List = std::vector<MatrixProduct>;

std::vector<std::uint64_t> completions(const std::string& name, const MatrixShape& array,
                                       const List& products) {
  return dataflows().at(name)()->completions(array, products);
}

std::vector<std::int64_t> by_paper(const std::string& name, const MatrixShape& array,
                                   const List& products) {
  return dataflows().at(name)()->paper_completions(array, products);
}

// By the name of the column.
using Row = std::map<std::string, std::string>;

std::uint64_t number(const Row& row, const std::string& column) {
  return static_cast<std::uint64_t>(std::atoll(row.at(column).c_str()));
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream words(line);
  for (std::string word; std::getline(words, word, ',');) {
    cells.push_back(word);
  }
  return cells;
}

std::vector<Row> rows_of(const std::string& name) {
  std::ifstream file(std::string(TESSERA_REFERENCE) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::vector<std::string> head;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells = cells_of(line);
    if (line.starts_with("#")) {
      continue;
    }
    if (head.empty()) {
      head = cells;
      continue;
    }
    cells.resize(head.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < head.size(); ++i) {
      rows.back()[head[i]] = cells[i];
    }
  }
  return rows;
}

// The products up to that of a row: the file holds only some of a sequence's rows.
List sequence_of(const Row& row) {
  const std::uint64_t side = number(row, "R");
  const MatrixProduct own{number(row, "n"), number(row, "p"), number(row, "m"), 1};
  const MatrixProduct large{side, side, side, 1};
  const MatrixProduct small{side / 2, side / 2, side / 2, 1};
  const std::string& name = row.at("sequence");
  List products(number(row, "index_in_sequence") + 1, own);
  if (name == "pipe_small_then_large") {
    products.front() = small;
  } else if (name == "pipe_large_then_small") {
    products.front() = large;
  }
  return products;
}

TEST(Systolic, TakesTheCyclesOfTheSeedsCode) {
  std::size_t compared = 0;
  for (const Row& row : rows_of("tpu_cycles.csv")) {
    const MatrixShape array{number(row, "R"), number(row, "C")};
    const List products = sequence_of(row);
    const std::string name = row.at("design") == "TSSA" ? "tpu" : "non-stationary";
    const std::string where = name + ' ' + row.at("sequence") + ' ' + row.at("R");
    if (name == "tpu" || products.back().rows <= array.rows) {
      const auto paper = by_paper(name, array, products);
      const std::int64_t before = paper.size() > 1 ? paper[paper.size() - 2] : 0;
      EXPECT_EQ(paper.back() - before, std::atoll(row.at("cycles_paper_formula").c_str())) << where;
    }  // else the column is for more rows than the array takes; ours cuts them
    if (row.at("abs_cycle_complete_freerun").empty()) {
      continue;  // never right there
    }
    const auto complete = completions(name, array, products);
    EXPECT_EQ(complete.back(), number(row, "abs_cycle_complete_freerun")) << where;
    if (row.at("sequence") != "pipe_n2R") {  // where the one before was never right
      const std::uint64_t earlier = complete.size() > 1 ? complete[complete.size() - 2] : 0;
      EXPECT_EQ(complete.back() - earlier, number(row, "freerun_increment")) << where;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 136U);
}

TEST(Systolic, TakesTheCyclesOfScaleSim) {
  const auto rows = rows_of("scalesim_cycles.csv");
  EXPECT_EQ(rows.size(), 79U);
  for (const Row& row : rows) {
    const std::uint64_t side = std::strtoull(row.at("array").c_str(), nullptr, 10);
    const MatrixShape array{side, side};
    const MatrixProduct product{number(row, "M"), number(row, "N"), number(row, "K"), 1};
    if (row.at("kind") == "conv" && number(row, "stride") == 1) {  // else M is rounded up there
      EXPECT_EQ(as_product({.height = number(row, "ih"),
                            .width = number(row, "iw"),
                            .channels = number(row, "ch"),
                            .kernel_height = number(row, "fh"),
                            .kernel_width = number(row, "fw"),
                            .filters = number(row, "nf")}),
                product);
    }
    const auto dataflow = dataflows().at(row.at("dataflow"))();
    const std::uint64_t cycles = systolic_cycles(*dataflow, array, product);
    EXPECT_EQ(cycles, number(row, "total_cycles") + 1) << row.at("dataflow") << ' ' << side;
    constexpr double close = 1e-8;
    EXPECT_NEAR(100 * mapping_efficiency(*dataflow, array, product),
                std::atof(row.at("mapping_eff_pct").c_str()), close);
    // Over the index of the last cycle there.
    EXPECT_NEAR(100 * utilisation(array, product, cycles - 1),
                std::atof(row.at("overall_util_pct").c_str()), close);
    // Over folds that are counted R - 1 cycles longer there, where something is loaded.
    const std::uint64_t longer = row.at("dataflow") == "os" ? 0 : side - 1;
    EXPECT_NEAR(
        100 * utilisation(array, product, cycles + longer * folds(*dataflow, array, product)),
        std::atof(row.at("compute_util_pct").c_str()), close);
  }
}

TEST(Systolic, HasTheFormsOfTheIssue) {
  const MatrixShape array{16, 12};
  for (const auto& [n, m, p] : {std::tuple{5U, 7U, 11U}, {1U, 1U, 1U}, {16U, 16U, 12U}}) {
    const MatrixProduct product{n, p, m, 1};
    EXPECT_EQ(completions("tpu", array, {product}).back(), n + p + 14U);
    EXPECT_EQ(completions("non-stationary", array, {product}).back(), m + p + 30U);
  }
  EXPECT_THAT(completions("tpu", array, {{5, 11, 7, 1}, {5, 11, 7, 1}, {5, 11, 7, 1}}),
              ElementsAre(30U, 35U, 40U));
  EXPECT_THAT(completions("non-stationary", array, {{5, 11, 7, 1}, {5, 11, 7, 1}}),
              ElementsAre(48U, 61U));
}

// Tiles of a product are not padded, however many rows stream through them.
TEST(Systolic, StreamsTheTilesOfALargeProduct) {
  const MatrixProduct large{1000, 256, 256, 1};
  EXPECT_EQ(completions("tpu", {128, 128}, {large}).back(), 4U * 1000 + 128 + 126);
  EXPECT_EQ(completions("tpu", {128, 128}, {{1000, 128, 128, 4}}).back(), 4U * 1000 + 128 + 126);
  // The last block of columns has one, and drains before the block that is full.
  EXPECT_EQ(completions("tpu", {8, 8}, {{2, 9, 8, 1}}).back(), 2U + 8 + 6);
  // Eight bands of 128 rows but for the last, 104, in two blocks of columns.
  const std::uint64_t intervals = 2U * (8 * (256 + 1) + 1000);
  EXPECT_EQ(completions("non-stationary", {128, 128}, {large}).back(),
            intervals - (256 + 1 + 104) + 256 + 128 + 254);
}

TEST(Systolic, RunsTheGroupsOfAConvolutionOneByOne) {
  const Convolution depthwise{.height = 14,
                              .width = 14,
                              .channels = 32,
                              .kernel_height = 3,
                              .kernel_width = 3,
                              .filters = 32,
                              .stride = 1,
                              .padding = 1,
                              .groups = 32};
  const MatrixProduct product = as_product(depthwise);
  EXPECT_EQ(product, (MatrixProduct{196, 1, 9, 32}));
  EXPECT_EQ(completions("ws", {8, 8}, {product}).back(), 32U * 2 * (2 * 8 + 8 + 196 - 2));
  EXPECT_EQ(completions("os", {8, 8}, {product}).back(), 32U * 25 * (8 + 8 + 9 - 2));
  EXPECT_EQ(completions("tpu", {8, 8}, {product}).back(), 32U * 2 * 196 + 1 + 6);
  EXPECT_DOUBLE_EQ(mapping_efficiency(*dataflows().at("ws")(), {8, 8}, product), 9.0 / (2 * 64));
  EXPECT_TRUE(is_possible(depthwise));
  EXPECT_FALSE(is_possible({.height = 4, .width = 4, .channels = 6, .filters = 6, .groups = 4}));
  EXPECT_FALSE(is_possible({.height = 2, .width = 9, .kernel_height = 3, .kernel_width = 3}));
}

// Equation (3) can give too few cycles, (4) with (5) even none.
TEST(Systolic, KeepsThePapersEquations) {
  EXPECT_THAT(by_paper("tpu", {4, 4}, {{16, 4, 4, 1}}), ElementsAre(10));
  EXPECT_THAT(completions("tpu", {4, 4}, {{16, 4, 4, 1}}), ElementsAre(22U));
  EXPECT_THAT(by_paper("tpu", {4, 4}, {{4, 4, 4, 1}, {2, 2, 2, 1}}), ElementsAre(10, 10));
  EXPECT_THAT(by_paper("non-stationary", {4, 4}, {{4, 4, 4, 1}, {2, 2, 2, 1}}),
              ElementsAre(14, 15));
  // Tiles are products: square ones take what they take.
  EXPECT_THAT(by_paper("tpu", {4, 4}, {{4, 8, 8, 1}}), ElementsAre(10 + 3 * 4));
  EXPECT_THAT(completions("tpu", {4, 4}, {{4, 8, 8, 1}}), ElementsAre(10U + 3 * 4));
  EXPECT_THAT(by_paper("non-stationary", {4, 4}, {{8, 8, 4, 1}}), ElementsAre(14 + 3 * 9));
  EXPECT_THAT(completions("non-stationary", {4, 4}, {{8, 8, 4, 1}}), ElementsAre(14U + 3 * 9));
  EXPECT_THAT(by_paper("ws", {4, 4}, {{4, 4, 4, 1}}), IsEmpty());
}

TEST(Systolic, SaysWhenTheCyclesAreTooManyToCount) {
  const std::uint64_t huge = std::uint64_t{1} << 40;
  for (const std::string& name : dataflows().names()) {
    EXPECT_THROW(completions(name, {1, 1}, {{huge, huge, huge, 1}}), ModelError) << name;
  }
  // Signed, so that half as many are too many.
  for (const std::string name : {"tpu", "non-stationary"}) {
    EXPECT_THROW(by_paper(name, {1, 1}, {{1 << 23, huge, huge >> 17, 1}, {1, huge, 1 << 23, 1}}),
                 ModelError)
        << name;
  }
}

}  // namespace
}  // namespace tessera::compute::systolic_test
