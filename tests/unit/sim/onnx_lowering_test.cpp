#include "tessera/sim/onnx/lowering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lowered.hpp"

namespace tessera::sim::onnx_lowering_test {
namespace {

using onnx::ModelMaker;
using onnx::Numbers;
using onnx::set;
using onnx::set_text;
using testing::expect_all_macs;
using testing::lower;
using testing::Lowered;

ModelMaker product(const Numbers& a, const Numbers& b) {
  ModelMaker model;
  model.input("a", a);
  model.weight("b", b);
  model.node("MatMul", {"a", "b"}, {"c"}, "product");
  model.output("c");
  return model;
}

TEST(LoweringOfProducts, MultipliesAsTheGraphCounts) {
  expect_all_macs(*lower(product({7, 30}, {30, 19}).read().graph));
  expect_all_macs(*lower(product({3, 5, 7, 30}, {30, 19}).read().graph));
  expect_all_macs(*lower(product({3, 5, 7, 30}, {3, 5, 30, 19}).read().graph));
  expect_all_macs(*lower(product({30}, {30, 19}).read().graph));
}

// Weights are in whole blocks of the array, here of 8 columns.
TEST(LoweringOfProducts, ReadsEachOperandOnce) {
  const auto lowered = lower(product({3, 5, 7, 30}, {30, 19}).read().graph);
  EXPECT_EQ(lowered->loaded_and_stored("product"),
            Bytes(4 * (3 * 5 * 7 * 30 + 30 * 24 + 3 * 5 * 7 * 19)));
  const auto half = lower(product({3, 5, 7, 30}, {30, 19}).read().graph, false,
                          npu::testing::mobile, DataType::fp16);
  EXPECT_EQ(half->loaded_and_stored("product"),
            Bytes(2 * (3 * 5 * 7 * 30 + 30 * 24 + 3 * 5 * 7 * 19)));
}

ModelMaker convolution(const Numbers& image, const Numbers& weights,
                       const std::string& op = "Conv") {
  ModelMaker model;
  model.input("x", image);
  model.weight("w", weights);
  model.node(op, {"x", "w"}, {"y"}, "convolution");
  model.output("y");
  return model;
}

TEST(LoweringOfConvolutions, MultipliesAsTheGraphCounts) {
  ModelMaker padded = convolution({2, 6, 13, 17}, {10, 6, 3, 3});
  set(padded.proto.mutable_graph()->mutable_node(0), "pads", Numbers{1, 0, 0, 2});
  set(padded.proto.mutable_graph()->mutable_node(0), "strides", Numbers{2, 1});
  expect_all_macs(*lower(padded.read().graph));
  ModelMaker grouped = convolution({1, 12, 9, 9}, {12, 1, 3, 3});
  set(grouped.proto.mutable_graph()->mutable_node(0), "group", 12);
  expect_all_macs(*lower(grouped.read().graph));
  expect_all_macs(*lower(convolution({1, 5, 40}, {7, 5, 6}).read().graph));
  expect_all_macs(*lower(convolution({1, 3, 6, 9, 9}, {4, 3, 2, 3, 3}).read().graph));
  expect_all_macs(*lower(convolution({1, 2, 20'000}, {3, 2, 5}).read().graph));
  expect_all_macs(*lower(convolution({1, 6, 5, 7}, {6, 4, 2, 2}, "ConvTranspose").read().graph));
}

TEST(LoweringOfAttention, MultipliesAsTheGraphCounts) {
  ModelMaker model;
  model.add_opset("com.microsoft", 1);
  model.input("q", {2, 5, 48});
  model.input("k", {2, 5, 24});
  model.input("v", {2, 5, 24});
  model.input("past_k", {2, 4, 11, 6});
  model.input("past_v", {2, 4, 11, 6});
  auto* const node = model.node("GroupQueryAttention", {"q", "k", "v", "past_k", "past_v"},
                                {"y", "pk", "pv"}, "a");
  node->set_domain("com.microsoft");
  set(node, "num_heads", 8);
  set(node, "kv_num_heads", 4);
  model.output("y");
  // Cores compute what the mask hides, too.
  const auto lowered = lower(model.read().graph);
  EXPECT_EQ(lowered->macs(), 2U * 8 * 5 * 16 * 2 * 6);
  EXPECT_EQ(lowered->macs_of_tiles(), lowered->macs());
  EXPECT_EQ(onnx::total_cost(lowered->graph).matrix, Flops(2 * 8 * 5 * (2 * 16 - 5) * 2 * 6));
}

ModelMaker recurrent(const std::string& op, std::int64_t gates, std::int64_t directions) {
  ModelMaker model;
  model.input("x", {6, 2, 10});
  model.weight("w", {directions, gates * 8, 10});
  model.weight("r", {directions, gates * 8, 8});
  auto* const node = model.node(op, {"x", "w", "r"}, {"y"}, "cell");
  set(node, "hidden_size", 8);
  if (directions == 2) {
    set_text(node, "direction", "bidirectional");
  }
  model.output("y");
  return model;
}

TEST(LoweringOfRecurrentCells, MultipliesAsTheGraphCounts) {
  expect_all_macs(*lower(recurrent("LSTM", 4, 1).read().graph));
  expect_all_macs(*lower(recurrent("GRU", 3, 2).read().graph));
  expect_all_macs(*lower(recurrent("RNN", 1, 1).read().graph));
}

TEST(LoweringOfRecurrentCells, StepsWaitForEachOtherAndDirectionsDoNot) {
  const auto lowered = lower(recurrent("GRU", 3, 2).read().graph);
  // Of each direction: inputs, and two operators a step.
  ASSERT_EQ(lowered->operators.size(), 2U * (1 + 2 * 6));
  for (std::uint32_t i = 0; i < lowered->operators.size(); ++i) {
    const auto& after = lowered->operators[i].after;
    if (i == 0 || i == 13) {
      EXPECT_TRUE(after.empty()) << i;
    } else {
      EXPECT_EQ(after, std::vector<std::uint32_t>{i - 1}) << i;
    }
  }
}

// Two branches that meet; a view between.
ModelMaker branches() {
  ModelMaker model;
  model.input("x", {4, 24});
  model.weight("w", {24, 24});
  model.weight("u", {24, 24});
  model.numbers("flat", {96});
  model.node("MatMul", {"x", "w"}, {"left"}, "left");
  model.node("MatMul", {"x", "u"}, {"right"}, "right");
  model.node("Reshape", {"right", "flat"}, {"view"}, "view");
  model.node("Softmax", {"view"}, {"soft"}, "soft");
  model.node("Reshape", {"left", "flat"}, {"flat_left"}, "flat left");
  model.node("Add", {"flat_left", "soft"}, {"sum"}, "sum");
  model.output("sum");
  return model;
}

TEST(Dependencies, AreThoseOfTheGraphThroughViews) {
  const auto lowered = lower(branches().read().graph);
  ASSERT_EQ(lowered->operators.size(), 4U);  // views are nothing
  EXPECT_TRUE(lowered->waits("soft", "right"));
  EXPECT_FALSE(lowered->waits("soft", "left"));
  EXPECT_FALSE(lowered->waits("right", "left"));
  EXPECT_TRUE(lowered->waits("sum", "left"));
  EXPECT_TRUE(lowered->waits("sum", "soft"));
}

TEST(Dependencies, AreOnTheNodeBeforeWhenLayersAreDrained) {
  const auto lowered = lower(branches().read().graph, true);
  EXPECT_TRUE(lowered->waits("right", "left"));
  EXPECT_TRUE(lowered->waits("soft", "left"));
}

TEST(FreeTypes, HaveANumberAndPassDependenciesOn) {
  const auto lowered = lower(branches().read().graph, false, npu::testing::mobile, std::nullopt,
                             {"Softmax", "Reshape"});
  ASSERT_EQ(lowered->operators.size(), 6U);  // the views too
  for (const char* name : {"view", "soft", "flat left"}) {
    EXPECT_EQ(lowered->operators[lowered->number(name)].tiles->groups(), 0U);
    EXPECT_EQ(lowered->loaded_and_stored(name), Bytes());
  }
  EXPECT_GT(lowered->operators[lowered->number("sum")].tiles->groups(), 0U);
  EXPECT_TRUE(lowered->waits("sum", "right"));
  EXPECT_FALSE(lowered->waits("soft", "left"));
}

TEST(LoweringOfRows, ReadsAndWritesWhatTheGraphDoes) {
  ModelMaker model;
  model.input("x", {6, 5, 40});
  model.weight("gain", {40});
  model.weight("shift", {40});
  model.node("LayerNormalization", {"x", "gain", "shift"}, {"norm"}, "norm");
  auto* const mean = model.node("ReduceMean", {"norm"}, {"mean"}, "mean");
  set(mean, "axes", Numbers{2});
  model.node("Transpose", {"mean"}, {"turned"}, "turned");
  model.output("turned");
  const auto lowered = lower(model.read().graph);
  EXPECT_EQ(lowered->loaded_and_stored("norm"), Bytes(4 * (2 * 1200 + 80)));
  EXPECT_EQ(lowered->loaded_and_stored("mean"), Bytes(4 * (1200 + 30)));
  EXPECT_EQ(lowered->loaded_and_stored("turned"), Bytes(4 * 60));
}

// As the operator `transpose` of a list, cut by rows where it is read and by columns where it is
// written; sides of one move nothing.
TEST(LoweringOfMovement, TurnsAMatrixAsTheOperatorDoes) {
  const auto groups = [](const std::vector<std::int64_t>& sides, const Numbers& axes) {
    ModelMaker model;
    model.input("x", sides);
    set(model.node("Transpose", {"x"}, {"turned"}, "turned"), "perm", axes);
    model.node("Relu", {"turned"}, {"y"}, "y");
    model.output("y");
    const auto lowered = lower(model.read().graph);
    const std::size_t count = lowered->operators.size();
    return count == 1 ? 0 : lowered->operators[lowered->number("turned")].tiles->groups();
  };
  EXPECT_EQ(groups({1, 300}, {1, 0}), 0U);
  EXPECT_EQ(groups({300, 1, 2}, {0, 2, 1}), 0U);
  const std::uint64_t square = groups({500, 300}, {1, 0});
  EXPECT_GT(square, 1U);
  EXPECT_EQ(groups({1, 20, 25, 300}, {0, 3, 1, 2}), square);
  EXPECT_NE(groups({300, 1, 500}, {1, 2, 0}), 0U);
}

// Each tensor's bytes once, as the import counts them, whatever the sides.
TEST(LoweringOfElementWise, ReadsSmallerOperandsInProportion) {
  ModelMaker model;
  model.input("x", {30, 50});
  model.weight("row", {50});
  model.weight("one", {1});
  model.node("Mul", {"x", "row"}, {"y"}, "mul");
  model.node("Add", {"y", "one"}, {"z"}, "add");
  model.node("Concat", {"y", "z"}, {"both"}, "concat");
  set(model.proto.mutable_graph()->mutable_node(2), "axis", 0);
  model.output("both");
  const auto lowered = lower(model.read().graph);
  EXPECT_EQ(lowered->loaded_and_stored("mul"), Bytes(4 * (1500 + 50 + 1500)));
  EXPECT_EQ(lowered->loaded_and_stored("add"), Bytes(4 * 3000));
  EXPECT_EQ(lowered->loaded_and_stored("concat"), Bytes(4 * 6000));
}

TEST(Epilogues, AreOneOperatorWithTheirProduct) {
  ModelMaker model = product({8, 30}, {30, 20});
  model.weight("bias", {20});
  model.node("Add", {"c", "bias"}, {"d"}, "add");
  model.node("Relu", {"d"}, {"e"}, "relu");
  model.output("e");
  model.proto.mutable_graph()->mutable_output()->DeleteSubrange(0, 1);
  onnx::Graph graph = model.read().graph;
  onnx::optimize(graph, onnx::Level::extended);
  const auto lowered = lower(graph);
  ASSERT_EQ(lowered->operators.size(), 1U);
  EXPECT_EQ(lowered->loaded_and_stored(lowered->operators[0].name),
            Bytes(4 * (8 * 30 + 30 * 24 + 8 * 20 + 20)));
  expect_all_macs(*lowered);
}

TEST(LoweringOfLookups, ReadsTheRowsThatAreTaken) {
  ModelMaker model;
  model.weight("table", {1000, 16});
  model.input("ids", {2, 5}, 7);
  model.node("Gather", {"table", "ids"}, {"rows"}, "gather");
  model.output("rows");
  const auto lowered = lower(model.read().graph);
  EXPECT_EQ(lowered->loaded_and_stored("gather"), Bytes(4 * 160 + 8 * 10 + 4 * 160));
}

TEST(LoweringOfPooling, ReadsTheImageAndComparesWindows) {
  ModelMaker model;
  model.input("x", {1, 4, 12, 12});
  auto* const pool = model.node("MaxPool", {"x"}, {"y"}, "pool");
  set(pool, "kernel_shape", Numbers{3, 3});
  set(pool, "strides", Numbers{2, 2});
  model.node("GlobalAveragePool", {"y"}, {"z"}, "global");
  model.output("z");
  const auto lowered = lower(model.read().graph);
  // Windows reach 11 of 12 rows and columns.
  EXPECT_EQ(lowered->loaded_and_stored("pool"), Bytes(4 * 4 * (11 * 11 + 25)));
  EXPECT_EQ(lowered->loaded_and_stored("global"), Bytes(4 * 4 * (25 + 1)));
}

TEST(LoweringOfUnknownOperators, MovesWhatTheyReadAndWrite) {
  ModelMaker model;
  model.add_opset("elsewhere", 1);
  model.input("x", {30, 50});
  model.node("Relu", {"x"}, {"y"}, "relu");
  model.node("Strange", {"y"}, {"z"}, "strange")->set_domain("elsewhere");
  model.output("z");
  onnx::ImportOptions options;
  options.unknown = onnx::Unknown::traffic;
  const auto lowered = lower(model.read(options).graph);
  EXPECT_GE(lowered->loaded_and_stored("strange"), Bytes(4 * 1500));
  EXPECT_TRUE(lowered->waits("strange", "relu"));
}

}  // namespace
}  // namespace tessera::sim::onnx_lowering_test
