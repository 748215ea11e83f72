// Operators between DequantizeLinear and QuantizeLinear.
#include <utility>

#include "model.hpp"

namespace tessera::onnx::quantized_test {
namespace {

using ::testing::ElementsAre;

constexpr int uint8 = 2;
constexpr int int8 = 3;
constexpr int int32 = 6;
constexpr int float8 = 17;

// A model whose tensors are dequantised and quantised with one scale each.
class Quantized : public ModelMaker {
 public:
  explicit Quantized(int type = int8) : ModelMaker(21), type_(type) { real("scale", 0.5F); }

  std::string widen(const std::string& from) {
    node("DequantizeLinear", {from, "scale", zero(from)}, {from + ".wide"});
    return from + ".wide";
  }
  std::string narrow(const std::string& from) {
    node("QuantizeLinear", {from, "scale", zero(from)}, {from + ".narrow"});
    return from + ".narrow";
  }
  // Weights with a scale for each column.
  std::string weights(const std::string& name, const Numbers& sides, std::int64_t axis, int type) {
    weight(name, sides, type);
    weight(name + ".scale", {sides[static_cast<std::size_t>(axis)]});
    set(node("DequantizeLinear", {name, name + ".scale"}, {name + ".wide"}), "axis", axis);
    return name + ".wide";
  }

 private:
  std::string zero(const std::string& of) {
    weight(of + ".zero", {}, type_);
    return of + ".zero";
  }
  int type_;
};

Graph at(const ModelMaker& model, Level level) {
  Graph graph = model.read().graph;
  optimize(graph, level);
  return graph;
}

Quantized product(int activations, int weights, bool quantises = true) {
  Quantized model(activations);
  model.input("x", {4, 16}, activations);
  const std::string x = model.widen("x");
  model.node("MatMul", {x, model.weights("w", {16, 32}, 1, weights)}, {"y"}, "product");
  model.output(quantises ? model.narrow("y") : "y");
  return model;
}

// The same with the operator that has it all.
ModelMaker fused_product() {
  ModelMaker model(21);
  model.input("x", {4, 16}, int8);
  model.real("scale", 0.5F);
  model.weight("zero", {}, int8);
  model.weight("w", {16, 32}, int8);
  model.weight("w.scale", {32});
  model.node("QLinearMatMul", {"x", "scale", "zero", "w", "w.scale", "", "scale", "zero"}, {"y"});
  model.output("y");
  return model;
}

TEST(QuantisedOperators, AreProductsBetweenThem) {
  const Quantized model = product(int8, int8);
  EXPECT_THAT(kinds_of(at(model, Level::basic)),
              ElementsAre("DequantizeLinear", "DequantizeLinear", "MatMul", "QuantizeLinear"));
  const Graph fused = fused_product().read().graph;
  for (const Level level : {Level::extended, Level::all}) {
    const Graph graph = at(model, level);
    ASSERT_THAT(kinds_of(graph), ElementsAre("QLinearMatMul"));
    const Cost cost = total_cost(graph);
    EXPECT_EQ(cost.flops(), total_cost(fused).flops());
    EXPECT_EQ(cost.read, Bytes(4 * 16));
    EXPECT_EQ(cost.written, Bytes(4 * 32));
    // Two zero points in place of one.
    EXPECT_EQ(cost.weights, total_cost(fused).weights + Bytes(1));
  }
}

TEST(QuantisedOperators, GiveFloatsWithoutQuantizeLinear) {
  const Graph graph = at(product(int8, int8, false), Level::extended);
  ASSERT_THAT(kinds_of(graph), ElementsAre("com.microsoft.MatMulIntegerToFloat"));
  EXPECT_EQ(total_cost(graph).written, Bytes(4 * 32 * 4));
  EXPECT_EQ(total_cost(graph).matrix, Flops(2 * 4 * 16 * 32));
}

// int8 by int8, uint8 by both, fp8 by fp8; numbers of 4 bits are weights alone.
TEST(QuantisedOperators, AskForTypesThatGoTogether) {
  EXPECT_THAT(kinds_of(at(product(uint8, int8), Level::extended)), ElementsAre("QLinearMatMul"));
  EXPECT_THAT(kinds_of(at(product(float8, float8), Level::extended)), ElementsAre("QLinearMatMul"));
  EXPECT_THAT(kinds_of(at(product(float8, float8, false), Level::extended)), ElementsAre("MatMul"));
  for (const auto& [activations, weights] : {std::pair(int8, uint8), {int8, 22}, {float8, int8}}) {
    EXPECT_THAT(kinds_of(at(product(activations, weights), Level::extended)),
                ElementsAre("DequantizeLinear", "MatMul", "QuantizeLinear"));
  }
}

// What a product does itself may stand before QuantizeLinear.
TEST(QuantisedOperators, TakeBiasAndActivation) {
  for (const int type : {int8, float8}) {
    Quantized model(type);
    model.input("x", {4, 16}, type);
    const std::string x = model.widen("x");
    model.weight("bias", {32});
    model.node("MatMul", {x, model.weights("w", {16, 32}, 1, type)}, {"p"});
    model.node("Add", {"p", "bias"}, {"s"});
    model.node("Relu", {"s"}, {"y"});
    model.output(model.narrow("y"));
    const Graph graph = at(model, Level::extended);
    ASSERT_THAT(kinds_of(graph), ElementsAre("QLinearMatMul+Bias+Relu"));
    EXPECT_EQ(total_cost(graph).vector, Flops(4 * 32));
    EXPECT_EQ(total_cost(graph).read + total_cost(graph).written, Bytes(4 * 16 + 4 * 32));
  }
}

Quantized convolution(bool with_bias) {
  Quantized model;
  model.input("x", {1, 8, 6, 6}, int8);
  const std::string x = model.widen("x");
  const std::string w = model.weights("w", {8, 8, 3, 3}, 0, int8);
  Names inputs{x, w};
  if (with_bias) {
    inputs.push_back(model.weights("b", {8}, 0, int32));
  }
  set(model.node("Conv", inputs, {"c"}), "pads", {1, 1, 1, 1});
  model.node("Relu", {"c"}, {"y"});
  model.output(model.narrow("y"));
  return model;
}

TEST(QuantisedOperators, AreConvolutions) {
  const Graph graph = at(convolution(true), Level::extended);
  ASSERT_THAT(kinds_of(graph), ElementsAre("QLinearConv+Relu"));
  const Cost cost = total_cost(graph);
  EXPECT_EQ(cost.matrix, Flops(2 * 8 * 36 * 8 * 9));
  EXPECT_EQ(cost.read + cost.written, Bytes(2 * 8 * 36));
  EXPECT_THAT(kinds_of(at(convolution(false), Level::extended)), ElementsAre("QLinearConv+Relu"));
}

TEST(QuantisedOperators, AreGemms) {
  for (const bool quantises : {false, true}) {
    Quantized model;
    model.input("x", {4, 16}, int8);
    const std::string x = model.widen("x");
    const std::string w = model.weights("w", {32, 16}, 0, int8);
    set(model.node("Gemm", {x, w, model.weights("b", {32}, 0, int32)}, {"y"}), "transB", 1);
    model.output(quantises ? model.narrow("y") : "y");
    const Graph graph = at(model, Level::extended);
    ASSERT_THAT(kinds_of(graph), ElementsAre("com.microsoft.QGemm"));
    EXPECT_EQ(total_cost(graph).matrix, Flops(2 * 4 * 16 * 32));
    EXPECT_EQ(total_cost(graph).written, Bytes(4 * 32 * (quantises ? 1 : 4)));
  }
}

TEST(QuantisedOperators, AreSumsAndTheirLike) {
  Quantized model;
  model.input("x", {2, 8, 4, 4}, int8);
  model.input("z", {2, 8, 4, 4}, int8);
  model.node("Add", {model.widen("x"), model.widen("z")}, {"sum"});
  const std::string sum = model.widen(model.narrow("sum"));
  model.node("Sigmoid", {sum}, {"gate"});
  model.node("Mul", {sum, model.widen(model.narrow("gate"))}, {"silu"});
  set(model.node("AveragePool", {model.widen(model.narrow("silu"))}, {"pool"}), "kernel_shape",
      {2, 2});
  model.output(model.narrow("pool"));
  EXPECT_THAT(kinds_of(at(model, Level::extended)),
              ElementsAre("com.microsoft.QLinearAdd", "com.microsoft.QLinearSigmoid",
                          "com.microsoft.QLinearMul", "com.microsoft.QLinearAveragePool"));
}

// Of bytes in place of floats.
TEST(QuantisedOperators, MoveAsTheyAre) {
  Quantized model;
  model.input("x", {4, 8}, int8);
  model.node("Transpose", {model.widen("x")}, {"t"});
  model.node("Relu", {"t"}, {"r"});
  model.output("r");
  const Graph graph = at(model, Level::extended);
  EXPECT_THAT(kinds_of(graph), ElementsAre("Transpose", "DequantizeLinear", "Relu"));
  EXPECT_EQ(cost_of(graph, graph.nodes[0]).traffic(), Bytes(2 * 32));

  Quantized back;
  back.input("x", {4, 8});
  back.node("Exp", {"x"}, {"e"});
  back.node("Transpose", {"e"}, {"t"});
  back.output(back.narrow("t"));
  EXPECT_THAT(kinds_of(at(back, Level::extended)),
              ElementsAre("Exp", "QuantizeLinear", "Transpose"));
}

// Nothing is left around what only moves; other scales have to stay.
TEST(QuantisedOperators, NeedNoQuantisingAroundMovement) {
  for (const bool same : {true, false}) {
    ModelMaker model(21);
    model.input("x", {1, 2, 4, 4}, uint8);
    model.real("scale", 0.5F);
    model.real("other", 0.25F);
    model.node("DequantizeLinear", {"x", "scale"}, {"w"});
    set(model.node("MaxPool", {"w"}, {"p"}), "kernel_shape", {2, 2});
    model.node("QuantizeLinear", {"p", same ? "scale" : "other"}, {"y"});
    model.output("y");
    const Graph graph = at(model, Level::extended);
    if (same) {
      EXPECT_THAT(kinds_of(graph), ElementsAre("MaxPool"));
      EXPECT_EQ(total_cost(graph).traffic(), Bytes(32 + 2 * 3 * 3));
    } else {
      EXPECT_THAT(kinds_of(graph), ElementsAre("MaxPool", "DequantizeLinear", "QuantizeLinear"));
    }
  }
}

// uint8 with the zero point 0 has nothing below 0; signed numbers have.
TEST(QuantisedOperators, MakeBoundsNeedless) {
  for (const bool is_signed : {false, true}) {
    ModelMaker model(21);
    model.input("x", {2, 8});
    model.real("scale", 0.5F);
    model.real("least", 0.0F);
    model.real("most", 128.0F);
    model.node("Exp", {"x"}, {"e"});
    model.node("Clip", {"e", "least", "most"}, {"r"});
    auto* const linear = model.node("QuantizeLinear", {"r", "scale"}, {"y"});
    set(linear, "output_dtype", is_signed ? int8 : uint8);
    model.output("y");
    EXPECT_EQ(at(model, Level::extended).nodes.size(), is_signed ? 3U : 2U);
  }
}

}  // namespace
}  // namespace tessera::onnx::quantized_test
