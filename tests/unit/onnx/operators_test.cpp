// Every operator has a rule; shapes and costs against closed forms.
#include <onnx/defs/schema.h>

#include <set>

#include "model.hpp"
#include "operators.hpp"

namespace tessera::onnx::operators_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The importer itself does away with these.
const std::set<std::string> gone{"Constant",
                                 "If",
                                 "Loop",
                                 "Scan",
                                 "SequenceAt",
                                 "SequenceConstruct",
                                 "SequenceEmpty",
                                 "SequenceErase",
                                 "SequenceInsert",
                                 "SequenceLength",
                                 "SequenceMap",
                                 "SplitToSequence",
                                 "Optional",
                                 "ConcatFromSequence",
                                 "OptionalGetElement",
                                 "OptionalHasElement"};

// libonnx 1.12 knows opset 17; these came with 18 to 27.
TEST(Operators, OfTheStandardSetAllHaveRules) {
  std::set<std::string> names{"BitwiseAnd",
                              "BitwiseNot",
                              "BitwiseOr",
                              "BitwiseXor",
                              "Col2Im",
                              "GroupNormalization",
                              "Mish",
                              "CenterCropPad",
                              "Gelu",
                              "DFT",
                              "Swish",
                              "TensorScatter",
                              "BitCast",
                              "CumProd",
                              "Attention",
                              "RotaryEmbedding",
                              "RMSNormalization",
                              "LinearAttention",
                              "CausalConvWithState",
                              "AffineGrid",
                              "DeformConv",
                              "ImageDecoder",
                              "RegexFullMatch",
                              "StringConcat",
                              "StringSplit"};
  for (const auto& schema : ::onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.domain().empty() && !schema.Deprecated()) {
      names.insert(schema.Name());
    }
  }
  EXPECT_GT(names.size(), 180U);
  for (const std::string& name : names) {
    const OperatorRule* const rule = find_rule("", name);
    const bool known = rule != nullptr && rule->shape != nullptr && rule->work != nullptr;
    EXPECT_TRUE(known || gone.count(name) > 0) << name;
  }
}

Cost cost_of_one(const ModelMaker& model) {
  const Import import = model.read();
  EXPECT_EQ(import.graph.nodes.size(), 1U);
  return cost_of(import.graph, import.graph.nodes[0]);
}

TEST(Operators, ProductsCountTwoForEachMultiplyAccumulate) {
  ModelMaker model;
  model.input("x", {5, 2, 3});
  model.weight("w", {3, 7});
  model.node("MatMul", {"x", "w"}, {"y"});
  const Cost cost = cost_of_one(model);
  EXPECT_EQ(cost.matrix, Flops(2 * 5 * 2 * 3 * 7));
  EXPECT_EQ(cost.vector, Flops(0));
  EXPECT_EQ(cost.read, Bytes(4 * 30));
  EXPECT_EQ(cost.weights, Bytes(4 * 21));
  EXPECT_EQ(cost.written, Bytes(4 * 70));
  EXPECT_EQ(cost.parameters, 21U);
}

TEST(Operators, ConvolutionsCountTheirWindow) {
  ModelMaker model;
  model.input("x", {2, 8, 14, 15});
  model.weight("w", {12, 4, 3, 3});
  auto* const node = model.node("Conv", {"x", "w"}, {"y"});
  set(node, "group", 2);
  set(node, "strides", {2, 2});
  set(node, "pads", {1, 1, 1, 1});
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "y"), (Shape{2, 12, 7, 8}));
  const auto work = std::get<Convolution>(work_of(import.graph, import.graph.nodes[0]));
  EXPECT_EQ(work.groups, 2U);
  EXPECT_EQ(work.kernel, (Shape{3, 3}));
  EXPECT_EQ(cost_of_one(model).matrix, Flops(2ULL * 2 * 12 * 7 * 8 * 4 * 9));
}

TEST(Operators, DeformedConvolutionsCountTheirWindow) {
  ModelMaker model;
  model.input("x", {2, 8, 14, 15});
  model.weight("w", {12, 4, 3, 3});
  model.input("offsets", {2, 2 * 2 * 9, 12, 13});
  auto* const node = model.node("DeformConv", {"x", "w", "offsets"}, {"y"});
  set(node, "group", 2);
  set(node, "offset_group", 2);
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "y"), (Shape{2, 12, 12, 13}));
  EXPECT_EQ(cost_of_one(model).matrix, Flops(2ULL * 2 * 12 * 12 * 13 * 4 * 9));
}

TEST(Operators, AffineGridsAreAsLargeAsTheirImage) {
  ModelMaker model;
  model.input("theta", {5, 2, 3});
  model.numbers("size", {5, 7, 11, 13});
  model.node("AffineGrid", {"theta", "size"}, {"y"});
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "y"), (Shape{5, 11, 13, 2}));
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).vector, Flops(2ULL * 5 * 11 * 13 * 2 * 2));
}

TEST(Operators, PaddingByRule) {
  for (const auto& [rule, side] : std::vector<std::pair<std::string, std::int64_t>>{
           {"SAME_UPPER", 5}, {"SAME_LOWER", 5}, {"VALID", 4}}) {
    ModelMaker model;
    model.input("x", {1, 1, 10, 10});
    auto* const node = model.node("MaxPool", {"x"}, {"y"});
    set(node, "kernel_shape", {3, 3});
    set(node, "strides", {2, 2});
    set_text(node, "auto_pad", rule);
    EXPECT_EQ(shape_of(model.read().graph, "y"), (Shape{1, 1, side, side})) << rule;
  }
}

TEST(Operators, RecurrentCells) {
  ModelMaker model;
  model.input("x", {10, 2, 16});
  model.weight("w", {2, 4 * 8, 16});
  model.weight("r", {2, 4 * 8, 8});
  set_text(model.node("LSTM", {"x", "w", "r"}, {"y", "h", "c"}), "direction", "bidirectional");
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "y"), (Shape{10, 2, 2, 8}));
  EXPECT_EQ(shape_of(import.graph, "c"), (Shape{2, 2, 8}));
  const Cost cost = cost_of(import.graph, import.graph.nodes[0]);
  EXPECT_EQ(cost.matrix, Flops(2ULL * 10 * 2 * 2 * 4 * 8 * (16 + 8)));
}

TEST(Operators, EinsumIsAProduct) {
  ModelMaker model;
  model.input("q", {2, 3, 5, 7});
  model.input("k", {2, 3, 11, 7});
  set_text(model.node("Einsum", {"q", "k"}, {"y"}), "equation", "bhqd,bhkd->bhqk");
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "y"), (Shape{2, 3, 5, 11}));
  const auto work = std::get<Product>(work_of(import.graph, import.graph.nodes[0]));
  EXPECT_THAT((std::vector<std::uint64_t>{work.count, work.rows, work.columns, work.depth}),
              ElementsAre(6, 5, 11, 7));
}

// Four sequences of 32 heads of 16 over 8 heads of keys, `past` of which are there; asks for
// `queries` more.
::onnx::NodeProto* add_grouped_queries(ModelMaker& model, std::int64_t queries, std::int64_t past,
                                       const std::vector<std::string>& more = {}) {
  model.add_opset("com.microsoft", 1);
  model.input("q", {4, queries, 32 * 16});
  model.input("k", {4, queries, 8 * 16});
  model.input("v", {4, queries, 8 * 16});
  model.input("past_k", {4, 8, past, 16});
  model.input("past_v", {4, 8, past, 16});
  std::vector<std::string> inputs{"q", "k", "v", "past_k", "past_v"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  auto* const node = model.node("GroupQueryAttention", inputs, {"y", "present_k", "present_v"});
  node->set_domain("com.microsoft");
  set(node, "num_heads", 32);
  set(node, "kv_num_heads", 8);
  return node;
}

TEST(Operators, GroupedQueriesReadFewKeys) {
  ModelMaker model;
  add_grouped_queries(model, 1, 99);
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "present_k"), (Shape{4, 8, 100, 16}));
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).matrix,
            Flops(2ULL * 4 * 32 * 1 * 100 * 32));
}

// Of a window queries see the last keys alone, and of a cache that is longer none see the others.
TEST(Operators, GroupedQueriesOfAWindowSeeItsKeys) {
  const auto pairs = [](std::int64_t queries, std::int64_t past, std::int64_t window) {
    ModelMaker model;
    set(add_grouped_queries(model, queries, past), "local_window_size", window);
    const Import import = model.read();
    EXPECT_EQ(shape_of(import.graph, "present_k"), (Shape{4, 8, past + queries, 16}));
    const std::uint64_t of_pair = 2ULL * 32 * 4 * 32;  // a product each, 4 sequences of 32 heads
    return static_cast<double>(cost_of(import.graph, import.graph.nodes[0]).matrix.count()) /
           static_cast<double>(of_pair);
  };
  EXPECT_EQ(pairs(1, 99, -1), 100);
  EXPECT_EQ(pairs(1, 99, 40), 40);
  EXPECT_EQ(pairs(64, 0, -1), 64 * 64 / 2.0);
  EXPECT_EQ(pairs(64, 0, 100), 64 * 64 / 2.0);
  EXPECT_EQ(pairs(64, 0, 16), 16 * 16 / 2.0 + 16 * (64 - 16));
  EXPECT_NEAR(pairs(64, 100, 16), 16 * 64, 1);
}

TEST(Operators, AttentionOfSeveralHeadsMayBeCausal) {
  const auto matrix = [](std::int64_t causal) {
    ModelMaker model;
    model.add_opset("com.microsoft", 1);
    for (const char* name : {"q", "k", "v"}) {
      model.input(name, {1, 64, 32});
    }
    auto* const node = model.node("MultiHeadAttention", {"q", "k", "v"}, {"y"});
    node->set_domain("com.microsoft");
    set(node, "num_heads", 4);
    set(node, "unidirectional", causal);
    const Import import = model.read();
    return cost_of(import.graph, import.graph.nodes[0]).matrix.count();
  };
  EXPECT_EQ(matrix(0), 2 * matrix(1));
}

// Keys that do not come from a cache and that no query comes to are hidden.
TEST(Operators, StandardCausalAttentionHidesFromTheUpperLeftOn) {
  const auto matrix = [](std::int64_t queries, std::int64_t keys) {
    ModelMaker model(23);
    model.input("q", {1, 1, queries, 1});
    model.input("k", {1, 1, keys, 1});
    auto* const node = model.node("Attention", {"q", "k", "k"}, {"y"});
    set(node, "is_causal", 1);
    const Import import = model.read();
    return cost_of(import.graph, import.graph.nodes[0]).matrix;
  };
  EXPECT_EQ(matrix(64, 64), Flops(2 * 64 * 64));
  EXPECT_EQ(matrix(64, 128), Flops(2 * 64 * 64));
  EXPECT_EQ(matrix(128, 64), Flops(2 * 64 * 64 + 4 * 64 * 64));
}

TEST(Operators, NoWindowBeginsInThePaddingBehind) {
  ModelMaker model(22);
  model.input("x", {1, 8, 3, 3});
  auto* const node = model.node("MaxPool", {"x"}, {"y"});
  set(node, "kernel_shape", {2, 2});
  set(node, "strides", {2, 2});
  set(node, "pads", {1, 1, 1, 1});
  set(node, "ceil_mode", 1);
  EXPECT_EQ(shape_of(model.read().graph, "y"), (Shape{1, 8, 2, 2}));
}

// The tables of rotary positions are as long as the longest context; a token reads a row of each.
TEST(Operators, GroupedQueriesReadTheRowsOfTheirPositions) {
  ModelMaker model;
  model.input("lengths", {4}, 6);
  model.input("longest", {1}, 6);
  model.weight("cos", {131'072, 8});
  model.weight("sin", {131'072, 8});
  add_grouped_queries(model, 3, 97, {"lengths", "longest", "cos", "sin"});
  const Import import = model.read();
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).weights, Bytes(2 * 4 * (4 * 3 * 8)));
}

// Attention of the standard set: of three sides with heads as attributes, or of four.
TEST(Operators, StandardAttentionHasGroupsAndCaches) {
  ModelMaker model(23);
  model.input("q", {4, 3, 32 * 16});
  model.input("k", {4, 3, 8 * 16});
  model.input("v", {4, 3, 8 * 24});
  model.input("past_k", {4, 8, 97, 16});
  model.input("past_v", {4, 8, 97, 24});
  auto* const node = model.node("Attention", {"q", "k", "v", "", "past_k", "past_v"},
                                {"y", "present_k", "present_v"});
  set(node, "q_num_heads", 32);
  set(node, "kv_num_heads", 8);
  model.input("q4", {2, 4, 5, 16});
  model.input("k4", {2, 2, 7, 16});
  model.node("Attention", {"q4", "k4", "k4"}, {"y4", "", "", "scores"});
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "y"), (Shape{4, 3, 32 * 24}));
  EXPECT_EQ(shape_of(import.graph, "present_k"), (Shape{4, 8, 100, 16}));
  EXPECT_EQ(shape_of(import.graph, "present_v"), (Shape{4, 8, 100, 24}));
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).matrix,
            Flops(2ULL * 4 * 32 * 3 * 100 * (16 + 24)));
  EXPECT_EQ(shape_of(import.graph, "y4"), (Shape{2, 4, 5, 16}));
  EXPECT_EQ(shape_of(import.graph, "scores"), (Shape{2, 4, 5, 7}));
  const auto work = std::get<Attention>(work_of(import.graph, import.graph.nodes[1]));
  EXPECT_EQ(work.kv_heads, 2U);
  EXPECT_EQ(work.keys, 7U);
}

TEST(Operators, StandardAttentionRefusesHeadsThatDoNotFit) {
  ModelMaker model(23);
  model.input("q", {2, 4, 5, 16});
  model.input("k", {2, 3, 7, 16});
  model.node("Attention", {"q", "k", "k"}, {"y"});
  EXPECT_THROW(model.read(), ConfigError);
}

// What sets 19 to 23 brought: outputs of a stated type, blocks of few bits, the axis of a transform
// as an input, and operators that were formulas before.
TEST(Operators, NewerSetsAreKnown) {
  ModelMaker model(23);
  model.input("x", {2, 6, 64});
  model.weight("scale", {1}, 1);
  model.weight("gain", {64});
  model.weight("cos", {2, 6, 32});
  model.weight("sin", {2, 6, 32});
  model.weight("few", {64, 32}, 22);
  model.weight("scales", {2, 32});
  model.numbers("axis", {1});
  set(model.node("QuantizeLinear", {"x", "scale"}, {"q"}), "output_dtype", 3);
  set(model.node("DequantizeLinear", {"few", "scales"}, {"w"}), "block_size", 32);
  model.node("MatMul", {"x", "w"}, {"product"});
  model.node("Gelu", {"product"}, {"gelu"});
  model.node("RMSNormalization", {"x", "gain"}, {"norm"});
  set(model.node("RotaryEmbedding", {"x", "cos", "sin"}, {"turned"}), "num_heads", 1);
  model.input("signal", {1, 8, 16, 2});
  model.node("DFT", {"signal", "", "axis"}, {"spectrum"});
  const Import import = model.read();
  EXPECT_EQ(import.graph.tensor(import.graph.nodes[0].outputs[0]).type, ElementType::int8);
  EXPECT_EQ(import.graph.tensor(import.graph.nodes[1].outputs[0]).type, ElementType::float32);
  EXPECT_EQ(shape_of(import.graph, "gelu"), (Shape{2, 6, 32}));
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[4]).vector, Flops(4 * 2 * 6 * 64));
  EXPECT_EQ(shape_of(import.graph, "turned"), (Shape{2, 6, 64}));
  EXPECT_EQ(shape_of(import.graph, "spectrum"), (Shape{1, 8, 16, 2}));
}

TEST(Operators, ViewsMoveNothingLookupsTheirRows) {
  ModelMaker model;
  model.input("ids", {2, 5}, 7);
  model.weight("table", {1000, 16});
  model.numbers("flat", {-1});
  model.node("Gather", {"table", "ids"}, {"rows"});
  model.node("Reshape", {"rows", "flat"}, {"y"});
  const Import import = model.read();
  const Cost lookup = cost_of(import.graph, import.graph.nodes[0]);
  EXPECT_EQ(lookup.weights, Bytes(4 * 10 * 16));
  EXPECT_EQ(lookup.read, Bytes(8 * 10));
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[1]).traffic(), Bytes(0));
}

// Axes moved from an attribute to an input with opset 18.
TEST(Operators, AxesAsAttributeOrInput) {
  for (const std::int64_t opset : {13, 18}) {
    ModelMaker model(opset);
    model.input("x", {2, 3, 4});
    model.numbers("axes", {1});
    if (opset == 13) {
      set(model.node("ReduceMax", {"x"}, {"y"}), "axes", Numbers{1});
    } else {
      model.node("ReduceMax", {"x", "axes"}, {"y"});
    }
    EXPECT_EQ(shape_of(model.read().graph, "y"), (Shape{2, 1, 4})) << opset;
  }
}

TEST(Operators, RefuseWhatDoesNotFit) {
  const auto refused = [](const std::string& op, const Numbers& sides,
                          const std::vector<std::pair<std::string, Numbers>>& attributes) {
    ModelMaker model;
    model.input("x", sides);
    auto* const node = model.node(op, {"x"}, {"y"});
    for (const auto& [name, list] : attributes) {
      set(node, name, list);
    }
    return refusal_of(model);
  };
  EXPECT_THAT(refused("Transpose", {2, 3}, {{"perm", {0, 0}}}), HasSubstr("an axis twice"));
  EXPECT_THAT(refused("MaxPool", {1, 1, 4, 4}, {{"kernel_shape", {3, 3}}, {"strides", {0, 1}}}),
              HasSubstr("'strides' should be 2 numbers from 1 on"));
  EXPECT_THAT(refused("MaxPool", {1, 1, 4, 4}, {{"kernel_shape", {9, 9}}}),
              HasSubstr("a window that reaches over 9 on a side of 4"));
  EXPECT_THAT(refused("MaxPool", {1, 1, 4, 4}, {}), HasSubstr("'kernel_shape'"));
  EXPECT_THAT(refused("GlobalAveragePool", {4, 4}, {}), HasSubstr("batch, channels"));
}

TEST(Operators, WorkBeyond62BitsIsRefused) {
  ModelMaker model;
  model.input("x", {1 << 23, 1 << 24});
  model.input("w", {1 << 24, 1 << 23});
  model.node("MatMul", {"x", "w"}, {"y"});
  EXPECT_THAT(refusal_of(model), HasSubstr("its work does not fit 62 bits"));
}

}  // namespace
}  // namespace tessera::onnx::operators_test
