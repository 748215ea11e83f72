// Steps of served language models on tiles: operations, weights, caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "shapes.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving::tile_model_test {
namespace {

using shapes::deepseek_v3;
using shapes::dense_latent;
using shapes::family;
using shapes::gpt3_small;
using shapes::parameters_of;

// What all units do in a step, operators alone.
template <class Value>
Value sum_of(const ServedModel& model, const Batch& batch, Value TileOperation::*of) {
  const TileModel& tiles = *model.on_tiles();
  const StepSizes sizes = tiles.sizes_of(batch);
  Value sum{};
  for (std::uint32_t unit = 0; unit < model.units(); ++unit) {
    for (const WalkPart& part : tiles.walk(unit, sizes)) {
      if (part.kind == WalkPart::Kind::operation) {
        sum += tiles.operation(part.op, sizes).*of;
      }
    }
  }
  return sum;
}

Wide flops_of_operations(const ServedModel& model, const Batch& batch) {
  const TileModel& tiles = *model.on_tiles();
  const StepSizes sizes = tiles.sizes_of(batch);
  Wide sum = 0;
  for (std::uint32_t unit = 0; unit < model.units(); ++unit) {
    for (const WalkPart& part : tiles.walk(unit, sizes)) {
      if (part.kind == WalkPart::Kind::operation) {
        sum += tiles.operation(part.op, sizes).operation.flops.count();
      }
    }
  }
  return sum;
}

Batch mixed_batch() {
  Batch batch;
  batch.groups = {{3, 1, 64}, {2, 1, 96}, {1, 40, 48}};
  batch.emitting = 5;
  return batch;
}

// An inference of the workload `transformer` over the same tokens, whose head works on each.
TEST(TileModel, HasTheFlopsOfTheWorkload) {
  for (workload::TransformerShape shape : family()) {
    shape.sequence = 96;
    shape.attention = workload::AttentionKind::flash;
    shape.loss = shape.dropout = false;
    for (const bool causal : {false, true}) {
      shape.causal = causal;
      Batch batch;
      batch.groups = {{1, 96, 96}};
      batch.emitting = 96;
      Wide expected = 0;
      for (const workload::Layer& layer : workload::transformer_layers(shape)) {
        expected += layer.forward_flops().count();
      }
      EXPECT_EQ(static_cast<double>(make_language_model({shape})->flops(batch)),
                static_cast<double>(expected));
    }
  }
}

// Operators of one unit come to that, but for choosing tokens; with cut ones more, as norms and
// sums are done by every shard.
TEST(TileModel, DoesTheFlopsOfItsOperators) {
  for (const workload::TransformerShape& shape : family()) {
    const Batch batch = mixed_batch();
    const auto whole = make_language_model({shape});
    const Wide choosing = workload::softmax_flops(shape.vocabulary).count() * batch.emitting;
    const Wide sum = flops_of_operations(*whole, batch) - choosing;
    if (shape.experts) {  // residuals are added with the next norm, some once more
      EXPECT_GE(sum, whole->flops(batch));
      EXPECT_LE(sum, whole->flops(batch) + Wide{batch.tokens()} * shape.hidden * 2 * shape.layers);
    } else {
      EXPECT_EQ(static_cast<double>(sum), static_cast<double>(whole->flops(batch)));
    }
    const auto cut = make_language_model({shape, nullptr, 2, 2});
    EXPECT_EQ(static_cast<double>(cut->flops(batch)), static_cast<double>(whole->flops(batch)));
    EXPECT_GT(flops_of_operations(*cut, batch), flops_of_operations(*whole, batch));
  }
}

// Products with weights of a layer are multiplied in their own type, behind a cast that reads their
// inputs and writes them narrow with their scales; nothing else is: not the head, nor attention.
TEST(TileModel, MultipliesInTheTypeOfProducts) {
  workload::TransformerShape shape = gpt3_small();
  const auto wide = make_language_model({shape});
  shape.products = NumberFormat{DataType::fp8, 128, Bytes(4)};
  const auto narrow = make_language_model({shape});
  const StepSizes sizes = wide->on_tiles()->sizes_of(mixed_batch());
  std::uint64_t cast = 0;
  for (const WalkPart& part : narrow->on_tiles()->walk(0, sizes)) {
    if (part.kind != WalkPart::Kind::operation) {
      continue;
    }
    const workload::Operation before = wide->on_tiles()->operation(part.op, sizes).operation;
    workload::Operation now = narrow->on_tiles()->operation(part.op, sizes).operation;
    const bool is_of_layer = before.is_matrix_product() &&
                             before.kernel != workload::Kernel::fused_attention &&
                             before.product.columns != shape.vocabulary;
    EXPECT_EQ(now.data_type, is_of_layer ? DataType::fp8 : DataType::fp16) << part.op;
    if (is_of_layer) {
      const std::uint64_t inputs = before.product.rows * before.product.depth;
      EXPECT_EQ(now.added, Bytes(2 * inputs + inputs + 4 * (inputs / 128)));
      cast += inputs;
      now.data_type = before.data_type;
      now.added = before.added;
    }
    EXPECT_EQ(now, before);
  }
  // Queries, keys and values; outputs; up; down.
  EXPECT_EQ(cast, shape.layers * sizes.tokens * (3 * shape.hidden + shape.ffn));
}

// Each weight once, but for rows of the embedding: those of the tokens.
TEST(TileModel, LoadsEachWeightOnce) {
  for (workload::TransformerShape shape : family()) {
    shape.experts.reset();
    shape.token_types = 0;
    const Batch batch = mixed_batch();
    const auto whole = make_language_model({shape});
    const std::uint64_t learned = shape.positions == workload::Positions::learned ? 1 : 0;
    const std::uint64_t table = shape.vocabulary * shape.hidden;
    const Bytes kept(2 * (parameters_of(shape) - learned * shape.sequence * shape.hidden -
                          (shape.tie_embeddings ? 0 : table)));
    const Bytes rows(2 * batch.tokens() * shape.hidden * (1 + learned));
    EXPECT_EQ(sum_of(*whole, batch, &TileOperation::weights), kept + rows);
    const Bytes of_token = whole->cache_of_token();
    EXPECT_EQ(sum_of(*whole, batch, &TileOperation::cached), of_token * (3 * 64 + 2 * 96 + 48));
    EXPECT_EQ(sum_of(*whole, batch, &TileOperation::appended), of_token * batch.tokens());
  }
}

TEST(TileModel, SaysAStepInWords) {
  const auto model = make_language_model({gpt3_small()});
  const StepSizes sizes = model->on_tiles()->sizes_of(mixed_batch());
  EXPECT_EQ(sizes.tokens, 45U);
  EXPECT_EQ(sizes.generating, 5U);
  EXPECT_EQ(sizes.generating_keys, 3U * 64 + 2 * 96);
  EXPECT_EQ(sizes.twice_pairs, 2U * 40 * 48);
  EXPECT_EQ(sizes.blocks, 1U);
  EXPECT_EQ(sizes.block_keys, 48U);
  EXPECT_EQ(StepSizes::from(sizes.words()), sizes);
  StepSizes most;
  most.tokens = most_tokens;
  most.emitting = most.generating = most.prompts = most_sequences;
  most.generating_keys = most.prompt_keys = std::uint64_t{most_sequences} * most_keys;
  most.twice_pairs = 2 * std::uint64_t{most_tokens} * most_keys;
  most.blocks = most.longest_blocks = most_tokens / 64 + most_sequences;
  most.longest_keys = most_keys;
  most.most_blocks = most_queries / 64;
  most.block_keys = most.blocks * most_keys;
  EXPECT_EQ(StepSizes::from(most.words()), most);
  EXPECT_LT(most.words()[0], std::uint64_t{1} << OperatorName::shape_bits);
}

// Prompts in blocks of 64 queries, whose last one looks at all keys; sequences of both kinds are
// operations of their own where kernels do not take them together.
TEST(TileModel, CutsPromptsIntoBlocks) {
  workload::TransformerShape shape = gpt3_small();
  shape.attention = workload::AttentionKind::flash;
  shape.causal = true;
  const auto model = make_language_model({shape});
  Batch batch;
  batch.groups = {{2, 130, 1000}, {1, 64, 2000}, {1, 16, 500}, {5, 1, 300}};
  const StepSizes sizes = model->on_tiles()->sizes_of(batch);
  EXPECT_EQ(sizes.blocks, 2U * 3 + 1 + 1);
  EXPECT_EQ(sizes.block_keys, 6U * (1000 - 33) + 2000 + 500);
  EXPECT_EQ(sizes.longest_keys, 2000U);
  EXPECT_EQ(sizes.longest_blocks, 1U);
  EXPECT_EQ(sizes.most_blocks, 3U);
  for (const WalkPart& part : model->on_tiles()->walk(0, sizes)) {
    const TileOperation made = model->on_tiles()->operation(part.op, sizes);
    if (made.cached == Bytes()) {
      EXPECT_TRUE(made.apart.empty());
      continue;
    }
    ASSERT_EQ(made.apart.size(), 2U);
    EXPECT_EQ(made.apart[0].flops + made.apart[1].flops, made.operation.flops);
    EXPECT_EQ(made.apart[0].bytes + made.apart[1].bytes, made.operation.bytes);
    EXPECT_EQ(made.apart[0].attention->generating, 0U);
    EXPECT_EQ(made.apart[1].attention->prompts, 0U);
  }
}

// Keys and values of one byte each, and all else as before.
TEST(TileModel, KeepsTheCacheInATypeOfItsOwn) {
  const workload::TransformerShape shape = gpt3_small();
  LanguageSetup narrow{shape};
  narrow.stored_keys = narrow.stored_values = npu::StoredWeights(1, 1);
  const auto plain = make_language_model({shape});
  const auto packed = make_language_model(narrow);
  EXPECT_EQ(packed->cache_of_token() * 2, plain->cache_of_token());
  EXPECT_EQ(packed->weights(), plain->weights());
  const Batch batch = mixed_batch();
  EXPECT_EQ(sum_of(*packed, batch, &TileOperation::cached) * 2,
            sum_of(*plain, batch, &TileOperation::cached));
  EXPECT_EQ(sum_of(*packed, batch, &TileOperation::weights),
            sum_of(*plain, batch, &TileOperation::weights));
  EXPECT_EQ(static_cast<double>(packed->flops(batch)), static_cast<double>(plain->flops(batch)));
}

// Each class of products in its own bytes: in memory, and as steps load them.
TEST(TileModel, HasWeightsOfSeveralTypes) {
  workload::TransformerShape shape = gpt3_small();
  shape.tie_embeddings = false;
  const auto plain = make_language_model({shape});
  const std::uint64_t square = 768ULL * 768;
  const auto saved = [&](const WeightTypes& types) {
    LanguageSetup setup{shape};
    setup.weights = types;
    const auto packed = make_language_model(setup);
    Batch token;
    token.groups = {{1, 1, 512}};
    token.emitting = 1;
    const Bytes kept = plain->weights() - packed->weights();
    EXPECT_EQ(kept, sum_of(*plain, token, &TileOperation::weights) -
                        sum_of(*packed, token, &TileOperation::weights));
    return kept;
  };
  const npu::StoredWeights byte(1, 1);
  WeightTypes types;
  types.of(WeightClass::attention) = byte;
  EXPECT_EQ(saved(types), Bytes(12 * 4 * square));
  types = {};
  types.of(WeightClass::mlp) = byte;
  EXPECT_EQ(saved(types), Bytes(12 * 8 * square));
  types = {};
  types.of(WeightClass::head) = byte;
  EXPECT_EQ(saved(types), Bytes(shape.vocabulary * 768));
}

TEST(TileModel, KeepsKeysAndValuesInTypesOfTheirOwn) {
  LanguageSetup keys{gpt3_small()};
  keys.stored_keys = npu::StoredWeights(1, 1);
  LanguageSetup values{gpt3_small()};
  values.stored_values = npu::StoredWeights(4, 1);
  const Bytes plain = make_language_model({gpt3_small()})->cache_of_token();
  EXPECT_EQ(make_language_model(keys)->cache_of_token() * 4, plain * 3);
  EXPECT_EQ(make_language_model(values)->cache_of_token() * 2, plain * 3);
  // 768 numbers of half a byte in 12 groups of 64, each with a scale of two bytes, in 12 layers.
  LanguageSetup packed{gpt3_small()};
  packed.stored_keys = packed.stored_values = npu::stored_in(4, 64, Bytes(2));
  EXPECT_EQ(make_language_model(packed)->cache_of_token(), Bytes(12 * 2 * (384 + 24)));
}

// Every unit adds up with the others of its stage, and stages hand on.
TEST(TileModel, WalksStageByStage) {
  const auto cut = make_language_model({gpt3_small(), nullptr, 2, 3});
  using Kind = WalkPart::Kind;
  StepSizes sizes;
  sizes.tokens = sizes.emitting = 1;
  for (std::uint32_t unit = 0; unit < 6; ++unit) {
    const Walk& walk = cut->on_tiles()->walk(unit, sizes);
    const auto count = [&](Kind kind) {
      return std::count_if(walk.begin(), walk.end(),
                           [kind](const WalkPart& part) { return part.kind == kind; });
    };
    EXPECT_EQ(count(Kind::collective), 8);
    EXPECT_EQ(count(Kind::await), unit < 2 ? 0 : 1);
    EXPECT_EQ(count(Kind::hand_on), unit < 4 ? 1 : 0);
    EXPECT_EQ(walk.front().kind == Kind::await, unit >= 2);
    EXPECT_EQ(walk.back().kind == Kind::hand_on, unit < 4);
    EXPECT_EQ(count(Kind::operation), 4 * 8 + (unit < 2 ? 1 : 0) + (unit < 4 ? 0 : 3));
  }
}

// DeepSeek-AI, "Insights into DeepSeek-V3", arXiv:2505.09343, table 1: 70.272 KB a token, which
// every shard keeps.
TEST(LatentAttention, CachesThePublishedBytesOfAToken) {
  EXPECT_EQ(make_language_model({deepseek_v3()})->cache_of_token(), Bytes(70'272));
  EXPECT_EQ(make_language_model({deepseek_v3(), nullptr, 8})->cache_of_token(), Bytes(70'272));
  EXPECT_EQ(make_language_model({deepseek_v3()})->weights(), Bytes(2 * 671'026'404'352));
}

TEST(LatentAttention, LoadsEachWeightOnce) {
  for (const std::uint64_t q_rank : {0, 1536}) {
    const workload::TransformerShape shape = dense_latent(q_rank);
    const Batch batch = mixed_batch();
    const auto whole = make_language_model({shape});
    const std::uint64_t table = shape.vocabulary * shape.hidden;
    EXPECT_EQ(sum_of(*whole, batch, &TileOperation::weights),
              Bytes(2 * (parameters_of(shape) - table) + 2 * batch.tokens() * shape.hidden));
    const Bytes of_token(2 * 576 * 3);
    EXPECT_EQ(sum_of(*whole, batch, &TileOperation::cached), of_token * (3 * 64 + 2 * 96 + 48));
    EXPECT_EQ(sum_of(*whole, batch, &TileOperation::appended), of_token * batch.tokens());
  }
}

// Scores over the latent vector and the part with the position, then sums of latent vectors: 576 +
// 512 multiplications for each query, key and head.
TEST(LatentAttention, MultipliesLatentVectors) {
  const workload::TransformerShape shape = dense_latent(1536);
  const auto whole = make_language_model({shape});
  const Batch batch = mixed_batch();
  const Wide choosing = workload::softmax_flops(shape.vocabulary).count() * batch.emitting;
  EXPECT_EQ(static_cast<double>(flops_of_operations(*whole, batch) - choosing),
            static_cast<double>(whole->flops(batch)));
  Batch longer;
  longer.groups = {{1, 1, 1064}};
  Batch shorter;
  shorter.groups = {{1, 1, 64}};
  EXPECT_EQ(static_cast<double>(whole->flops(longer) - whole->flops(shorter)),
            static_cast<double>(1000ULL * 2 * (576 + 512) * 128 * 3));
}

// Experts that work on every token, behind dense layers.
TEST(SharedExperts, AreServed) {
  workload::TransformerShape shape = gpt3_small();
  shape.mlp = workload::Activation::swiglu;
  shape.norm = workload::Norm::rms;
  shape.biases = false;
  shape.experts = workload::ExpertShape{6, 2, 1, 1'000'000, 2, 512, 1};
  const auto whole = make_language_model({shape});
  EXPECT_EQ(whole->weights(), Bytes(2 * parameters_of(shape)));
  Batch batch;
  batch.groups = {{1, 96, 96}};
  const Wide sum = flops_of_operations(*whole, batch);
  EXPECT_GE(sum, whole->flops(batch));
  EXPECT_LE(sum, whole->flops(batch) + Wide{batch.tokens()} * shape.hidden * 2 * shape.layers);
  const auto cut = make_language_model({shape, nullptr, 2, 2});
  EXPECT_EQ(static_cast<double>(cut->flops(batch)), static_cast<double>(whole->flops(batch)));
}

}  // namespace
}  // namespace tessera::serving::tile_model_test
