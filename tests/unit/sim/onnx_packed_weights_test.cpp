// Weights of few bits, packed and with scales: what of them is loaded.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lowered.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim::onnx_packed_weights_test {
namespace {

using onnx::ModelMaker;
using onnx::set;
using testing::expect_all_macs;
using testing::lower;
using testing::Lowered;

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

}  // namespace
}  // namespace tessera::sim::onnx_packed_weights_test
