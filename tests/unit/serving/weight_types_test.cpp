// Weights of a type of their own: bytes in memory and of steps, on tiles and on cores, by hand.
#include "tessera/serving/weight_types.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shapes.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving::weight_types_test {
namespace {

using npu::StoredWeights;
using shapes::deepseek_v3;
using shapes::dense_latent;
using shapes::family;
using shapes::gpt3_small;

workload::TransformerShape small() {
  workload::TransformerShape shape;
  shape.layers = 2;
  shape.hidden = 8;
  shape.heads = shape.kv_heads = 2;
  shape.head_width = 4;
  shape.ffn = 16;
  shape.sequence = 16;
  shape.vocabulary = 10;
  shape.tie_embeddings = shape.biases = false;
  return shape;
}

Batch of_tokens(std::uint32_t count) {
  Batch batch;
  batch.groups = {{count, 1, 16}};
  batch.emitting = count;
  return batch;
}

struct Moved {
  std::uint64_t weights = 0;
  std::uint64_t bytes = 0;
};

// By all operations of a step on tiles.
Moved moved_by(const ServedModel& model, const Batch& batch) {
  const TileModel& tiles = *model.on_tiles();
  const StepSizes sizes = tiles.sizes_of(batch);
  Moved moved;
  for (std::uint32_t unit = 0; unit < model.units(); ++unit) {
    for (const WalkPart& part : tiles.walk(unit, sizes)) {
      if (part.kind == WalkPart::Kind::operation) {
        const TileOperation made = tiles.operation(part.op, sizes);
        moved.weights += made.weights.count();
        moved.bytes += made.operation.bytes.count();
      }
    }
  }
  return moved;
}

std::unique_ptr<ServedModel> model(const workload::TransformerShape& shape,
                                   const WeightTypes& types, std::uint32_t pipeline = 1) {
  LanguageSetup setup{shape};
  setup.weights = types;
  setup.pipeline = pipeline;
  return make_language_model(setup);
}

// Queries, keys and values in 4 bits, outputs in their class's byte; one of the MLP's products in
// four bytes, the other as the model computes; the table in 4 bits.
TEST(WeightTypes, HaveTheBytesOfEachOperator) {
  WeightTypes types;
  types.of(WeightClass::attention) = StoredWeights(1, 1);
  types.set("qkv", StoredWeights(1, 2));
  types.set("mlp_down", StoredWeights(4, 1));
  types.set("word_embedding", StoredWeights(1, 2));
  const std::uint64_t norm = 2 * 8 * 2;
  const std::uint64_t of_layer =
      2 * norm + 8 * 24 / 2 + 8 * 8 * 1 + std::uint64_t{8} * 16 * 2 + std::uint64_t{16} * 8 * 4;
  const std::uint64_t behind = norm + 8 * 10 * 2;
  const auto packed = model(small(), types);
  EXPECT_EQ(packed->weights(), Bytes(10 * 8 / 2 + 16 * 8 * 2 + 2 * of_layer + behind));
  const Moved moved = moved_by(*packed, of_tokens(3));
  EXPECT_EQ(moved.weights, 3 * (8 / 2 + 8 * 2) + 2 * of_layer + behind);
  const Moved plain = moved_by(*model(small(), {}), of_tokens(3));
  EXPECT_EQ(moved.bytes - plain.bytes, moved.weights - plain.weights);
}

TEST(WeightTypes, LookUpRowsOfWholeBytes) {
  workload::TransformerShape shape = small();
  shape.hidden = 6;
  shape.heads = shape.kv_heads = 1;
  shape.head_width = 6;
  WeightTypes types;
  types.set("position_embedding", StoredWeights(3, 8));
  const auto plain = model(shape, {});
  const auto packed = model(shape, types);
  EXPECT_EQ(plain->weights() - packed->weights(), Bytes(16 * 6 * 2 - 16 * 6 * 3 / 8));
  EXPECT_EQ(moved_by(*plain, of_tokens(5)).weights - moved_by(*packed, of_tokens(5)).weights,
            5U * (6 * 2 - 3));
}

// The head is the table: both in memory and where it is multiplied with. A stage that ends with it
// has a copy.
TEST(WeightTypes, TheHeadLiesAsTheTableThatItIs) {
  workload::TransformerShape shape = small();
  shape.tie_embeddings = true;
  WeightTypes types;
  types.set("word_embedding", StoredWeights(1, 1));
  const auto plain = model(shape, {});
  const auto packed = model(shape, types);
  EXPECT_EQ(plain->weights() - packed->weights(), Bytes(10 * 8));
  EXPECT_EQ(moved_by(*plain, of_tokens(2)).weights - moved_by(*packed, of_tokens(2)).weights,
            10U * 8 + 2 * 8);
  EXPECT_LT(model(shape, types, 2)->weights(), model(shape, {}, 2)->weights());
}

// Latent attention makes both of its vectors by one product.
TEST(WeightTypes, AddUpWhereProductsAreJoined) {
  const workload::TransformerShape shape = dense_latent(1536);
  WeightTypes types;
  types.set("q_down", StoredWeights(1, 1));
  types.set("kv_down", StoredWeights(1, 2));
  const auto plain = model(shape, {});
  const auto packed = model(shape, types);
  const std::uint64_t saved = 3 * (std::uint64_t{7168} * 1536 + std::uint64_t{7168} * 576 * 3 / 2);
  EXPECT_EQ(plain->weights() - packed->weights(), Bytes(saved));
  const Moved without = moved_by(*plain, of_tokens(1));
  const Moved with = moved_by(*packed, of_tokens(1));
  EXPECT_EQ(without.weights - with.weights, saved);
  EXPECT_EQ(without.bytes - with.bytes, saved);
}

// What every unit keeps whole is of the class of attention too, as in DeepSeek-V3's file.
TEST(WeightTypes, OfClassesTakeWholeProducts) {
  const workload::TransformerShape shape = dense_latent(1536);
  WeightTypes types;
  types.of(WeightClass::attention) = StoredWeights(1, 1);
  const std::uint64_t saved =
      3 * (std::uint64_t{7168} * (1536 + 576) + std::uint64_t{1536} * 128 * 192 +
           std::uint64_t{512} * 128 * 256 + std::uint64_t{128} * 128 * 7168);
  EXPECT_EQ(model(shape, {})->weights() - model(shape, types)->weights(), Bytes(saved));
}

// Programs of cores load as much.
TEST(WeightTypes, AreLoadedByCores) {
  npu::CoreConfig core;
  core.scratchpad = Bytes(32U << 20U);
  core.accumulator = Bytes(4U << 20U);
  LanguageSetup setup{gpt3_small(), &core};
  const auto plain = make_language_model(setup);
  setup.weights.of(WeightClass::mlp) = StoredWeights(1, 1);
  setup.weights.set("qkv", StoredWeights(1, 2));
  setup.weights.set("mlp_up", StoredWeights(4, 1));
  setup.weights.set("word_embedding", StoredWeights(1, 1));
  const auto packed = make_language_model(setup);
  const auto moved = [](const ServedModel& of) {
    std::int64_t sum = 0;
    for (const StepPart& part : of.step(of_tokens(1))) {
      sum += static_cast<std::int64_t>(
          of.make(of.kind_of(part.op), part.shape, 4)->least_traffic().count());
    }
    return sum;
  };
  const std::int64_t h = 768;
  const std::int64_t of_layers = 12 * (3 * h * h * 3 / 2 - 2 * 4 * h * h + 4 * h * h);
  EXPECT_EQ(moved(*plain) - moved(*packed), of_layers + 50257 * h + h);
  EXPECT_EQ(static_cast<std::int64_t>(plain->weights().count()) -
                static_cast<std::int64_t>(packed->weights().count()),
            of_layers + 50257 * h);
}

// What attention loads, a token's keys and values that it puts there among it, and the room.
TEST(CacheTypes, AreOfCoresToo) {
  npu::CoreConfig core;
  core.scratchpad = Bytes(32U << 20U);
  core.accumulator = Bytes(4U << 20U);
  LanguageSetup setup{gpt3_small(), &core};
  const auto plain = make_language_model(setup);
  setup.stored_keys = StoredWeights(1, 1);
  setup.stored_values = StoredWeights(1, 2);
  const auto packed = make_language_model(setup);
  EXPECT_EQ(packed->cache_of_token(), Bytes(12 * (768 + 384)));
  const auto moved = [](const ServedModel& of) {
    std::uint64_t sum = 0;
    for (const StepPart& part : of.step(of_tokens(3))) {
      sum += of.make(of.kind_of(part.op), part.shape, 4)->least_traffic().count();
    }
    return sum;
  };
  EXPECT_EQ(moved(*plain) - moved(*packed), 12U * 3 * 16 * (768 + 768 * 3 / 2));
}

std::vector<std::string> names_of(const workload::TransformerShape& shape) {
  std::vector<std::string> names;
  for (const WeightOperator& one : weight_operators_of(shape)) {
    names.push_back(one.name);
  }
  return names;
}

TEST(WeightTypes, AreOfOperatorsThatTheModelHas) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(gpt3_small()), (Names{"word_embedding", "position_embedding", "qkv",
                                           "attention_output", "mlp_up", "mlp_down"}));
  EXPECT_EQ(names_of(deepseek_v3()),
            (Names{"word_embedding", "q_down", "kv_down", "q_up", "kv_up", "attention_output",
                   "router", "mlp_up", "mlp_down", "expert_up", "expert_down", "shared_up",
                   "shared_down", "lm_head"}));
}

// One byte less for each weight that a type can be given to: what is left are norms and biases.
TEST(WeightTypes, ReachAllMatrices) {
  for (const workload::TransformerShape& shape : family()) {
    WeightTypes types;
    std::uint64_t matrices = 0;
    for (const WeightOperator& one : weight_operators_of(shape)) {
      types.set(one.name, StoredWeights(1, 1));
    }
    for (const workload::Layer& layer : workload::transformer_layers(shape)) {
      for (const workload::Operator& op : layer.operators) {
        const bool is_matrix = op.is_matrix_product() && op.parameters > 0;
        const bool is_table = op.name == "word_embedding" || op.name == "position_embedding";
        matrices += is_matrix  ? op.product.columns * op.product.depth * op.product.count
                    : is_table ? op.parameters
                               : 0;
      }
    }
    EXPECT_EQ(model(shape, {})->weights() - model(shape, types)->weights(), Bytes(matrices));
  }
}

}  // namespace
}  // namespace tessera::serving::weight_types_test
