// The operators of a chain written out, against small cases counted by hand and textbook formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "read_text.hpp"

namespace tessera::workload::layers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// `layers` is what comes after that key.
Workload chain(const std::string& input, const std::string& layers, const std::string& more = "") {
  const ReadResult result =
      read_text("kind: layers\ninput: " + input + "\nbatch: 1\ndata_type: fp16\n" + more +
                "layers:\n" + layers);
  EXPECT_THAT(result.complaints, IsEmpty());
  return result.workload.value();
}

// The only operator of the first layer.
Operator one(const std::string& input, const std::string& op, const std::string& more = "") {
  const Workload workload = chain(input, "  - {" + op + "}\n  - {kind: relu}\n", more);
  EXPECT_EQ(workload.layers[0].operators.size(), 1U);
  return workload.layers[0].operators[0];
}

std::vector<std::uint64_t> shape_of(const Operator& op) {
  const MatrixProduct& p = op.product;
  return {p.rows, p.columns, p.depth, p.count};
}

// PALM, table III: 2 B M N K.
TEST(Linear, IsAProduct) {
  const Operator op = one("[10, 6]", "kind: linear, outputs: 4");
  EXPECT_THAT(shape_of(op), ElementsAre(10, 4, 6, 1));
  EXPECT_EQ(op.forward_flops, Flops(2 * 10 * 4 * 6));
  EXPECT_EQ(op.backward_flops, Flops(2 * 2 * 10 * 4 * 6));
  EXPECT_EQ(op.weight_gradient_flops, Flops(2 * 10 * 4 * 6));
  EXPECT_EQ(op.parameters, 4U * 6 + 4);
  EXPECT_EQ(op.input_elements, 60U);
  EXPECT_EQ(op.output_elements, 40U);
  EXPECT_EQ(op.stored_whole, Bytes(2 * 60));
  EXPECT_EQ(one("[10, 6]", "kind: linear, outputs: 4, bias: false").parameters, 24U);
}

// PALM, table III: 2 B Ho Wo K R S C, and R S C K weights. The first layer of AlexNet: 55 x 55
// positions, 96 filters of 11 x 11 x 3 (Krizhevsky et al., 2012, with 227 pixels): 105 415 200
// multiply-adds, 34 944 parameters.
TEST(Convolution, TheFirstOfAlexNet) {
  const Operator op =
      one("[227, 227, 3]", "kind: convolution, channels: 96, kernel: 11, stride: 4");
  EXPECT_THAT(shape_of(op), ElementsAre(55 * 55, 96, 11 * 11 * 3, 1));
  EXPECT_EQ(op.forward_flops, Flops(2 * 105'415'200ULL));
  EXPECT_EQ(op.backward_flops, Flops(4 * 105'415'200ULL));
  EXPECT_EQ(op.weight_gradient_flops, op.forward_flops);
  EXPECT_EQ(op.parameters, 34'944U);
  EXPECT_EQ(op.input_elements, 227U * 227 * 3);
  EXPECT_EQ(op.output_elements, 55U * 55 * 96);
  EXPECT_EQ(op.stored_whole, Bytes(2 * 227 * 227 * 3));
}

// Dumoulin, Visin, arXiv:1603.07285, relationship 15: floor((i + 2p - k - (k-1)(d-1)) / s) + 1.
TEST(Convolution, PositionsFollowPaddingStrideAndDilation) {
  const auto rows_of = [](const std::string& keys) {
    return one("[5, 7, 1]", "kind: convolution, channels: 1, " + keys).product.rows;
  };
  EXPECT_EQ(rows_of("kernel: 3"), 3U * 5);
  EXPECT_EQ(rows_of("kernel: 3, padding: 1"), 5U * 7);
  EXPECT_EQ(rows_of("kernel: 3, padding: 1, stride: 2"), 3U * 4);
  EXPECT_EQ(rows_of("kernel: 3, dilation: 2"), 1U * 3);
  EXPECT_EQ(rows_of("kernel: [1, 7]"), 5U * 1);
  EXPECT_EQ(rows_of("kernel: [2, 3], stride: [1, 2], padding: [0, 1]"), 4U * 4);
}

// Groups of channels see their own channels only; with as many as channels it is depthwise.
TEST(Convolution, InGroups) {
  const Operator op =
      one("[8, 8, 6]", "kind: convolution, channels: 12, kernel: 3, padding: 1, groups: 3");
  EXPECT_THAT(shape_of(op), ElementsAre(64, 4, 2 * 9, 3));
  EXPECT_EQ(op.parameters, 12U * 2 * 9 + 12);
  EXPECT_EQ(op.output_elements, 64U * 12);
  const Operator depthwise = one(
      "[8, 8, 6]", "kind: convolution, channels: 6, kernel: 3, padding: 1, groups: 6, bias: false");
  EXPECT_THAT(shape_of(depthwise), ElementsAre(64, 1, 9, 6));
  EXPECT_EQ(depthwise.parameters, 54U);
}

// PALM, table III: an all-reduce of B Ho Wo K forward when C is cut, of B H W C backward when K is.
TEST(Convolution, CutByColumnsThenRows) {
  const Workload workload = chain("[8, 8, 6]", R"(
  - operators:
      - {kind: convolution, channels: 12, kernel: 3, padding: 1, sharding: column}
      - {kind: batch_norm}
      - {kind: relu}
      - {kind: convolution, channels: 12, kernel: 3, padding: 1, groups: 12, name: depthwise}
      - {kind: convolution, channels: 10, kernel: 3, padding: 1, sharding: row, name: last}
      - {kind: relu}
)");
  const Layer& layer = workload.layers[0];
  const Operator& column = layer.operators[0];
  EXPECT_EQ(column.sharding, Sharding::column);
  EXPECT_EQ(column.backward_all_reduce_elements, 8U * 8 * 6);
  EXPECT_EQ(column.forward_all_reduce_elements, 0U);
  EXPECT_EQ(find_operator(layer, "batch_norm").sharding, Sharding::heads);
  EXPECT_EQ(find_operator(layer, "batch_norm").stored_cut, Bytes(2 * 64 * 12));
  EXPECT_EQ(find_operator(layer, "relu").sharding, Sharding::heads);
  EXPECT_EQ(find_operator(layer, "depthwise").sharding, Sharding::heads);
  const Operator& row = find_operator(layer, "last");
  EXPECT_EQ(row.sharding, Sharding::row);
  EXPECT_EQ(row.forward_all_reduce_elements, 8U * 8 * 10);
  EXPECT_EQ(row.backward_all_reduce_elements, 0U);
  EXPECT_EQ(row.replicated_parameters, 10U) << "the bias";
  EXPECT_EQ(row.stored_cut, Bytes(2 * 64 * 12));
  EXPECT_EQ(find_operator(layer, "relu2").sharding, Sharding::replicated);
}

TEST(Pool, ComparesOrAddsItsWindow) {
  const Operator max = one("[6, 6, 4]", "kind: pool, type: max, kernel: 2");
  EXPECT_FALSE(max.is_matrix_product());
  EXPECT_EQ(max.output_elements, 3U * 3 * 4);
  EXPECT_EQ(max.forward_flops, Flops(36 * 4));
  EXPECT_EQ(max.backward_flops, Flops(36)) << "to the largest only";
  EXPECT_EQ(max.stored_whole, Bytes(36)) << "which that was";
  const Operator average =
      one("[6, 6, 4]", "kind: pool, type: average, kernel: 3, stride: 1, padding: 1");
  EXPECT_EQ(average.output_elements, 36U * 4);
  EXPECT_EQ(average.forward_flops, Flops(36 * 4 * 9));
  EXPECT_EQ(average.backward_flops, Flops(36 * 4 * 9));
  EXPECT_EQ(average.stored_whole, Bytes(0));
  const Operator global = one("[6, 6, 4]", "kind: pool, type: average, global: true");
  EXPECT_EQ(global.output_elements, 4U);
  EXPECT_EQ(global.forward_flops, Flops(36 * 4));
}

// Ioffe, Szegedy, arXiv:1502.03167: gain and shift of each channel.
TEST(BatchNorm, HasTwoWeightsAChannel) {
  const Operator op = one("[6, 6, 4]", "kind: batch_norm");
  EXPECT_EQ(op.parameters, 8U);
  EXPECT_EQ(op.weight_gradient_flops, Flops(3 * 144));
  EXPECT_EQ(op.stored_whole, Bytes(2 * 144));
  const Operator folded = one("[6, 6, 4]", "kind: batch_norm", "mode: inference\n");
  EXPECT_EQ(folded.forward_flops, Flops(2 * 144)) << "gain and shift";
  EXPECT_EQ(folded.backward_flops, Flops(0));
}

TEST(Joins, SumAndConcat) {
  const Workload workload = chain("[4, 4, 8]", R"(
  - operators:
      - {kind: convolution, channels: 8, kernel: 1, name: a}
      - {kind: convolution, channels: 8, kernel: 1, name: b, from: [input]}
      - {kind: sum, from: [a, b, input]}
      - {kind: concat, from: [sum, a]}
)");
  const Layer& layer = workload.layers[0];
  EXPECT_EQ(find_operator(layer, "sum").forward_flops, Flops(2 * 128));
  EXPECT_EQ(find_operator(layer, "sum").input_elements, 3U * 128);
  EXPECT_EQ(find_operator(layer, "sum").output_elements, 128U);
  EXPECT_EQ(find_operator(layer, "concat").output_elements, 256U);
  EXPECT_EQ(find_operator(layer, "concat").forward_flops, Flops(0));
  // Both convolutions need the input of the layer, which is kept once.
  EXPECT_EQ(stored_of(layer).whole, 2U * 128);
}

TEST(Chain, ShapesGoFromLayerToLayer) {
  const Workload workload = chain("[9, 9, 1]", R"(
  - {kind: convolution, channels: 2, kernel: 3}
  - name: shrink
    repeat: 3
    operators:
      - {kind: pool, type: max, kernel: 2, stride: 1, then: [relu]}
  - {kind: flatten, then: [softmax]}
)");
  std::vector<std::string> names;
  std::vector<std::uint64_t> boundaries;
  for (const Layer& layer : workload.layers) {
    names.push_back(layer.name);
    boundaries.push_back(layer.boundary_elements);
  }
  EXPECT_THAT(names, ElementsAre("layer 0", "shrink 1", "shrink 2", "shrink 3", "layer 2"));
  EXPECT_THAT(boundaries, ElementsAre(7 * 7 * 2, 6 * 6 * 2, 5 * 5 * 2, 4 * 4 * 2, 0));
  EXPECT_THAT(names_of(workload.layers[1]), ElementsAre("pool", "relu"));
  EXPECT_EQ(workload.layers[4].operators[0].input_elements, 32U);
}

// The same decoder layer written out has the work, weights and kept bytes of the `transformer`'s.
TEST(Chain, ATransformerLayerWrittenOut) {
  const ReadResult reference = read_text(
      "kind: transformer\nlayers: 1\nhidden: 96\nheads: 6\nkv_heads: 2\nsequence: 40\n"
      "vocabulary: 64\nbatch: 1\ndropout: false\n");
  ASSERT_TRUE(reference.workload);
  const Layer& expected = reference.workload->layers[1];
  const Workload workload = chain("[40]", R"(
  - {kind: embedding, rows: 64, width: 96}
  - operators:
      - {kind: layer_norm}
      - {kind: linear, outputs: 160, sharding: column}
      - {kind: attention, heads: 6, kv_heads: 2}
      - {kind: linear, outputs: 96, sharding: row, name: attended}
      - {kind: sum, from: [attended, input], name: skip}
      - {kind: layer_norm}
      - {kind: linear, outputs: 384, sharding: column, then: [gelu]}
      - {kind: linear, outputs: 96, sharding: row, name: mlp}
      - {kind: sum, from: [mlp, skip]}
)");
  const Layer& layer = workload.layers[1];
  EXPECT_EQ(workload.layers[0].operators[0].parameters, 64U * 96);
  EXPECT_EQ(workload.layers[0].operators[0].kernel, Kernel::lookup);
  EXPECT_EQ(layer.matrix_flops(), expected.matrix_flops());
  EXPECT_EQ(layer.forward_flops(), expected.forward_flops());
  EXPECT_EQ(layer.backward_flops(), expected.backward_flops());
  EXPECT_EQ(layer.parameters(), expected.parameters());
  EXPECT_EQ(stored_of(layer).whole, stored_of(expected).whole);
  EXPECT_EQ(stored_of(layer).cut, stored_of(expected).cut);
  EXPECT_EQ(find_operator(layer, "attention_scores").context_elements, 2U * 2 * 16 * 40);
  EXPECT_TRUE(find_operator(layer, "attention_softmax").recomputed_selectively);
  EXPECT_EQ(find_operator(layer, "attention_values").sharding, Sharding::heads);
}

}  // namespace
}  // namespace tessera::workload::layers_test
