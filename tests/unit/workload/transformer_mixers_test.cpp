// Latent attention, windows, state-space layers and patterns of layers, against closed forms, and
// what is said about the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "read_text.hpp"

namespace tessera::workload::transformer_mixers_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t s = 40;
constexpr std::uint64_t h = 96;
constexpr std::uint64_t a = 6;

const std::string sizes =
    "kind: transformer\nlayers: 6\nhidden: 96\nsequence: 40\nvocabulary: 1000\nbatch: 1\n"
    "positions: rotary\nnormalisation: rms_norm\nbiases: false\ndropout: false\n";
const std::string flash = "attention: flash\ncausal: true\n";

ReadResult read(const std::string& more) {
  return read_text(sizes + more);
}

Workload transformer(const std::string& more) {
  const ReadResult result = read(more);
  EXPECT_THAT(result.complaints, IsEmpty());
  return result.workload.value();
}

std::vector<std::uint64_t> shape_of(const Operator& op) {
  const MatrixProduct& p = op.product;
  return {p.rows, p.columns, p.depth, p.count};
}

// --- latent attention ----------------------------------------------------------------------------

constexpr std::uint64_t q_rank = 48;
constexpr std::uint64_t kv_rank = 32;
constexpr std::uint64_t nope = 16;
constexpr std::uint64_t rope = 8;
constexpr std::uint64_t value = 12;
const std::string latent =
    "heads: 6\nlatent: {q_rank: 48, kv_rank: 32, nope_width: 16, rope_width: 8, value_width: 12}\n";

// DeepSeek-AI, arXiv:2405.04434, section 2.1.2, equations (37) to (47).
TEST(LatentAttention, HasTheWeightsOfThePaper) {
  const Layer layer = transformer(latent + flash).layers[1];
  EXPECT_THAT(names_of(layer),
              ElementsAre("norm1", "q_down", "q_norm", "q_up", "kv_down", "kv_norm", "kv_up",
                          "rotary", "rotary_key", "join_keys", "attention", "attention_output",
                          "skip1", "norm2", "mlp_up", "gelu", "mlp_down", "skip2"));
  EXPECT_THAT(shape_of(find_operator(layer, "q_down")), ElementsAre(s, q_rank, h, 1));
  EXPECT_THAT(shape_of(find_operator(layer, "q_up")), ElementsAre(s, a * (nope + rope), q_rank, 1));
  EXPECT_THAT(shape_of(find_operator(layer, "kv_down")), ElementsAre(s, kv_rank + rope, h, 1));
  EXPECT_THAT(shape_of(find_operator(layer, "kv_up")),
              ElementsAre(s, a * (nope + value), kv_rank, 1));
  EXPECT_THAT(shape_of(find_operator(layer, "attention_output")), ElementsAre(s, h, a * value, 1));
  const std::uint64_t products = h * (q_rank + kv_rank + rope) + q_rank * a * (nope + rope) +
                                 kv_rank * a * (nope + value) + a * value * h;
  const std::uint64_t mlp = 2 * h * 4 * h;
  EXPECT_EQ(layer.parameters(), products + q_rank + kv_rank + mlp + 2 * h);
}

TEST(LatentAttention, MultipliesKeysAndValuesOfTheirOwnWidths) {
  const Operator op = find_operator(transformer(latent + flash).layers[1], "attention");
  const std::uint64_t widths = nope + rope + value;
  EXPECT_EQ(op.forward_flops, Flops(a * s * s * widths)) << "half of 2 s^2 (24 + 12) a head";
  EXPECT_EQ(op.product.flops(), op.forward_flops);
  EXPECT_EQ(op.backward_flops, Flops(a * s * s * (3 * (nope + rope) + 2 * value)));
  EXPECT_EQ(op.input_elements, s * a * (2 * (nope + rope) + value));
  EXPECT_EQ(op.output_elements, s * a * value);
  EXPECT_EQ(op.context_elements, s * a * (nope + rope + value));
  const Layer plain = transformer(latent).layers[1];
  EXPECT_THAT(shape_of(find_operator(plain, "attention_scores")),
              ElementsAre(s, s, nope + rope, a));
  EXPECT_THAT(shape_of(find_operator(plain, "attention_values")), ElementsAre(s, value, s, a));
}

// In 16 bits: whole on every shard the inputs of the norms and of the products that are not cut;
// cut queries, keys, values and what attention gives.
TEST(LatentAttention, KeepsVectorsWholeAndHeadsCut) {
  const Layer layer = transformer(latent + flash).layers[1];
  Stored attention;
  for (const Operator& op : layer.operators) {
    if (op.name == "norm2") {
      break;
    }
    attention.cut += op.stored_cut.count();
    attention.whole += op.stored_whole.count();
  }
  EXPECT_EQ(attention.whole, 2 * s * (2 * h + 2 * q_rank + 2 * kv_rank));
  EXPECT_EQ(attention.cut, 2 * s * a * (2 * (nope + rope) + 2 * value) + 4 * a * s);
}

// The part of the key that heads share goes with the latent vector to all shards.
TEST(LatentAttention, GathersBothPartsOverTheTensorGroup) {
  const Layer layer = transformer(latent + flash).layers[1];
  EXPECT_EQ(find_operator(layer, "kv_up").backward_all_reduce_elements, s * (kv_rank + rope));
  EXPECT_EQ(find_operator(layer, "q_up").backward_all_reduce_elements, s * q_rank);
  EXPECT_EQ(find_operator(layer, "kv_down").sharding, Sharding::replicated);
  EXPECT_EQ(find_operator(layer, "attention").kv_heads, a);
}

TEST(LatentAttention, MayTakeQueriesFromTheStream) {
  const Layer layer =
      transformer("heads: 6\nlatent: {kv_rank: 32, nope_width: 16, rope_width: 8}\n" + flash)
          .layers[1];
  EXPECT_THAT(names_of(layer), Not(Contains("q_down")));
  EXPECT_THAT(shape_of(find_operator(layer, "q")), ElementsAre(s, a * (nope + rope), h, 1));
  EXPECT_THAT(shape_of(find_operator(layer, "attention_output")), ElementsAre(s, h, a * nope, 1));
}

TEST(LatentAttention, IsChecked) {
  EXPECT_THAT(read(latent + "kv_heads: 2\n").complaints,
              ElementsAre(AllOf(HasSubstr("w.yaml:13:"), HasSubstr("follows from 'latent'"))));
  EXPECT_THAT(read(latent + "query_key_norms: true\n").complaints,
              ElementsAre(AllOf(HasSubstr("query_key_norms"), HasSubstr("norms of its own"))));
  EXPECT_THAT(read("heads: 6\nlatent: {kv_rank: 32}\n").complaints,
              ElementsAre(HasSubstr("latent.nope_width")));
  EXPECT_THAT(read(latent + "architecture: encoder\n").complaints,
              ElementsAre(AllOf(HasSubstr("latent"), HasSubstr("decoder"))));
}

// --- dense layers first --------------------------------------------------------------------------

TEST(Experts, BeginBehindTheDenseLayers) {
  const Workload workload = transformer(
      "heads: 6\nffn: 100\nexperts: {count: 4, top_k: 1, every: 2, dense_first: 1, ffn: 50}\n");
  std::vector<bool> have;
  for (std::size_t layer = 1; layer <= 6; ++layer) {
    const std::vector<std::string> names = names_of(workload.layers[layer]);
    have.push_back(std::find(names.begin(), names.end(), "router") != names.end());
  }
  EXPECT_THAT(have, ElementsAre(false, false, true, false, true, false));
}

// --- windows -------------------------------------------------------------------------------------

std::uint64_t pairs_seen(std::uint64_t tokens, std::uint64_t window) {
  std::uint64_t pairs = 0;
  for (std::uint64_t token = 0; token < tokens; ++token) {
    pairs += std::min(token + 1, window);
  }
  return pairs;
}

TEST(LocalAttention, MultipliesTheBandExactly) {
  for (const std::uint64_t window : {1U, 7U, 39U}) {
    const Workload workload =
        transformer("heads: 6\npattern: [local]\nwindow: " + std::to_string(window) + "\n" + flash);
    const Operator op = find_operator(workload.layers[1], "attention");
    EXPECT_EQ(op.forward_flops, Flops(4 * h * pairs_seen(s, window))) << window;
    EXPECT_EQ(op.backward_flops, Flops(10 * h * pairs_seen(s, window))) << window;
    EXPECT_GE(op.product.flops(), op.forward_flops);
    EXPECT_EQ(op.output_elements, s * h);
  }
}

TEST(LocalAttention, OfAWindowOverAllIsAttention) {
  const Workload all = transformer("heads: 6\n" + flash);
  const Workload window = transformer("heads: 6\npattern: [local]\nwindow: 40\n" + flash);
  EXPECT_EQ(all.flops_per_sample(), window.flops_per_sample());
}

TEST(LocalAttention, StandsInAPattern) {
  const Workload workload =
      transformer("heads: 6\npattern: [local, local, attention]\nwindow: 8\n" + flash);
  std::vector<std::uint64_t> flops;
  for (std::size_t layer = 1; layer <= 6; ++layer) {
    flops.push_back(find_operator(workload.layers[layer], "attention").forward_flops.count());
  }
  const std::uint64_t local = 4 * h * pairs_seen(s, 8);
  const std::uint64_t whole = 2 * h * s * s;
  EXPECT_THAT(flops, ElementsAre(local, local, whole, local, local, whole));
}

TEST(LocalAttention, IsChecked) {
  EXPECT_THAT(read("heads: 6\npattern: [local]\n" + flash).complaints,
              ElementsAre(AllOf(HasSubstr("pattern"), HasSubstr("need 'window'"))));
  EXPECT_THAT(read("heads: 6\nwindow: 8\n" + flash).complaints,
              ElementsAre(AllOf(HasSubstr("window"), HasSubstr("'local' in 'pattern'"))));
  EXPECT_THAT(read("heads: 6\npattern: [local]\nwindow: 8\n").complaints,
              ElementsAre(AllOf(HasSubstr("window"), HasSubstr("causal: true"))));
  EXPECT_THAT(read("heads: 6\npattern: [locl]\nwindow: 8\n").complaints,
              Contains(AllOf(HasSubstr("w.yaml:12:"), HasSubstr("'locl' is no layer"))));
  EXPECT_THAT(read("heads: 6\narchitecture: encoder\npattern: [attention]\n").complaints,
              ElementsAre(AllOf(HasSubstr("pattern"), HasSubstr("decoder"))));
}

// --- state-space layers --------------------------------------------------------------------------

constexpr std::uint64_t d = 2 * h;  // channels
constexpr std::uint64_t n = 16;
constexpr std::uint64_t g = 2;
constexpr std::uint64_t p = 32;
constexpr std::uint64_t heads = d / p;
const std::string ssm = "ssm: {state: 16, head_width: 32, groups: 2, chunk: 8}\n";

// Dao and Gu, arXiv:2405.21060, section 7 and the published weights: one product into gate,
// channels, state and steps; a convolution of 4 tokens with a bias; decay, skip and bias of each
// head; a norm; a product back.
TEST(StateSpace, HasTheWeightsOfMamba2) {
  const Layer layer = transformer("pattern: [ssm-alone]\n" + ssm).layers[1];
  EXPECT_THAT(names_of(layer), ElementsAre("norm1", "ssm_input", "ssm_convolution", "ssm_steps",
                                           "ssm_scores", "ssm_states", "ssm_passing", "ssm_outputs",
                                           "ssm_gate", "ssm_norm", "ssm_output", "skip1"));
  EXPECT_EQ(layer.parameters(),
            h + h * (2 * d + 2 * g * n + heads) + (d + 2 * g * n) * 5 + 3 * heads + d + d * h);
}

TEST(StateSpace, MultipliesChunks) {
  const std::uint64_t q = 8;
  const Layer layer = transformer("pattern: [ssm-alone]\n" + ssm).layers[1];
  EXPECT_THAT(shape_of(find_operator(layer, "ssm_scores")), ElementsAre(q, q, n, g * s / q));
  EXPECT_THAT(shape_of(find_operator(layer, "ssm_states")), ElementsAre(n, p, q, heads * s / q));
  EXPECT_THAT(shape_of(find_operator(layer, "ssm_outputs")),
              ElementsAre(q, p, q + n, heads * s / q));
  const std::uint64_t scan = 2 * s * q * (g * n + d) + 4 * s * n * d;
  const std::uint64_t projections = 2 * s * h * (2 * d + 2 * g * n + heads) + 2 * s * d * h;
  EXPECT_EQ(layer.matrix_flops(), Flops(scan + projections));
  EXPECT_EQ(find_operator(layer, "ssm_scores").backward_flops, Flops(3 * 2 * s * q * g * n));
  EXPECT_EQ(find_operator(layer, "ssm_outputs").backward_flops,
            Flops(2 * 2 * s * p * (q + n) * heads));
}

TEST(StateSpace, RoundsUpToWholeChunksAndIsNoLongerThanTheSequence) {
  const auto count = [](const std::string& chunk) {
    const Layer layer =
        transformer("pattern: [ssm-alone]\nssm: {state: 16, head_width: 32, chunk: " + chunk +
                    "}\n")
            .layers[1];
    return shape_of(find_operator(layer, "ssm_states"));
  };
  EXPECT_THAT(count("16"), ElementsAre(n, p, 16, heads * 3));
  EXPECT_THAT(count("256"), ElementsAre(n, p, s, heads));
}

// In 16 bits and cut: what the product gives, what the convolution gives, what goes into the gate,
// into the norm and into the product back; whole the input of the layer's norm and of its product.
TEST(StateSpace, KeepsTheInputsOfItsOperators) {
  const Stored stored = stored_of(transformer("pattern: [ssm-alone]\n" + ssm).layers[1]);
  EXPECT_EQ(stored.whole, 2 * s * 2 * h);
  EXPECT_EQ(stored.cut, 2 * s * ((2 * d + 2 * g * n + heads) + (d + 2 * g * n) + d + d + d));
}

TEST(StateSpace, IsCutByGroupsOfHeads) {
  const Layer layer = transformer("pattern: [ssm-alone]\n" + ssm).layers[1];
  EXPECT_EQ(find_operator(layer, "ssm_scores").kv_heads, g);
  EXPECT_EQ(find_operator(layer, "ssm_input").sharding, Sharding::column);
  EXPECT_EQ(find_operator(layer, "ssm_norm").sharding, Sharding::heads);
  EXPECT_EQ(find_operator(layer, "ssm_output").forward_all_reduce_elements, s * h);
}

TEST(StateSpace, StandsBesideAttentionAndMlps) {
  const Workload workload = transformer(
      "heads: 6\npattern: [ssm-alone, mlp-alone, attention-alone, ssm, attention]\n" + ssm);
  const auto has = [&](std::size_t layer, const std::string& name) {
    const std::vector<std::string> names = names_of(workload.layers[layer]);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has(1, "ssm_input") && !has(1, "mlp_up"));
  EXPECT_TRUE(!has(2, "ssm_input") && !has(2, "qkv") && has(2, "mlp_up"));
  EXPECT_TRUE(has(3, "qkv") && !has(3, "mlp_up"));
  EXPECT_TRUE(has(4, "ssm_input") && has(4, "mlp_up"));
  EXPECT_TRUE(has(5, "qkv") && has(5, "mlp_up"));
  EXPECT_TRUE(has(6, "ssm_input") && !has(6, "mlp_up")) << "the pattern again";
}

TEST(StateSpace, IsChecked) {
  EXPECT_THAT(read("pattern: [ssm]\n").complaints,
              ElementsAre(AllOf(HasSubstr("pattern"), HasSubstr("need the section 'ssm'"))));
  EXPECT_THAT(read("heads: 6\n" + ssm).complaints,
              ElementsAre(AllOf(HasSubstr("ssm"), HasSubstr("no layer of 'pattern'"))));
  EXPECT_THAT(read("heads: 6\npattern: [ssm]\n" + ssm).complaints,
              ElementsAre(AllOf(HasSubstr("heads"), HasSubstr("has attention"))));
  EXPECT_THAT(read("pattern: [attention]\n").complaints,
              ElementsAre(AllOf(HasSubstr("heads"), HasSubstr("missing"))));
  EXPECT_THAT(read("pattern: [ssm]\nssm: {state: 16, head_width: 36}\n").complaints,
              ElementsAre(HasSubstr("192) is not a multiple of 36")));
  EXPECT_THAT(read("pattern: [ssm]\nssm: {state: 16, groups: 2}\n").complaints,
              ElementsAre(HasSubstr("heads (3) is not a multiple of 2 groups")));
}

}  // namespace
}  // namespace tessera::workload::transformer_mixers_test
