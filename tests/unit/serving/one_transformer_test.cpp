// A model is the same served and trained: parameters, FLOPs and the bytes of weights of a step that
// reaches them all.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/serving/language_model.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving::one_transformer_test {
namespace {

using workload::LayerKind;
using workload::Mixer;
using workload::TransformerShape;

constexpr std::uint32_t tokens = 64;

TransformerShape dense() {
  TransformerShape shape;
  shape.layers = 4;
  shape.hidden = 256;
  shape.heads = shape.kv_heads = 8;
  shape.head_width = 32;
  shape.ffn = 512;
  shape.sequence = tokens;
  shape.vocabulary = 1000;
  shape.positions = workload::Positions::rotary;
  shape.attention = workload::AttentionKind::flash;
  shape.causal = true;
  shape.dropout = shape.loss = shape.tie_embeddings = false;
  return shape;
}

TransformerShape grouped() {
  TransformerShape shape = dense();
  shape.kv_heads = 2;
  shape.mlp = workload::Activation::swiglu;
  shape.norm = workload::Norm::rms;
  shape.biases = false;
  return shape;
}

// Of DeepSeek's kind; each token goes to every expert, so that all weights are read.
TransformerShape latent() {
  TransformerShape shape = grouped();
  shape.latent = workload::LatentShape{96, 64, 32, 16, 24};
  shape.kv_heads = shape.heads;
  shape.head_width = shape.latent->key_width();
  return shape;
}

TransformerShape shared_experts() {
  TransformerShape shape = grouped();
  shape.experts = workload::ExpertShape{4, 4, 1, 1'000'000, 1, 128, 1};
  return shape;
}

TransformerShape windowed() {
  TransformerShape shape = grouped();
  shape.window = 24;
  shape.pattern = {LayerKind{Mixer::local, true}, LayerKind{Mixer::attention, true}};
  return shape;
}

TransformerShape normed_heads() {
  TransformerShape shape = grouped();
  shape.query_key_norms = true;
  return shape;
}

TransformerShape states() {
  TransformerShape shape = grouped();
  shape.pattern = {LayerKind{Mixer::ssm, false}, LayerKind{Mixer::attention, true}};
  shape.ssm = workload::SsmShape{16, 16, 32, 4, 4, 32};
  return shape;
}

std::vector<std::pair<std::string, TransformerShape>> family() {
  return {{"dense", dense()},
          {"grouped queries", grouped()},
          {"latent", latent()},
          {"experts", shared_experts()},
          {"window", windowed()},
          {"states", states()},
          {"norms of queries and keys", normed_heads()}};
}

Batch prompt() {
  Batch batch;
  batch.groups = {{1, tokens, tokens}};
  batch.emitting = tokens;  // a trained head works on each
  return batch;
}

// What attention in the latent space costs more than with keys and values of every head.
Wide more_in_latent_space(const TransformerShape& shape) {
  if (!shape.latent) {
    return 0;
  }
  const workload::LatentShape& latent = *shape.latent;
  const std::uint64_t served = 2 * latent.kv_rank + latent.rope_width;
  const std::uint64_t trained = latent.key_width() + latent.value_width;
  return Wide{shape.layers} * shape.heads * (served - trained) * tokens * tokens;
}

TEST(OneTransformer, HasEqualParametersAndFlops) {
  for (const auto& [name, shape] : family()) {
    workload::Workload trained;
    trained.layers = workload::transformer_layers(shape);
    Wide flops = more_in_latent_space(shape);
    for (const workload::Layer& layer : trained.layers) {
      flops += layer.forward_flops().count();
    }
    const auto served = make_language_model({shape});
    EXPECT_EQ(served->weights(), Bytes(2 * trained.parameters())) << name;
    EXPECT_EQ(static_cast<double>(served->flops(prompt())), static_cast<double>(flops)) << name;
  }
}

// Rows of the embedding's table apart, of which a step reads those of its tokens.
TEST(OneTransformer, ReadsEachWeightOnce) {
  for (const auto& [name, shape] : family()) {
    workload::Workload trained;
    trained.layers = workload::transformer_layers(shape);
    const auto served = make_language_model({shape});
    const StepSizes sizes = served->on_tiles()->sizes_of(prompt());
    Bytes read;
    for (const WalkPart& part : served->on_tiles()->walk(0, sizes)) {
      read += served->on_tiles()->operation(part.op, sizes).weights;
    }
    const std::uint64_t table = trained.layers.front().parameters();
    EXPECT_EQ(read, Bytes(2 * (trained.parameters() - table + tokens * shape.hidden))) << name;
  }
}

// The parts of a layer follow from the operators of the trained one.
TEST(OneTransformer, DoesWhatItsTrainedLayersDo) {
  for (const auto& [name, shape] : family()) {
    const auto served = make_language_model({shape});
    const StepSizes sizes = served->on_tiles()->sizes_of(prompt());
    Wide done = 0;
    for (const WalkPart& part : served->on_tiles()->walk(0, sizes)) {
      done += served->on_tiles()->operation(part.op, sizes).operation.flops.count();
    }
    done -= workload::softmax_flops(shape.vocabulary).count() * tokens;
    // With experts the sums with what was skipped are made with the next norm, some once more.
    const std::uint64_t sums = shape.experts ? shape.layers * tokens * shape.hidden * 2 : 0;
    EXPECT_GE(done, served->flops(prompt())) << name;
    EXPECT_LE(done, served->flops(prompt()) + sums) << name;
  }
}

// Operations of a step with this name, in one layer.
std::vector<TileOperation> named(const ServedModel& served, const std::string& name) {
  const StepSizes sizes = served.on_tiles()->sizes_of(prompt());
  std::vector<TileOperation> all;
  for (const WalkPart& part : served.on_tiles()->walk(0, sizes)) {
    if (served.names()[served.name_of(part.op)] == name) {
      all.push_back(served.on_tiles()->operation(part.op, sizes));
    }
  }
  return all;
}

// Reads and writes what it turns: queries and keys, of latent attention the part with the position.
TEST(OneTransformer, TurnsQueriesAndKeys) {
  TransformerShape none = grouped();
  none.positions = workload::Positions::none;
  EXPECT_TRUE(named(*make_language_model({none}), "rotary").empty());
  for (const auto& [shape, turned] :
       {std::pair(grouped(), (8U + 2U) * 32U), std::pair(latent(), (8U + 1U) * 16U)}) {
    const std::vector<TileOperation> rotary = named(*make_language_model({shape}), "rotary");
    ASSERT_EQ(rotary.size(), shape.layers);
    EXPECT_EQ(rotary.front().operation.kernel, workload::Kernel::rotary);
    EXPECT_EQ(rotary.front().operation.flops, Flops(3 * tokens * turned));
    EXPECT_EQ(rotary.front().operation.bytes, Bytes(2 * 2 * tokens * turned));
    EXPECT_EQ(rotary.front().operation.row, Bytes(2 * 2 * turned));
  }
}

// A row of the table is read for each token and written; with learned positions two are read.
TEST(OneTransformer, LooksUpTokens) {
  TransformerShape learned = grouped();
  learned.positions = workload::Positions::learned;
  TransformerShape none = grouped();
  none.positions = workload::Positions::none;
  for (const auto& [shape, moved] : {std::pair(none, 2U), std::pair(learned, 3U)}) {
    const std::vector<TileOperation> found = named(*make_language_model({shape}), "embedding");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().operation.kernel, workload::Kernel::lookup);
    EXPECT_EQ(found.front().operation.row, Bytes(std::uint64_t{2} * moved * shape.hidden));
    EXPECT_EQ(found.front().operation.bytes, Bytes(2 * moved * tokens * shape.hidden));
  }
}

// A norm of each head's vector, before the positions; a unit goes through one head at a time.
TEST(OneTransformer, NormsQueriesAndKeys) {
  EXPECT_TRUE(named(*make_language_model({grouped()}), "query_key_norm").empty());
  const auto served = make_language_model({normed_heads()});
  const std::vector<TileOperation> norms = named(*served, "query_key_norm");
  const std::uint64_t normed = (8 + 2) * 32;
  ASSERT_EQ(norms.size(), normed_heads().layers);
  EXPECT_EQ(norms.front().operation.kernel, workload::Kernel::norm);
  EXPECT_EQ(norms.front().weights, Bytes(2 * 2 * 32));
  EXPECT_EQ(norms.front().operation.bytes, Bytes(2 * (2 * tokens * normed + 2 * 32)));
  EXPECT_EQ(norms.front().operation.row, Bytes(2 * 2 * 32 + 1));
}

// Keys and values are read in the model's type and written in the cache's; attention writes none.
TEST(OneTransformer, WritesNewKeysAndValuesIntoTheCache) {
  LanguageSetup setup{grouped()};
  setup.stored_keys = setup.stored_values = npu::StoredWeights(1, 1);
  const auto served = make_language_model(setup);
  const std::vector<TileOperation> writes = named(*served, "cache_write");
  const std::uint64_t numbers = tokens * 2 * 2 * 32;
  ASSERT_EQ(writes.size(), 4U);
  EXPECT_EQ(writes.front().appended, Bytes(numbers));
  EXPECT_EQ(writes.front().operation.bytes, Bytes(3 * numbers));
  EXPECT_EQ(named(*served, "attention").front().appended, Bytes());
}

}  // namespace
}  // namespace tessera::serving::one_transformer_test
