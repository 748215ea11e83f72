#include "tessera/sim/onnx/lowering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "../npu/making.hpp"
#include "../onnx/model.hpp"

namespace tessera::sim::onnx_lowering_test {
namespace {

using onnx::ModelMaker;
using onnx::Numbers;
using onnx::set;
using onnx::set_text;

struct Lowered {
  npu::CoreConfig core;
  onnx::Graph graph;
  std::vector<executor::ChipOperator> operators;

  std::uint64_t macs() const {
    std::uint64_t sum = 0;
    for (const auto& op : operators) {
      sum += op.tiles->macs();
    }
    return sum;
  }
  // As the tiles' own programs multiply them.
  std::uint64_t macs_of_tiles() const {
    std::uint64_t sum = 0;
    for (const auto& op : operators) {
      std::map<std::uint64_t, std::uint64_t> of_shape;
      for (std::uint64_t group = 0; group < op.tiles->groups(); ++group) {
        for (std::uint64_t step = 0; step < op.tiles->steps(); ++step) {
          const std::uint64_t shape = op.tiles->tile(group, step).shape;
          const auto found = of_shape.find(shape);
          sum += found != of_shape.end()
                     ? found->second
                     : of_shape.emplace(shape, op.tiles->program(shape).macs()).first->second;
        }
      }
    }
    return sum;
  }
  std::uint32_t number(const std::string& name) const {
    for (std::uint32_t i = 0; i < operators.size(); ++i) {
      if (operators[i].name == name) {
        return i;
      }
    }
    throw InternalError("there is no operator " + name);
  }
  // Whether one operator waits for another, directly or through others.
  bool waits(const std::string& later, const std::string& earlier) const {
    std::set<std::uint32_t> open{number(later)};
    const std::uint32_t wanted = number(earlier);
    while (!open.empty()) {
      const std::uint32_t at = *open.rbegin();
      open.erase(at);
      if (at == wanted) {
        return true;
      }
      open.insert(operators[at].after.begin(), operators[at].after.end());
    }
    return false;
  }
  Bytes loaded_and_stored(const std::string& name) const {
    Bytes sum;
    for (const npu::Operand& operand : operators[number(name)].tiles->operands()) {
      sum += operand.bytes;
    }
    return sum;
  }
};

std::unique_ptr<Lowered> lower(onnx::Graph graph, bool drain = false,
                               const char* core = npu::testing::mobile,
                               std::optional<DataType> data_type = std::nullopt,
                               const std::set<std::string>& free = {}) {
  auto lowered = std::make_unique<Lowered>();
  lowered->core = npu::testing::core_from(core);
  lowered->graph = std::move(graph);
  lowered->operators = lower_graph(lowered->graph, {lowered->core, 4, data_type, drain, free});
  return lowered;
}

// Both ways of counting, and the graph's.
void expect_all_macs(const Lowered& lowered) {
  const std::uint64_t graph = onnx::total_cost(lowered.graph).matrix.count() / 2;
  EXPECT_EQ(lowered.macs(), graph);
  EXPECT_EQ(lowered.macs_of_tiles(), graph);
}

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

// Bytes of the operand `weights` of the operator "product".
Bytes weights_of(const Lowered& lowered) {
  for (const npu::Operand& operand :
       lowered.operators[lowered.number("product")].tiles->operands()) {
    if (operand.name == "weights") {
      return operand.bytes;
    }
  }
  throw InternalError("an operator without weights");
}

constexpr int uint8 = 2;
constexpr int int8 = 3;
constexpr int int32 = 6;

// 64 x 48 weights of 4 bits with blocks of 16 that share a scale and a zero point of 4 bits.
TEST(LoweringOfPackedWeights, TakesWhatMatMulNBitsHas) {
  ModelMaker model;
  model.add_opset("com.microsoft", 1);
  model.input("a", {3, 64});
  model.weight("b", {48, 4, 8}, uint8);
  model.weight("scales", {48 * 4});
  model.weight("zeros", {48 * 2}, uint8);
  auto* const node = model.node("MatMulNBits", {"a", "b", "scales", "zeros"}, {"c"}, "product");
  node->set_domain("com.microsoft");
  set(node, "K", 64);
  set(node, "N", 48);
  set(node, "bits", 4);
  set(node, "block_size", 16);
  model.output("c");
  const auto lowered = lower(model.read().graph);
  expect_all_macs(*lowered);
  EXPECT_EQ(weights_of(*lowered), Bytes(48 * 32 + 48 * 4 * 4 + 48 * 2));
  const auto half = lower(model.read().graph, false, npu::testing::mobile, DataType::fp16);
  EXPECT_EQ(weights_of(*half), Bytes(48 * 32 + 48 * 4 * 2 + 48 * 2));
}

TEST(LoweringOfPackedWeights, TakesWhatIntegerProductsHave) {
  struct Case {
    const char* domain;
    const char* op;
    std::vector<std::string> inputs;
    int left;
    std::uint64_t bytes;
  };
  const std::uint64_t all = 64 * 48;
  const std::vector<Case> cases{
      {"", "MatMulInteger", {"a", "b", "za", "zb"}, uint8, all + 48},
      {"", "QLinearMatMul", {"a", "sa", "za", "b", "sb", "zb", "sa", "za"}, uint8, all + 5 * 48},
      {"com.microsoft",
       "MatMulIntegerToFloat",
       {"a", "b", "sa", "sb", "za", "zb"},
       uint8,
       all + 5 * 48},
      {"com.microsoft", "DynamicQuantizeMatMul", {"a", "b", "sb", "zb"}, 1, all + 5 * 48}};
  for (const Case& one : cases) {
    ModelMaker model;
    model.add_opset("com.microsoft", 1);
    model.input("a", {3, 64}, one.left);
    model.weight("b", {64, 48}, int8);
    model.weight("sa", {1});
    model.weight("za", {1}, uint8);
    model.weight("sb", {48});
    model.weight("zb", {48}, int8);
    model.node(one.op, one.inputs, {"c"}, "product")->set_domain(one.domain);
    model.output("c");
    const auto lowered = lower(model.read().graph);
    expect_all_macs(*lowered);
    EXPECT_EQ(weights_of(*lowered), Bytes(one.bytes)) << one.op;
  }
}

// The output of a product of bytes is of the type that the model says.
TEST(LoweringOfPackedWeights, StoresResultsAtTheirOwnSize) {
  for (const bool to_float : {false, true}) {
    ModelMaker model;
    model.add_opset("com.microsoft", 1);
    model.input("a", {64, 32}, int8);
    model.weight("b", {32, 16}, int8);
    model.real("s", 1.0F);
    const char* const op = to_float ? "MatMulIntegerToFloat" : "MatMulInteger";
    auto* const node = to_float ? model.node(op, {"a", "b", "s", "s"}, {"c"}, "product")
                                : model.node(op, {"a", "b"}, {"c"}, "product");
    node->set_domain(to_float ? "com.microsoft" : "");
    model.output("c");
    const auto lowered = lower(model.read().graph);
    EXPECT_EQ(lowered->loaded_and_stored("product"), Bytes(64 * 32 + 32 * 16 + 4 * 64 * 16));
  }
}

TEST(LoweringOfPackedWeights, TakesWhatIntegerConvolutionsHave) {
  for (const bool linear : {true, false}) {
    ModelMaker model;
    model.input("x", {1, 8, 12, 12}, uint8);
    model.weight("w", {16, 8, 3, 3}, int8);
    model.weight("sx", {1});
    model.weight("zx", {1}, uint8);
    model.weight("sw", {16});
    model.weight("zw", {16}, int8);
    model.weight("bias", {16}, int32);
    model.node(linear ? "QLinearConv" : "ConvInteger",
               linear
                   ? std::vector<std::string>{"x", "sx", "zx", "w", "sw", "zw", "sx", "zx", "bias"}
                   : std::vector<std::string>{"x", "w", "zx", "zw"},
               {"y"}, "product");
    model.output("y");
    const auto lowered = lower(model.read().graph);
    expect_all_macs(*lowered);
    // Blocks of the array, two for each place of the kernel, are of whole bytes.
    const std::uint64_t exact = 16 * 72 + 16 + (linear ? 4 * 16 : 0);
    const std::uint64_t found = weights_of(*lowered).count();
    EXPECT_GE(found, exact);
    EXPECT_LT(found, exact + 2 * 9);
  }
}

// What an optimisation has left: a product that widens weights itself, half of them at most.
TEST(LoweringOfPackedWeights, TakesWhatAProductWidens) {
  ModelMaker model;
  model.input("a", {3, 64});
  model.weight("b", {64, 48}, 22);
  model.weight("scale", {4, 48});
  auto* const node = model.node("DequantizeLinear", {"b", "scale"}, {"f"});
  set(node, "axis", 0);
  set(node, "block_size", 16);
  model.node("MatMul", {"a", "f"}, {"m"}, "product");
  model.node("Relu", {"m"}, {"c"});
  model.output("c");
  onnx::Graph graph = model.read().graph;
  EXPECT_EQ(weights_of(*lower(graph)), Bytes(4 * 64 * 48));
  onnx::optimize(graph, onnx::Level::extended);
  const auto lowered = lower(graph);
  ASSERT_EQ(lowered->operators.size(), 1U);
  expect_all_macs(*lowered);
  EXPECT_EQ(weights_of(*lowered), Bytes(64 * 48 / 2 + 4 * 4 * 48));
  EXPECT_EQ(parameter_bytes(graph, std::nullopt), Bytes(64 * 48 / 2 + 4 * 4 * 48));
  EXPECT_EQ(parameter_bytes(graph, DataType::fp16), Bytes(64 * 48 / 2 + 2 * 4 * 48));
}

TEST(LoweringOfPackedWeights, RefusesWhatNoWeightsAre) {
  ModelMaker model;
  model.input("a", {3, 4}, uint8);
  model.weight("b", {4, 8}, int8);
  model.weight("sa", {1});
  model.weight("za", {1}, uint8);
  model.weight("sb", {4, 4, 8});
  model.node("QLinearMatMul", {"a", "sa", "za", "b", "sb", "za", "sa", "za"}, {"c"}, "product");
  model.output("c");
  EXPECT_THROW(lower(model.read().graph), ConfigError);
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
