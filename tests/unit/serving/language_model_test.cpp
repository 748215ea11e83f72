#include "tessera/serving/language_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving::language_model_test {
namespace {

npu::CoreConfig server() {
  npu::CoreConfig core;
  core.scratchpad = Bytes(32U << 20U);
  core.accumulator = Bytes(4U << 20U);
  return core;
}

// GPT-3 Small: T. Brown et al., arXiv:2005.14165, table 2.1.
workload::TransformerShape gpt3_small() {
  workload::TransformerShape shape;
  shape.layers = 12;
  shape.hidden = 768;
  shape.heads = shape.kv_heads = 12;
  shape.head_width = 64;
  shape.ffn = 3072;
  shape.sequence = 2048;
  shape.vocabulary = 50257;
  return shape;
}

class LanguageModel : public ::testing::Test {
 protected:
  std::unique_ptr<ServedModel> model(const workload::TransformerShape& shape,
                                     std::uint32_t tensor = 1, std::uint32_t pipeline = 1) const {
    LanguageSetup setup{shape, &core_};
    setup.tensor = tensor;
    setup.pipeline = pipeline;
    return make_language_model(setup);
  }
  // Of one NPU.
  static std::uint64_t macs(const ServedModel& of, const Step& step, std::uint32_t unit) {
    std::uint64_t sum = 0;
    for (const StepPart& part : step) {
      if (!part.exchanges && part.unit == unit) {
        sum += of.make(of.kind_of(part.op), part.shape, 4)->macs();
      }
    }
    return sum;
  }
  npu::CoreConfig core_ = server();
};

TEST_F(LanguageModel, DoesTheProductsOfItsLayers) {
  const auto gpt = model(gpt3_small());
  Batch prompt;
  prompt.groups = {{1, 512, 512}};
  prompt.emitting = 1;
  const std::uint64_t t = 512;
  const std::uint64_t h = 768;
  const std::uint64_t of_layer = t * h * (3 * h + h + 8 * h) + 2 * t * t * h;
  EXPECT_EQ(macs(*gpt, gpt->step(prompt), 0), 12 * of_layer + h * 50257);
  Batch token;
  token.groups = {{2, 1, 512}, {1, 1, 1024}};
  token.emitting = 3;
  const std::uint64_t attention = 2 * h * (2 * 512 + 1024);
  EXPECT_EQ(macs(*gpt, gpt->step(token), 0), 12 * (3 * h * 12 * h + attention) + 3 * h * 50257);
}

TEST_F(LanguageModel, HasTheCacheOfItsShape) {
  EXPECT_EQ(model(gpt3_small())->cache_of_token(), Bytes(2 * 2 * 768 * 12));
}

// GPT, Llama, grouped queries, experts; with biases, tied tables and rotary positions, and without.
std::vector<workload::TransformerShape> family() {
  std::vector<workload::TransformerShape> all;
  for (const bool gated : {false, true}) {
    for (const std::uint64_t kv_heads : {12, 4}) {
      for (const bool biases : {false, true}) {
        for (const bool tied : {false, true}) {
          for (const std::uint64_t experts : {0, 6}) {
            workload::TransformerShape shape = gpt3_small();
            shape.layers = 4;
            shape.kv_heads = kv_heads;
            shape.biases = biases;
            shape.tie_embeddings = tied;
            shape.token_types = kv_heads == 4 ? 2 : 0;
            if (gated) {
              shape.mlp = workload::Activation::swiglu;
              shape.norm = workload::Norm::rms;
              shape.positions = workload::Positions::rotary;
              shape.ffn = 2048;
            }
            if (experts > 0) {
              shape.experts = workload::ExpertShape{experts, 2, 2, 1'000'000, 0, 1024};
            }
            all.push_back(shape);
          }
        }
      }
    }
  }
  return all;
}

std::uint64_t parameters_of(const workload::TransformerShape& shape) {
  workload::Workload whole;
  whole.layers = workload::transformer_layers(shape);
  return whole.parameters();
}

TEST_F(LanguageModel, HasTheParametersOfTheWorkload) {
  for (const workload::TransformerShape& shape : family()) {
    EXPECT_EQ(model(shape)->weights(), Bytes(2 * parameters_of(shape)));
    EXPECT_EQ(make_language_model({shape})->weights(), Bytes(2 * parameters_of(shape)));
  }
}

// Shards have what others have not, and all what is not cut.
TEST_F(LanguageModel, SharesParametersOutToShards) {
  for (const workload::TransformerShape& shape : family()) {
    std::uint64_t whole = 0;
    for (const workload::Layer& layer : workload::transformer_layers(shape)) {
      for (const workload::Operator& op : layer.operators) {
        const bool cut = op.sharding != workload::Sharding::replicated;
        whole += cut ? op.replicated_parameters : op.parameters;
      }
    }
    // The vocabulary is odd, and shards of its tables as large as the largest.
    const std::uint64_t tables = shape.tie_embeddings ? 1 : 2;
    const std::uint64_t cut = parameters_of(shape) - whole + tables * shape.hidden;
    EXPECT_EQ(model(shape, 2)->weights(), Bytes(2 * (cut / 2 + whole)));
  }
}

// The two of published weights: T. Brown et al., arXiv:2005.14165; A. Grattafiori et al.,
// arXiv:2407.21783.
TEST_F(LanguageModel, HasPublishedNumbersOfParameters) {
  workload::TransformerShape llama;
  llama.layers = 32;
  llama.hidden = 4096;
  llama.heads = 32;
  llama.kv_heads = 8;
  llama.head_width = 128;
  llama.ffn = 14336;
  llama.sequence = 8192;
  llama.vocabulary = 128256;
  llama.mlp = workload::Activation::swiglu;
  llama.norm = workload::Norm::rms;
  llama.positions = workload::Positions::rotary;
  llama.biases = false;
  llama.tie_embeddings = false;
  EXPECT_EQ(make_language_model({llama})->weights(), Bytes(2 * 8'030'261'248));
  workload::TransformerShape gpt2 = gpt3_small();
  gpt2.sequence = 1024;  // as the published weights of GPT-2 small
  EXPECT_EQ(make_language_model({gpt2})->weights(), Bytes(2 * 124'439'808));
}

// Products of layers in 4 bits and a scale of two bytes for 32; the table, norms and biases stay.
TEST_F(LanguageModel, HasWeightsOfFewBits) {
  LanguageSetup setup{gpt3_small(), &core_};
  const auto plain = make_language_model(setup);
  setup.weights = WeightTypes::of_layers(npu::StoredWeights(4 * 32 + 16, 8 * 32));
  const auto packed = make_language_model(setup);
  const std::uint64_t of_products = 12ULL * 12 * 768 * 768;
  EXPECT_EQ(plain->weights() - packed->weights(), Bytes(of_products * 2 - of_products * 45 / 80));
  Batch token;
  token.groups = {{1, 1, 512}};
  token.emitting = 1;
  const auto loaded = [&](const ServedModel& of) {
    Bytes sum;
    for (const StepPart& part : of.step(token)) {
      const auto made = of.make(of.kind_of(part.op), part.shape, 4);
      for (const npu::Operand& operand : made->operands()) {
        sum += operand.name == "weights" ? operand.bytes : Bytes();
      }
    }
    return sum;
  };
  EXPECT_EQ(loaded(*plain) - loaded(*packed), Bytes(of_products * 2 - of_products * 45 / 80));
  EXPECT_LT(packed->memory_end(), plain->memory_end());
}

TEST_F(LanguageModel, IsCutOverNpus) {
  const workload::TransformerShape shape = gpt3_small();
  const auto whole = model(shape);
  const auto cut = model(shape, 2, 3);
  EXPECT_EQ(cut->units(), 6U);
  EXPECT_EQ(cut->stages(), 3U);
  Batch batch;
  batch.groups = {{1, 64, 64}};
  batch.emitting = 0;
  const Step step = cut->step(batch);
  const std::uint64_t all = macs(*whole, whole->step(batch), 0);
  std::uint64_t sum = 0;
  for (std::uint32_t unit = 0; unit < 6; ++unit) {
    EXPECT_EQ(macs(*cut, step, unit), all / 6);
    sum += macs(*cut, step, unit);
  }
  EXPECT_EQ(sum, all);
  // Two all-reduces a layer, and two hand-overs.
  std::uint32_t reduces = 0;
  std::uint32_t hands = 0;
  for (const StepPart& part : step) {
    if (part.exchanges) {
      const Exchange exchange = cut->exchange(part.op, part.shape);
      EXPECT_EQ(exchange.bytes, Bytes(2 * 64 * 768));
      EXPECT_EQ(exchange.units, 2U);
      EXPECT_EQ(exchange.first % 2, 0U);
      (exchange.kind == Exchange::Kind::hand_on ? hands : reduces) += 1;
    }
  }
  EXPECT_EQ(reduces, 24U);
  EXPECT_EQ(hands, 2U);
}

TEST_F(LanguageModel, StepsAreInOrder) {
  const auto cut = model(gpt3_small(), 2, 2);
  Batch batch;
  batch.groups = {{3, 1, 64}, {1, 10, 48}};
  batch.emitting = 4;
  const Step step = cut->step(batch);
  std::uint32_t firsts = 0;
  for (std::uint32_t part = 0; part < step.size(); ++part) {
    firsts += step[part].after.empty() ? 1 : 0;
    for (const std::uint32_t before : step[part].after) {
      ASSERT_LT(before, part);
    }
  }
  EXPECT_EQ(firsts, 2U);  // the embedding, on both shards
}

TEST_F(LanguageModel, LayersAreOfOneKindAndLieApart) {
  const auto gpt = model(gpt3_small());
  Batch batch;
  batch.groups = {{1, 8, 16}};
  batch.emitting = 1;
  std::set<std::uint64_t> kinds;
  std::set<std::uint64_t> places;
  const Step step = gpt->step(batch);
  for (const StepPart& part : step) {
    kinds.insert(gpt->kind_of(part.op));
    places.insert(gpt->operand_begin(part.op, 0));
    EXPECT_LT(gpt->operand_begin(part.op, 0), gpt->memory_end());
  }
  EXPECT_EQ(kinds.size(), 11U);
  EXPECT_EQ(places.size(), step.size());
}

TEST_F(LanguageModel, SharesHeadsOfKeysAndExperts) {
  workload::TransformerShape shape = gpt3_small();
  shape.kv_heads = 2;
  shape.mlp = workload::Activation::swiglu;
  shape.experts = workload::ExpertShape{8, 2, 1, 1'000'000, 0, 1024};
  const auto model_of_experts = model(shape, 4);
  Batch batch;
  batch.groups = {{1, 1, 16}};
  std::uint64_t up = 0;
  for (const StepPart& part : model_of_experts->step(batch)) {
    if (part.unit == 0 && !part.exchanges &&
        model_of_experts->names()[model_of_experts->name_of(part.op)] == "expert_up") {
      up += model_of_experts->make(model_of_experts->kind_of(part.op), part.shape, 1)->macs();
    }
  }
  EXPECT_EQ(up, 12U * 2 * 768 * (2 * 1024 / 4));  // two of eight experts for one token
  EXPECT_EQ(model_of_experts->cache_of_token(), Bytes(2 * 2 * 64 * 12));
}

TEST_F(LanguageModel, RefusesWhatCannotBeCut) {
  workload::TransformerShape shape = gpt3_small();
  EXPECT_THROW(model(shape, 5), ConfigError);
  EXPECT_THROW(model(shape, 1, 13), ConfigError);
  shape.architecture = workload::Architecture::encoder;
  EXPECT_THROW(model(shape), ConfigError);
  shape = gpt3_small();
  core_.scratchpad = Bytes(4096);
  core_.accumulator = Bytes(1024);
  EXPECT_THROW(model(shape), ConfigError);
}

// --- on tiles ------------------------------------------------------------------------------------

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

// --- latent attention
// ------------------------------------------------------------------------------

// DeepSeek-V3: DeepSeek-AI, arXiv:2412.19437, section 4.2.
workload::TransformerShape deepseek_v3() {
  workload::TransformerShape shape;
  shape.layers = 61;
  shape.hidden = 7168;
  shape.heads = shape.kv_heads = 128;
  shape.head_width = 192;
  shape.latent = workload::LatentShape{1536, 512, 128, 64, 128};
  shape.ffn = 18432;
  shape.experts = workload::ExpertShape{256, 8, 1, 1'000'000, 1, 2048, 3};
  shape.sequence = 4096;
  shape.vocabulary = 129280;
  shape.mlp = workload::Activation::swiglu;
  shape.norm = workload::Norm::rms;
  shape.positions = workload::Positions::rotary;
  shape.biases = shape.tie_embeddings = false;
  return shape;
}

// DeepSeek-AI, "Insights into DeepSeek-V3", arXiv:2505.09343, table 1: 70.272 KB a token, which
// every shard keeps.
TEST(LatentAttention, CachesThePublishedBytesOfAToken) {
  EXPECT_EQ(make_language_model({deepseek_v3()})->cache_of_token(), Bytes(70'272));
  EXPECT_EQ(make_language_model({deepseek_v3(), nullptr, 8})->cache_of_token(), Bytes(70'272));
  EXPECT_EQ(make_language_model({deepseek_v3()})->weights(), Bytes(2 * 671'026'404'352));
}

// One of them without experts, so that each weight is used.
workload::TransformerShape dense_latent(std::uint64_t q_rank) {
  workload::TransformerShape shape = deepseek_v3();
  shape.layers = 3;
  shape.experts.reset();
  shape.latent->q_rank = q_rank;
  return shape;
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

TEST_F(LanguageModel, ServesSharedExpertsOnCores) {
  workload::TransformerShape shape = gpt3_small();
  shape.mlp = workload::Activation::swiglu;
  shape.experts = workload::ExpertShape{8, 2, 1, 1'000'000, 1, 1024};
  const auto shared = model(shape);
  shape.experts->shared = 0;
  const auto none = model(shape);
  Batch batch;
  batch.groups = {{1, 8, 16}};
  const std::uint64_t of_token = 3ULL * 768 * 1024;
  EXPECT_EQ(macs(*shared, shared->step(batch), 0) - macs(*none, none->step(batch), 0),
            12 * 8 * of_token);
}

TEST_F(LanguageModel, RefusesLayersThatItCannotServe) {
  EXPECT_THROW(model(dense_latent(0)), ConfigError);  // on cores
  workload::TransformerShape shape = gpt3_small();
  shape.pattern = {workload::LayerKind{workload::Mixer::local, false}};
  shape.window = 128;
  LanguageSetup adapted{shape};
  adapted.adapter_rank = adapted.adapter_slots = 1;
  EXPECT_THROW(make_language_model(adapted), ConfigError);  // of layers without an MLP
}

// --- more of tiles
// -----------------------------------------------------------------------------------

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
  types.attention = byte;
  EXPECT_EQ(saved(types), Bytes(12 * 4 * square));
  types = {};
  types.mlp = byte;
  EXPECT_EQ(saved(types), Bytes(12 * 8 * square));
  types = {};
  types.head = byte;
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
    EXPECT_EQ(count(Kind::all_reduce), 8);
    EXPECT_EQ(count(Kind::await), unit < 2 ? 0 : 1);
    EXPECT_EQ(count(Kind::hand_on), unit < 4 ? 1 : 0);
    EXPECT_EQ(walk.front().kind == Kind::await, unit >= 2);
    EXPECT_EQ(walk.back().kind == Kind::hand_on, unit < 4);
    EXPECT_EQ(count(Kind::operation), 4 * 8 + (unit < 2 ? 1 : 0) + (unit < 4 ? 0 : 3));
  }
}

}  // namespace
}  // namespace tessera::serving::language_model_test
