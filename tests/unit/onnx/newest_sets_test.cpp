// What operator sets 24 to 27 brought, against the formulas of ONNX's Operators.md.
#include "model.hpp"

namespace tessera::onnx::newest_sets_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

void set_heads(::onnx::NodeProto* node, std::int64_t heads, std::int64_t kv_heads) {
  set(node, "q_num_heads", heads);
  set(node, "kv_num_heads", kv_heads);
}

TEST(NewestSets, SwishIsAnActivation) {
  ModelMaker model(24);
  model.input("x", {2, 6});
  model.node("Swish", {"x"}, {"y"});
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "y"), (Shape{2, 6}));
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).vector, Flops(5 * 12));
}

// A cache that stays where it is: new rows are read and written, and no more.
TEST(NewestSets, ScatteredRowsOfACacheAreAllThatMoves) {
  ModelMaker model(24);
  model.input("cache", {2, 8, 4096, 16});
  model.input("rows", {2, 8, 3, 16});
  model.input("at", {2}, 7);
  model.node("TensorScatter", {"cache", "rows", "at"}, {"present"});
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "present"), (Shape{2, 8, 4096, 16}));
  const Cost cost = cost_of(import.graph, import.graph.nodes[0]);
  EXPECT_EQ(cost.read, Bytes(4 * 2 * 8 * 3 * 16));
  EXPECT_EQ(cost.written, cost.read);
  ModelMaker wide(24);
  wide.input("cache", {2, 8, 4, 16});
  wide.input("rows", {2, 8, 5, 16});
  wide.node("TensorScatter", {"cache", "rows"}, {"present"});
  EXPECT_THAT(refusal_of(wide),
              HasSubstr("a cache of the shape 2x8x4x16 and new rows of 2x8x5x16"));
}

void add_queries_and_cache(ModelMaker& model) {
  model.input("q", {2, 32, 1, 16});
  model.input("k", {2, 8, 4096, 16});
  model.input("v", {2, 8, 4096, 24});
}

// Of a cache as long as the longest context only the keys that it holds count, in FLOPs and bytes.
TEST(NewestSets, AttentionCountsTheKeysThatACacheHolds) {
  ModelMaker model(24);
  add_queries_and_cache(model);
  model.numbers("lengths", {100, 301});
  model.node("Attention", {"q", "k", "v", "", "", "", "lengths"}, {"y"});
  const Import import = model.read();
  const Cost cost = cost_of(import.graph, import.graph.nodes[0]);
  EXPECT_EQ(cost.matrix, Flops(2ULL * 2 * 32 * 201 * (16 + 24)));
  const std::uint64_t queries = 2 * 32 * 16;
  EXPECT_EQ(cost.read, Bytes(4 * (queries + 2ULL * 8 * 201 * (16 + 24))));
  EXPECT_TRUE(import.notices.empty());
}

TEST(NewestSets, AttentionOverUnknownLengthsCountsAllAndSaysSo) {
  ModelMaker model(24);
  add_queries_and_cache(model);
  model.input("lengths", {2}, 7);
  model.node("Attention", {"q", "k", "v", "", "", "", "lengths"}, {"y"});
  const Import import = model.read();
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).matrix,
            Flops(2ULL * 2 * 32 * 4096 * (16 + 24)));
  ASSERT_EQ(import.notices.size(), 1U);
  ModelMaker full(24);
  add_queries_and_cache(full);
  full.numbers("lengths", {100, 4097});
  full.node("Attention", {"q", "k", "v", "", "", "", "lengths"}, {"y"});
  EXPECT_THAT(refusal_of(full), HasSubstr("4097 keys of 4096"));
}

TEST(NewestSets, BitsUnderAnotherTypeMoveNothing) {
  ModelMaker model(26);
  model.input("x", {3, 5});
  set(model.node("BitCast", {"x"}, {"y"}), "to", 6);
  model.number("axis", 0);
  model.node("CumProd", {"x", "axis"}, {"z"});
  const Import import = model.read();
  EXPECT_EQ(import.graph.tensor(import.graph.nodes[0].outputs[0]).type, ElementType::int32);
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).traffic(), Bytes(0));
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[1]).vector, Flops(15));
  ModelMaker narrow(26);
  narrow.input("x", {3, 5});
  set(narrow.node("BitCast", {"x"}, {"y"}), "to", 5);
  EXPECT_THAT(refusal_of(narrow), HasSubstr("have not as many bits as int16"));
}

// S = exp(g) S + b k (v - exp(g) S^T k)^T and q^T S, for each token, of heads in groups.
TEST(NewestSets, LinearAttentionIsItsRecurrence) {
  const auto flops_with = [](const Names& gates) {
    ModelMaker model(27);
    model.input("q", {2, 7, 16 * 8});
    model.input("k", {2, 7, 4 * 8});
    model.input("v", {2, 7, 4 * 12});
    model.input("state", {2, 4, 8, 12});
    model.input("decay", {2, 7, 4});
    model.input("beta", {2, 7, 4});
    Names inputs{"q", "k", "v", "state"};
    inputs.insert(inputs.end(), gates.begin(), gates.end());
    set_heads(model.node("LinearAttention", inputs, {"y", "present"}), 16, 4);
    const Import import = model.read();
    EXPECT_EQ(shape_of(import.graph, "y"), (Shape{2, 7, 16 * 12}));
    EXPECT_EQ(shape_of(import.graph, "present"), (Shape{2, 4, 8, 12}));
    return cost_of(import.graph, import.graph.nodes[0]).vector.count();
  };
  const std::uint64_t tokens = 2 * 7;
  const std::uint64_t state = 8 * 12;
  const std::uint64_t queries = tokens * 16 * (2 * state + 12);
  EXPECT_EQ(flops_with({}), queries + tokens * 4 * 2 * state);
  EXPECT_EQ(flops_with({"decay"}), queries + tokens * 4 * 3 * state);
  EXPECT_EQ(flops_with({"", "beta"}), queries + tokens * 4 * (4 * state + 2 * 12));
  EXPECT_EQ(flops_with({"decay", "beta"}), queries + tokens * 4 * (5 * state + 2 * 12));
}

TEST(NewestSets, LinearAttentionRefusesWhatDoesNotFit) {
  const auto refused = [](std::int64_t heads, const Numbers& state) {
    ModelMaker model(27);
    model.input("q", {2, 7, 128});
    model.input("k", {2, 7, 32});
    model.input("v", {2, 7, 48});
    model.input("state", state);
    set_heads(model.node("LinearAttention", {"q", "k", "v", "state"}, {"y"}), heads, 4);
    return refusal_of(model);
  };
  EXPECT_THAT(refused(10, {2, 4, 8, 12}), HasSubstr("queries of 2x7x128 in 10 heads"));
  EXPECT_THAT(refused(0, {2, 4, 8, 12}), HasSubstr("in 0 heads"));
  EXPECT_THAT(refused(16, {2, 4, 12, 8}), HasSubstr("a state of 2x4x12x8, and should be 2x4x8x12"));
}

TEST(NewestSets, CausalConvolutionsCountEachChannelByItself) {
  ModelMaker model(27);
  model.input("x", {2, 64, 10});
  model.weight("w", {64, 1, 4});
  model.weight("b", {64});
  model.input("past", {2, 64, 3});
  set_text(model.node("CausalConvWithState", {"x", "w", "b", "past"}, {"y", "present"}),
           "activation", "silu");
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "y"), (Shape{2, 64, 10}));
  EXPECT_EQ(shape_of(import.graph, "present"), (Shape{2, 64, 3}));
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).matrix, Flops(2 * 2 * 64 * 10 * 4));
  EXPECT_THAT(import.notices, Contains(HasSubstr("its activation takes no time of its own")));
  ModelMaker other(27);
  other.input("x", {2, 64, 10});
  other.weight("w", {64, 2, 4});
  other.node("CausalConvWithState", {"x", "w"}, {"y"});
  EXPECT_THAT(refusal_of(other), HasSubstr("an input of the shape 2x64x10 and weights of 64x2x4"));
}

// Windows that step over pixels leave them unread; a window wider than its step, or behind the
// edge, reads what is there once.
TEST(Poolings, ReadWhatTheirWindowsMeet) {
  const auto read = [](const Numbers& kernel, const Numbers& strides, const Numbers& pads,
                       const Numbers& dilations, std::int64_t side) {
    ModelMaker model(22);
    model.input("x", {2, 3, side, side});
    auto* const node = model.node("MaxPool", {"x"}, {"y"});
    set(node, "kernel_shape", kernel);
    set(node, "strides", strides);
    set(node, "pads", pads);
    set(node, "dilations", dilations);
    const Import import = model.read();
    return cost_of(import.graph, import.graph.nodes[0]).read.count() / (4 * 2 * 3);
  };
  EXPECT_EQ(read({3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 112), 112U * 112);
  EXPECT_EQ(read({1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 8), 4U * 4);
  EXPECT_EQ(read({2, 1}, {4, 2}, {0, 0, 0, 0}, {1, 1}, 8), 4U * 4);
  EXPECT_EQ(read({2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 7), 6U * 6);
  EXPECT_EQ(read({3, 3}, {2, 2}, {0, 0, 0, 0}, {2, 2}, 9), 5U * 5);
  EXPECT_EQ(read({2, 2}, {5, 5}, {1, 1, 1, 1}, {1, 1}, 6), 3U * 3);
}

}  // namespace
}  // namespace tessera::onnx::newest_sets_test
