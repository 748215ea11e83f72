// Each pass on the smallest graph that has its pattern: what is left, and that the traffic is less.
#include "model.hpp"

namespace tessera::onnx::optimize_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Graph at(const ModelMaker& model, Level level) {
  Graph graph = model.read().graph;
  const Cost before = total_cost(graph);
  const std::vector<TensorIndex> outputs = graph.outputs;
  optimize(graph, level);
  EXPECT_LE(total_cost(graph).traffic(), before.traffic());
  EXPECT_EQ(graph.outputs.size(), outputs.size());
  return graph;
}

TEST(Optimize, LevelsHaveNames) {
  EXPECT_THAT(level_names(), ElementsAre("none", "basic", "extended", "all"));
  EXPECT_EQ(level_from("extended"), Level::extended);
  EXPECT_THROW(level_from("extendet"), ConfigError);
}

TEST(Optimize, FoldsConstantsAndShapes) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.weight("a", {3});
  model.weight("b", {3});
  model.node("Add", {"a", "b"}, {"sum"});
  model.node("Shape", {"x"}, {"s"});
  model.node("Reshape", {"x", "s"}, {"same"});
  model.node("Mul", {"same", "sum"}, {"y"});
  model.node("Exp", {"x"}, {"unused"});
  model.output("y");
  EXPECT_EQ(at(model, Level::none).nodes.size(), 5U);
  const Graph graph = at(model, Level::basic);
  EXPECT_THAT(kinds_of(graph), ElementsAre("Mul"));
  EXPECT_EQ(constants_of(graph).parameters, 3U);
}

TEST(Optimize, KeepsRandomNumbersAndOutputs) {
  ModelMaker model;
  model.input("x", {2});
  set(model.node("RandomNormal", {}, {"r"}), "shape", Numbers{2});
  model.node("Add", {"x", "r"}, {"y"});
  model.node("Identity", {"x"}, {"z"});
  model.output("y");
  model.output("z");
  EXPECT_THAT(kinds_of(at(model, Level::all)), ElementsAre("RandomNormal+Add", "Identity"));
}

TEST(Optimize, MergesEqualNodes) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.node("Exp", {"x"}, {"a"});
  model.node("Exp", {"x"}, {"b"});
  set(model.node("Softmax", {"x"}, {"c"}), "axis", 0);
  set(model.node("Softmax", {"x"}, {"d"}), "axis", 1);
  model.node("Sum", {"a", "b", "c", "d"}, {"y"});
  model.output("y");
  EXPECT_THAT(kinds_of(at(model, Level::basic)), ElementsAre("Exp", "Softmax", "Softmax", "Sum"));
}

ModelMaker residual_block() {
  ModelMaker model;
  model.input("x", {1, 8, 6, 6});
  model.weight("w", {8, 8, 3, 3});
  for (const char* part : {"scale", "bias", "mean", "var"}) {
    model.weight(part, {8});
  }
  set(model.node("Conv", {"x", "w"}, {"c"}), "pads", {1, 1, 1, 1});
  model.node("BatchNormalization", {"c", "scale", "bias", "mean", "var"}, {"n"});
  model.node("Add", {"n", "x"}, {"s"});
  model.node("Relu", {"s"}, {"y"});
  model.output("y");
  return model;
}

TEST(Optimize, ConvolutionTakesNormSkipAndActivation) {
  const Graph basic = at(residual_block(), Level::basic);
  EXPECT_THAT(kinds_of(basic), ElementsAre("Conv", "Add", "Relu"));
  // The scale went into the weights, the shift became the bias.
  EXPECT_EQ(constants_of(basic).parameters, 8U * 8 * 9 + 8);
  const Graph graph = at(residual_block(), Level::extended);
  ASSERT_THAT(kinds_of(graph), ElementsAre("Conv+Add+Relu"));
  const Cost cost = cost_of(graph, graph.nodes[0]);
  EXPECT_EQ(cost.vector, Flops(2 * 8 * 36));
  EXPECT_EQ(cost.read, Bytes(4 * 8 * 36));  // x is image and skip
  EXPECT_EQ(cost.written, Bytes(4 * 8 * 36));
}

// The longer way ends in the sum, whichever way is first in the file: the shorter need not wait.
TEST(Optimize, TheLongerOfTwoWaysTakesTheirSum) {
  for (const bool short_first : {false, true}) {
    ModelMaker model;
    model.input("x", {4, 8});
    model.weight("w", {8, 8});
    model.weight("u", {8, 8});
    if (short_first) {
      model.node("MatMul", {"x", "u"}, {"short"}, "short");
    }
    model.node("MatMul", {"x", "w"}, {"half"}, "half");
    model.node("MatMul", {"half", "w"}, {"long"}, "long");
    if (!short_first) {
      model.node("MatMul", {"x", "u"}, {"short"}, "short");
    }
    model.node("Add", {"long", "short"}, {"y"}, "sum");
    model.output("y");
    const Graph graph = at(model, Level::extended);
    ASSERT_EQ(graph.nodes.size(), 3U);
    EXPECT_EQ(graph.nodes.back().name, "long");
    EXPECT_EQ(graph.nodes.back().epilogue.size(), 1U);
  }
}

TEST(Optimize, DoesNotFuseWhatOthersRead) {
  ModelMaker model = residual_block();
  model.output("n");
  EXPECT_THAT(kinds_of(at(model, Level::all)), ElementsAre("Conv", "Add+Relu"));
}

TEST(Optimize, ProductsTakeBiasAndActivation) {
  ModelMaker model;
  model.input("x", {4, 8});
  model.weight("w", {8, 16});
  model.weight("b", {16});
  model.node("MatMul", {"x", "w"}, {"m"});
  model.node("Add", {"b", "m"}, {"s"});
  model.node("Relu", {"s"}, {"y"});
  model.output("y");
  EXPECT_THAT(kinds_of(at(model, Level::basic)), ElementsAre("MatMul+Bias", "Relu"));
  EXPECT_THAT(kinds_of(at(model, Level::extended)), ElementsAre("MatMul+Bias+Relu"));
}

ModelMaker layer_norm(bool mean) {
  ModelMaker model(13);
  model.input("x", {4, 8});
  model.real("two", 2);
  model.real("e", 1e-5F);
  model.weight("gain", {8});
  model.weight("shift", {8});
  std::string centred = "x";
  if (mean) {
    set(model.node("ReduceMean", {"x"}, {"m"}), "axes", Numbers{-1});
    model.node("Sub", {"x", "m"}, {"d"});
    centred = "d";
  }
  model.node("Pow", {centred, "two"}, {"p"});
  set(model.node("ReduceMean", {"p"}, {"v"}), "axes", Numbers{-1});
  model.node("Add", {"v", "e"}, {"ve"});
  model.node("Sqrt", {"ve"}, {"r"});
  model.node("Div", {centred, "r"}, {"n"});
  model.node("Mul", {"n", "gain"}, {"g"});
  model.node("Add", {"g", "shift"}, {"y"});
  model.output("y");
  return model;
}

TEST(Optimize, RecognisesNorms) {
  const Graph layer = at(layer_norm(true), Level::extended);
  ASSERT_THAT(kinds_of(layer), ElementsAre("LayerNormalization"));
  EXPECT_EQ(cost_of(layer, layer.nodes[0]).vector, Flops(7 * 32));
  EXPECT_EQ(constants_of(layer).parameters, 16U);
  EXPECT_THAT(kinds_of(at(layer_norm(false), Level::extended)),
              ElementsAre("SimplifiedLayerNormalization", "Add"));
}

// What is normed may itself look like a part of the formula.
TEST(Optimize, NormsKeepWhatTheyAreOf) {
  ModelMaker model(13);
  model.input("r", {4, 8});
  model.real("one", 1);
  model.real("e", 1e-5F);
  model.node("Div", {"one", "r"}, {"x"});
  model.node("Mul", {"x", "x"}, {"p"});
  set(model.node("ReduceMean", {"p"}, {"v"}), "axes", Numbers{-1});
  model.node("Add", {"v", "e"}, {"ve"});
  model.node("Sqrt", {"ve"}, {"root"});
  model.node("Reciprocal", {"root"}, {"inverse"});
  model.node("Mul", {"x", "inverse"}, {"y"});
  model.output("y");
  EXPECT_THAT(kinds_of(at(model, Level::extended)),
              ElementsAre("Div", "SimplifiedLayerNormalization"));
}

TEST(Optimize, SkipGoesIntoTheNorm) {
  ModelMaker model;
  model.input("x", {4, 8});
  model.input("skip", {4, 8});
  model.weight("gain", {8});
  model.node("Add", {"x", "skip"}, {"s"});
  model.node("LayerNormalization", {"s", "gain"}, {"y"});
  model.node("Relu", {"s"}, {"z"});
  model.output("y");
  model.output("z");
  const Graph graph = at(model, Level::extended);
  ASSERT_THAT(kinds_of(graph), ElementsAre("com.microsoft.SkipLayerNormalization", "Relu"));
  EXPECT_EQ(graph.nodes[0].outputs.size(), 4U);
}

ModelMaker erf_gelu() {
  ModelMaker model;
  model.input("x", {32});
  model.real("root", 1.41421F);
  model.real("one", 1);
  model.real("half", 0.5F);
  model.node("Div", {"x", "root"}, {"a"});
  model.node("Erf", {"a"}, {"b"});
  model.node("Add", {"b", "one"}, {"c"});
  model.node("Mul", {"x", "c"}, {"d"});
  model.node("Mul", {"d", "half"}, {"y"});
  model.output("y");
  return model;
}

ModelMaker tanh_gelu() {
  ModelMaker model;
  model.input("x", {32});
  for (const auto& [name, value] : std::vector<std::pair<std::string, float>>{
           {"half", 0.5F}, {"one", 1}, {"three", 3}, {"c", 0.044715F}, {"k", 0.797885F}}) {
    model.real(name, value);
  }
  model.node("Pow", {"x", "three"}, {"cube"});
  model.node("Mul", {"cube", "c"}, {"small"});
  model.node("Add", {"x", "small"}, {"inner"});
  model.node("Mul", {"inner", "k"}, {"scaled"});
  model.node("Tanh", {"scaled"}, {"t"});
  model.node("Add", {"t", "one"}, {"u"});
  model.node("Mul", {"x", "half"}, {"h"});
  model.node("Mul", {"h", "u"}, {"y"});
  model.output("y");
  return model;
}

ModelMaker hard_swish(bool swish) {
  ModelMaker model;
  model.input("x", {32});
  model.real("three", 3);
  model.real("six", 6);
  model.real("zero", 0);
  model.node("Add", {"x", "three"}, {"a"});
  model.node("Clip", {"a", "zero", "six"}, {"b"});
  if (swish) {
    model.node("Mul", {"x", "b"}, {"c"});
  }
  model.node("Div", {swish ? "c" : "b", "six"}, {"y"});
  model.output("y");
  return model;
}

TEST(Optimize, RecognisesActivations) {
  EXPECT_THAT(kinds_of(at(erf_gelu(), Level::extended)), ElementsAre("com.microsoft.Gelu"));
  EXPECT_THAT(kinds_of(at(tanh_gelu(), Level::extended)), ElementsAre("com.microsoft.FastGelu"));
  EXPECT_THAT(kinds_of(at(hard_swish(true), Level::extended)), ElementsAre("HardSwish"));
  EXPECT_THAT(kinds_of(at(hard_swish(false), Level::extended)), ElementsAre("HardSigmoid"));
  ModelMaker silu;
  silu.input("x", {32});
  silu.node("Sigmoid", {"x"}, {"s"});
  silu.node("Mul", {"x", "s"}, {"y"});
  silu.output("y");
  EXPECT_THAT(kinds_of(at(silu, Level::extended)), ElementsAre("com.microsoft.QuickGelu"));
}

TEST(Optimize, LeavesWhatIsAlmostAnActivation) {
  ModelMaker model = erf_gelu();
  model.proto.mutable_graph()->mutable_initializer(0)->set_float_data(0, 1.5F);
  EXPECT_THAT(kinds_of(at(model, Level::extended)), Contains("Erf"));
}

// q [b, tokens, heads, width]; keys of fewer heads are repeated.
ModelMaker attention(bool repeat) {
  const std::int64_t kv = repeat ? 2 : 8;
  ModelMaker model(13);
  model.input("q", {1, 5, 8, 16});
  model.input("k", {1, 5, kv, 16});
  model.input("v", {1, 5, kv, 16});
  model.input("mask", {1, 1, 5, 5});
  model.real("scale", 4);
  set(model.node("Transpose", {"q"}, {"qt"}), "perm", {0, 2, 1, 3});
  for (const std::string name : {"k", "v"}) {
    set(model.node("Transpose", {name}, {name + "h"}), "perm", {0, 2, 1, 3});
    if (repeat) {
      model.numbers(name + "_axis", {2});
      model.numbers(name + "_wide", {1, 2, 4, 5, 16});
      model.numbers(name + "_flat", {1, 8, 5, 16});
      model.node("Unsqueeze", {name + "h", name + "_axis"}, {name + "u"});
      model.node("Expand", {name + "u", name + "_wide"}, {name + "e"});
      model.node("Reshape", {name + "e", name + "_flat"}, {name + "r"});
    }
  }
  const std::string last = repeat ? "r" : "h";
  set(model.node("Transpose", {"k" + last}, {"kt"}), "perm", {0, 1, 3, 2});
  model.node("MatMul", {"qt", "kt"}, {"scores"});
  model.node("Div", {"scores", "scale"}, {"scaled"});
  model.node("Add", {"scaled", "mask"}, {"masked"});
  set(model.node("Softmax", {"masked"}, {"p"}), "axis", -1);
  model.node("MatMul", {"p", "v" + last}, {"o"});
  set(model.node("Transpose", {"o"}, {"y"}), "perm", {0, 2, 1, 3});
  model.output("y");
  return model;
}

TEST(Optimize, AttentionIsOneOperator) {
  for (const bool repeat : {false, true}) {
    const Graph graph = at(attention(repeat), Level::extended);
    ASSERT_THAT(kinds_of(graph), ElementsAre("tessera.Attention"));
    const auto work = std::get<Attention>(work_of(graph, graph.nodes[0]));
    EXPECT_EQ(work.heads, 8U);
    EXPECT_EQ(work.kv_heads, repeat ? 2U : 8U);
    EXPECT_EQ(work.keys, 5U);
    EXPECT_EQ(cost_of(graph, graph.nodes[0]).matrix, Flops(2 * 8 * 5 * 5 * 32));
    // q, k, v and the mask once each; no scores.
    EXPECT_EQ(cost_of(graph, graph.nodes[0]).read, Bytes(4 * (640 + (repeat ? 320 : 1280) + 25)));
  }
}

TEST(Optimize, CachesAreAppendedTo) {
  ModelMaker model;
  model.input("past", {1, 8, 1023, 16});
  model.input("new", {1, 8, 1, 16});
  model.node("Exp", {"new"}, {"e"});
  set(model.node("Concat", {"past", "e"}, {"present"}), "axis", 2);
  model.output("present");
  const Graph graph = at(model, Level::extended);
  ASSERT_THAT(kinds_of(graph), ElementsAre("Exp", "tessera.AppendToCache"));
  EXPECT_EQ(cost_of(graph, graph.nodes[1]).traffic(), Bytes(2 * 4 * 8 * 16));
}

TEST(Optimize, ProductsReadTransposed) {
  ModelMaker model;
  model.input("x", {2, 4, 8});
  model.input("w", {2, 16, 8});
  set(model.node("Transpose", {"w"}, {"t"}), "perm", {0, 2, 1});
  model.node("MatMul", {"x", "t"}, {"y"});
  model.output("y");
  EXPECT_THAT(kinds_of(at(model, Level::extended)), ElementsAre("Transpose", "MatMul"));
  const Graph graph = at(model, Level::all);
  ASSERT_THAT(kinds_of(graph), ElementsAre("com.microsoft.FusedMatMul"));
  EXPECT_EQ(cost_of(graph, graph.nodes[0]).matrix, Flops(2 * 2 * 4 * 8 * 16));
}

TEST(Optimize, ChainsTakeOnePass) {
  ModelMaker model;
  model.input("x", {32});
  model.input("z", {32});
  model.node("Exp", {"x"}, {"a"});
  model.node("Mul", {"a", "z"}, {"b"});
  model.node("Sqrt", {"b"}, {"y"});
  model.output("y");
  const Graph graph = at(model, Level::all);
  ASSERT_THAT(kinds_of(graph), ElementsAre("Exp+Mul+Sqrt"));
  const Cost cost = cost_of(graph, graph.nodes[0]);
  EXPECT_EQ(cost.flops(), Flops(3 * 32));
  EXPECT_EQ(cost.traffic(), Bytes(3 * 4 * 32));
}

// [16, 32] weights of `type`, with a scale and a zero point for each column.
ModelMaker quantized(int type) {
  ModelMaker model;
  model.input("x", {4, 16});
  model.weight("w", {16, 32}, type);
  model.weight("scale", {32});
  model.weight("zero", {32}, type);
  set(model.node("DequantizeLinear", {"w", "scale", "zero"}, {"f"}), "axis", 1);
  model.node("MatMul", {"x", "f"}, {"y"});
  model.output("y");
  return model;
}

TEST(Optimize, ProductsReadPackedWeights) {
  constexpr std::uint64_t others = 4 * (4 * 16 + 4 * 32);  // input and output
  for (const auto& [type, bits] : {std::pair(3, 8U), {22, 4U}}) {
    const std::uint64_t packed = 16 * 32 * bits / 8 + 32 * 4 + 32 * bits / 8;
    const Graph basic = at(quantized(type), Level::basic);
    ASSERT_THAT(kinds_of(basic), ElementsAre("DequantizeLinear", "MatMul"));
    // Written, and read by the product.
    EXPECT_EQ(total_cost(basic).traffic(), Bytes(packed + 2 * 16 * 32 * 4 + others));
    EXPECT_EQ(total_cost(basic).vector, Flops(2 * 16 * 32));
    for (const Level level : {Level::extended, Level::all}) {
      const Graph graph = at(quantized(type), level);
      ASSERT_THAT(kinds_of(graph), ElementsAre("MatMul"));
      const Cost cost = total_cost(graph);
      EXPECT_EQ(cost.weights, Bytes(packed));
      EXPECT_EQ(cost.traffic(), Bytes(packed + others));
      EXPECT_EQ(cost.parameters, 16U * 32 + 2 * 32);
      EXPECT_EQ(cost.matrix, Flops(2 * 4 * 16 * 32));
      EXPECT_EQ(cost.vector, Flops(0));
    }
  }
}

TEST(Optimize, PackedWeightsOfSeveralProductsAndOfABias) {
  ModelMaker model = quantized(3);
  model.weight("packed_bias", {32}, 6);
  model.weight("bias_scale", {32});
  model.node("DequantizeLinear", {"packed_bias", "bias_scale"}, {"bias"});
  model.node("Gemm", {"x", "f", "bias"}, {"g"});
  model.node("Relu", {"g"}, {"z"});
  model.output("z");
  const Graph graph = at(model, Level::extended);
  ASSERT_THAT(kinds_of(graph), ElementsAre("MatMul", "Gemm+Relu"));
  EXPECT_EQ(cost_of(graph, graph.nodes[1]).weights, Bytes(16 * 32 + 32 * 4 + 32 + 2 * 32 * 4));
}

TEST(Optimize, PackedWeightsThroughATranspose) {
  ModelMaker model;
  model.input("x", {4, 16});
  model.weight("w", {32, 16}, 3);
  model.weight("scale", {32});
  set(model.node("DequantizeLinear", {"w", "scale"}, {"f"}), "axis", 0);
  model.node("Transpose", {"f"}, {"t"});
  model.node("MatMul", {"x", "t"}, {"y"});
  model.output("y");
  const Graph graph = at(model, Level::extended);
  ASSERT_THAT(kinds_of(graph), ElementsAre("MatMul"));
  EXPECT_EQ(total_cost(graph).weights, Bytes(16 * 32 + 32 * 4));
  EXPECT_EQ(total_cost(graph).matrix, Flops(2 * 4 * 16 * 32));
}

TEST(Optimize, ConvolutionsReadPackedWeightsAndFuse) {
  ModelMaker model;
  model.input("x", {1, 8, 6, 6});
  model.weight("w", {8, 8, 3, 3}, 3);
  model.weight("scale", {8});
  set(model.node("DequantizeLinear", {"w", "scale"}, {"f"}), "axis", 0);
  set(model.node("Conv", {"x", "f"}, {"c"}), "pads", {1, 1, 1, 1});
  model.node("Add", {"c", "x"}, {"s"});
  model.node("Relu", {"s"}, {"y"});
  model.output("y");
  const Graph graph = at(model, Level::extended);
  ASSERT_THAT(kinds_of(graph), ElementsAre("Conv+Add+Relu"));
  EXPECT_EQ(total_cost(graph).weights, Bytes(8 * 8 * 9 + 8 * 4));
}

// Who reads them otherwise, and who reads what is no constant, reads them widened.
TEST(Optimize, DequantizeLinearStaysForOtherReaders) {
  ModelMaker other = quantized(3);
  other.node("Exp", {"f"}, {"e"});
  other.output("e");
  EXPECT_THAT(kinds_of(at(other, Level::all)), ElementsAre("DequantizeLinear", "MatMul", "Exp"));
  ModelMaker given = quantized(3);
  given.output("f");
  EXPECT_THAT(kinds_of(at(given, Level::all)), ElementsAre("DequantizeLinear", "MatMul"));
  ModelMaker left;
  left.weight("w", {4, 16}, 3);
  left.real("scale", 1.0F);
  left.input("x", {16, 8});
  left.node("DequantizeLinear", {"w", "scale"}, {"f"});
  left.node("MatMul", {"f", "x"}, {"y"});
  left.output("y");
  EXPECT_THAT(kinds_of(at(left, Level::all)), ElementsAre("DequantizeLinear", "MatMul"));
}

TEST(Optimize, ChecksWhatPassesMustKeep) {
  Graph graph = residual_block().read().graph;
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_THROW(check_order(graph), InternalError);
}

TEST(Optimize, NeverMoreTrafficOnRealModels) {
  ImportOptions options;
  options.dimensions = {{"p2o.DynamicDimension.0", 1},
                        {"p2o.DynamicDimension.1", 320},
                        {"p2o.DynamicDimension.2", 320}};
  const Import import =
      import_model(std::string(MODELS_DIRECTORY) + "/pp_ocr_v4_det.onnx", options);
  Bytes before = total_cost(import.graph).traffic();
  for (const Level level : {Level::basic, Level::extended, Level::all}) {
    Graph graph = import.graph;
    EXPECT_THAT(optimize(graph, level), ::testing::Not(IsEmpty()));
    const Bytes traffic = total_cost(graph).traffic();
    EXPECT_LT(traffic, before);
    before = traffic;
  }
}

}  // namespace
}  // namespace tessera::onnx::optimize_test
