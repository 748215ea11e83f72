// Grouped queries, flash attention, gated MLPs, experts, encoders and inference, against closed
// forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "read_text.hpp"

namespace tessera::workload::transformer_variants_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t s = 40;
constexpr std::uint64_t h = 96;
constexpr std::uint64_t a = 6;
constexpr std::uint64_t d = 16;
constexpr std::uint64_t v = 1000;

Workload transformer(const std::string& more) {
  const ReadResult result = read_text(
      "kind: transformer\nlayers: 3\nhidden: 96\nheads: 6\nsequence: 40\nvocabulary: 1000\n"
      "batch: 1\n" +
      more);
  EXPECT_THAT(result.complaints, IsEmpty());
  return result.workload.value();
}

Layer layer(const std::string& more) {
  return transformer(more).layers[1];
}

std::vector<std::uint64_t> shape_of(const Operator& op) {
  const MatrixProduct& p = op.product;
  return {p.rows, p.columns, p.depth, p.count};
}

// Ainslie et al., arXiv:2305.13245: keys and values of g heads instead of a.
TEST(GroupedQueries, ShrinkKeysAndValues) {
  const std::uint64_t g = 2;
  const Layer all = layer("biases: false\n");
  const Layer grouped = layer("biases: false\nkv_heads: 2\n");
  EXPECT_EQ(all.parameters() - grouped.parameters(), 2 * h * (a - g) * d);
  EXPECT_EQ(find_operator(grouped, "qkv").output_elements, s * (a + 2 * g) * d);
  EXPECT_THAT(shape_of(find_operator(grouped, "attention_scores")), ElementsAre(s, s, d, a));
  EXPECT_EQ(find_operator(grouped, "attention_scores").input_elements, s * (a + g) * d);
  EXPECT_EQ(find_operator(grouped, "attention_scores").context_elements, 2 * g * d * s);
  EXPECT_EQ(find_operator(all, "attention_scores").context_elements, 2 * h * s);
  EXPECT_EQ(stored_of(all).cut - stored_of(grouped).cut, 2 * 2 * s * (a - g) * d);
}

TEST(HeadWidth, SetsTheWidthOfAttention) {
  const Layer wide = layer("head_width: 32\nbiases: false\n");
  EXPECT_THAT(shape_of(find_operator(wide, "qkv")), ElementsAre(s, 3 * 2 * h, h, 1));
  EXPECT_THAT(shape_of(find_operator(wide, "attention_output")), ElementsAre(s, h, 2 * h, 1));
}

// Dao, arXiv:2307.08691, section 4.1: 4 s^2 h forward, half of it with a causal mask, and 2.5 times
// as much backward.
TEST(FlashAttention, CountsAsPublishedAndKeepsNoWeights) {
  const Layer flash = layer("attention: flash\n");
  const Operator& op = find_operator(flash, "attention");
  EXPECT_TRUE(op.is_matrix_product());
  EXPECT_EQ(op.forward_flops, Flops(4 * s * s * h));
  EXPECT_EQ(op.product.flops(), op.forward_flops);
  EXPECT_EQ(op.backward_flops, Flops(10 * s * s * h));
  EXPECT_EQ(op.weight_gradient_flops, Flops(0));
  EXPECT_EQ(op.input_elements, 3 * s * h);
  EXPECT_EQ(op.output_elements, s * h);
  EXPECT_EQ(op.context_elements, 2 * s * h);
  EXPECT_EQ(op.stored_cut, Bytes(4 * a * s)) << "one fp32 number a row";
  EXPECT_FALSE(op.recomputed_selectively);
  EXPECT_EQ(flash.matrix_flops(), layer("").matrix_flops());
  EXPECT_EQ(stored_of(flash).cut, 24 * s * h + 4 * a * s) << "no scores";
  const Layer causal = layer("attention: flash\ncausal: true\n");
  EXPECT_EQ(find_operator(causal, "attention").forward_flops, Flops(2 * s * s * h));
  EXPECT_EQ(find_operator(causal, "attention").backward_flops, Flops(5 * s * s * h));
  EXPECT_EQ(layer("causal: true\n").matrix_flops(), layer("").matrix_flops())
      << "plain attention computes what is masked";
}

// Megatron-LM without its fused kernel: cast to fp32, scale, mask, softmax, cast back.
TEST(EagerAttention, MovesTheScoresInFp32OperationByOperation) {
  const Layer eager = layer("attention: eager\n");
  const std::uint64_t scores = a * s * s;
  // Bytes an element: inputs and outputs in fp16 count 4 forward and 6 backward.
  const auto moved = [&](const std::string& name, std::uint64_t forward, std::uint64_t backward) {
    const Operator& op = find_operator(eager, name);
    EXPECT_EQ(op.input_elements, scores) << name;
    EXPECT_EQ(op.output_elements, scores) << name;
    EXPECT_EQ(op.more_moved_forward, Bytes((forward - 4) * scores)) << name;
    EXPECT_EQ(op.more_moved_backward, Bytes((backward - 6) * scores)) << name;
    EXPECT_EQ(op.passing_forward, op.more_moved_forward) << name;
    EXPECT_EQ(op.passing_backward, op.more_moved_forward) << name;
    EXPECT_TRUE(op.recomputed_selectively) << name;
  };
  moved("scores_cast", 6, 6);
  moved("scores_scale", 8, 8);
  moved("scores_mask", 8, 8);
  moved("softmax", 8, 12);
  moved("weights_cast", 6, 6);
  EXPECT_EQ(find_operator(eager, "softmax").stored_cut, Bytes(4 * scores));
  EXPECT_EQ(eager.matrix_flops(), layer("").matrix_flops());
  EXPECT_EQ(eager.operators.size(), layer("").operators.size() + 4);
  const Layer wide = layer("attention: eager\ndata_type: fp32\n");
  EXPECT_EQ(wide.operators.size(), layer("").operators.size() + 2) << "no casts";
  EXPECT_EQ(find_operator(wide, "scores_mask").more_moved_forward, Bytes(0));
  EXPECT_TRUE(find_operator(wide, "scores_scale").ignores_inputs_backward) << "2 passes of fp32";
  EXPECT_TRUE(find_operator(wide, "scores_mask").ignores_inputs_backward);
  EXPECT_EQ(find_operator(wide, "scores_mask").more_moved_backward, Bytes(0));
  EXPECT_FALSE(find_operator(wide, "softmax").ignores_inputs_backward) << "3 passes";
  EXPECT_EQ(find_operator(wide, "softmax").stored_cut, Bytes(4 * scores)) << "and dropout's output";
  EXPECT_EQ(stored_of(layer("attention: eager\ndata_type: fp32\ndropout: false\n")).cut,
            stored_of(layer("data_type: fp32\ndropout: false\n")).cut)
      << "the next product keeps what the softmax gives";
}

// Shazeer, arXiv:2002.05202: three matrices, two of them from hidden to ffn.
TEST(Mlp, SwigluHasThreeMatrices) {
  const Layer gated = layer("mlp: swiglu\nffn: 100\nbiases: false\n");
  EXPECT_THAT(shape_of(find_operator(gated, "mlp_up")), ElementsAre(s, 200, h, 1));
  EXPECT_EQ(find_operator(gated, "swiglu").input_elements, 2 * s * 100);
  EXPECT_EQ(find_operator(gated, "swiglu").output_elements, s * 100);
  EXPECT_EQ(find_operator(gated, "swiglu").stored_cut, Bytes(2 * 2 * s * 100));
  EXPECT_THAT(shape_of(find_operator(gated, "mlp_down")), ElementsAre(s, h, 100, 1));
  EXPECT_EQ(find_operator(layer("mlp: relu\n"), "relu").stored_cut, Bytes(s * 4 * h)) << "a mask";
}

TEST(Norm, RootMeanSquareHasNoShift) {
  EXPECT_EQ(layer("").parameters() - layer("normalisation: rms_norm\n").parameters(), 2 * h);
  EXPECT_EQ(find_operator(layer("normalisation: rms_norm\n"), "norm1").weight_gradient_flops,
            Flops(2 * s * h));
}

TEST(Positions, RotaryTurnsQueriesAndKeys) {
  const Workload workload = transformer("positions: rotary\nkv_heads: 2\n");
  EXPECT_THAT(names_of(workload.layers[0]), ElementsAre("word_embedding", "embedding_dropout"));
  EXPECT_EQ(find_operator(workload.layers[1], "rotary").output_elements, s * (a + 2) * d);
}

// s h (2 + 2 + 2 + 2) bytes less, and of the attention weights three of five.
TEST(Dropout, WithoutItThereAreNoMasks) {
  const Stored with = stored_of(layer(""));
  const Stored without = stored_of(layer("dropout: false\n"));
  EXPECT_EQ(with.whole - without.whole, 2 * s * h);
  EXPECT_EQ(with.cut - without.cut, 3 * a * s * s);
  EXPECT_THAT(names_of(transformer("dropout: false\n").layers[0]),
              ElementsAre("word_embedding", "position_embedding"));
}

// Fedus et al., arXiv:2101.03961, equation (3): tokens / experts * capacity factor, for each of the
// top k. 40 * 2 * 1.25 / 8 = 12.5, rounded up 13.
TEST(Experts, WorkOnTheirCapacity) {
  const std::string more = "biases: false\nmlp: swiglu\nffn: 100\nexperts: {count: 8, top_k: 2";
  const Layer moe = layer(more + ", capacity_factor: 1.25}\n");
  EXPECT_THAT(names_of(moe),
              ElementsAre("ln1", "qkv", "attention_scores", "softmax", "attention_dropout",
                          "attention_values", "attention_output", "skip1", "ln2", "router",
                          "router_softmax", "dispatch", "expert_up", "expert_swiglu", "expert_down",
                          "combine", "skip2"));
  EXPECT_THAT(shape_of(find_operator(moe, "router")), ElementsAre(s, 8, h, 1));
  EXPECT_THAT(shape_of(find_operator(moe, "expert_up")), ElementsAre(13, 200, h, 8));
  EXPECT_THAT(shape_of(find_operator(moe, "expert_down")), ElementsAre(13, h, 100, 8));
  const std::uint64_t copies = 13 * 8 * h;
  for (const char* name : {"dispatch", "expert_down"}) {
    EXPECT_EQ(find_operator(moe, name).exchange_elements, copies) << name;
  }
  EXPECT_EQ(find_operator(moe, "dispatch").output_elements, copies);
  EXPECT_EQ(find_operator(moe, "combine").input_elements, copies);
  EXPECT_EQ(find_operator(moe, "combine").output_elements, s * h);
  const Operator& up = find_operator(moe, "expert_up");
  EXPECT_EQ(up.experts, 8U);
  EXPECT_EQ(up.parameters, 8 * 200 * h);
  EXPECT_EQ(up.forward_flops, Flops(2 * 13 * 200 * h * 8));
  EXPECT_EQ(up.backward_flops, Flops(2 * up.forward_flops.count()));
  EXPECT_EQ(up.weight_gradient_flops, up.forward_flops);
  EXPECT_EQ(up.stored_whole, Bytes(2 * copies));
  EXPECT_EQ(up.backward_all_reduce_elements, copies);
  EXPECT_EQ(find_operator(moe, "expert_down").forward_all_reduce_elements, copies);
}

TEST(Experts, InEverySecondLayerAndShared) {
  const Workload workload =
      transformer("biases: false\nexperts: {count: 4, top_k: 1, every: 2, shared: 2, ffn: 50}\n");
  EXPECT_EQ(workload.layers[1].operators.size(), 13U) << "one MLP for all";
  const Layer& moe = workload.layers[2];
  EXPECT_THAT(shape_of(find_operator(moe, "expert_up")), ElementsAre(10, 50, h, 4));
  EXPECT_THAT(shape_of(find_operator(moe, "shared_up")), ElementsAre(s, 100, h, 1));
  EXPECT_EQ(find_operator(moe, "shared_up").experts, 0U);
  EXPECT_EQ(find_operator(moe, "combine").input_elements, 4 * 10 * h + s * h);
  EXPECT_EQ(workload.layers[3].operators.size(), 13U);
}

// Devlin et al., arXiv:1810.04805: norms after the skips, one after the embedding, none at the end.
TEST(Encoder, LikeBert) {
  const Workload workload =
      transformer("architecture: encoder\nnormalise: after\ntoken_types: 2\nhead: bert\n");
  EXPECT_THAT(names_of(workload.layers[0]),
              ElementsAre("word_embedding", "position_embedding", "token_type_embedding",
                          "embedding_layer_norm", "embedding_dropout"));
  EXPECT_EQ(workload.layers[1].operators.front().name, "qkv");
  EXPECT_EQ(workload.layers[1].operators.back().name, "ln2");
  EXPECT_THAT(names_of(workload.layers.back()),
              ElementsAre("pooler", "pooler_tanh", "next_sentence", "transform", "transform_gelu",
                          "transform_layer_norm", "lm_head", "loss"));
  const Operator& head = find_operator(workload.layers.back(), "lm_head");
  EXPECT_EQ(head.parameters, v) << "its bias";
  EXPECT_EQ(head.shared_parameters, v * h);
}

TEST(Encoder, AloneEndsInANorm) {
  const Workload workload = transformer("architecture: encoder\n");
  EXPECT_THAT(names_of(workload.layers.back()), ElementsAre("final_layer_norm"));
  const Workload after = transformer("architecture: encoder\nnormalise: after\n");
  EXPECT_EQ(after.layers.back().name, "layer 2");
  EXPECT_EQ(after.layers.back().boundary_elements, 0U);
}

// Vaswani et al., arXiv:1706.03762: every decoder layer looks at the encoder's output as well.
TEST(EncoderDecoder, CrossesOver) {
  const std::uint64_t e = 24;
  const Workload workload = transformer(
      "architecture: encoder-decoder\nencoder_layers: 2\nencoder_sequence: 24\nbiases: false\n");
  std::vector<std::string> names;
  for (const Layer& each : workload.layers) {
    names.push_back(each.name);
  }
  EXPECT_THAT(names, ElementsAre("encoder embedding", "encoder layer 0", "encoder layer 1",
                                 "decoder embedding", "decoder layer 0", "decoder layer 1",
                                 "decoder layer 2", "head"));
  EXPECT_EQ(workload.layers[1].matrix_flops(), Flops(24 * e * h * h + 4 * e * e * h));
  // Queries and output of s tokens, keys and values of e; scores between them.
  const std::uint64_t cross = 4 * s * h * h + 4 * e * h * h + 4 * s * e * h;
  EXPECT_EQ(workload.layers[4].matrix_flops(), Flops(24 * s * h * h + 4 * s * s * h + cross));
  EXPECT_EQ(workload.layers[4].parameters() - workload.layers[1].parameters(), 4 * h * h + 2 * h);
  EXPECT_EQ(find_operator(workload.layers[4], "cross_attention_scores").context_elements,
            2 * e * h);
  EXPECT_EQ(workload.layers[2].boundary_elements, e * h);
  EXPECT_EQ(workload.layers[4].boundary_elements, (s + e) * h);
  EXPECT_EQ(find_operator(workload.layers[3], "word_embedding").shared_parameters, v * h);
  EXPECT_EQ(find_operator(workload.layers[3], "word_embedding").parameters, 0U);
}

TEST(Inference, HasForwardPassesOnly) {
  const Workload training = transformer("");
  const Workload inference = transformer("mode: inference\n");
  EXPECT_FALSE(inference.training);
  EXPECT_EQ(inference.parameters(), training.parameters());
  std::uint64_t forward = 0;
  for (const Layer& each : inference.layers) {
    EXPECT_EQ(each.backward_flops(), Flops(0));
    EXPECT_EQ(stored_of(each).cut + stored_of(each).whole, 0U);
    forward += each.forward_flops().count();
    for (const Operator& op : each.operators) {
      EXPECT_EQ(op.weight_gradient_flops, Flops(0));
    }
  }
  EXPECT_EQ(inference.flops_per_sample(), Flops(forward));
  EXPECT_EQ(inference.layers[1].matrix_flops(), training.layers[1].matrix_flops());
  EXPECT_THAT(names_of(inference.layers.back()), ElementsAre("final_layer_norm", "lm_head"));
}

}  // namespace
}  // namespace tessera::workload::transformer_variants_test
