#include "tessera/serving/language_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "shapes.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving::language_model_test {
namespace {

using shapes::dense_latent;
using shapes::family;
using shapes::gpt3_small;
using shapes::parameters_of;

npu::CoreConfig server() {
  npu::CoreConfig core;
  core.scratchpad = Bytes(32U << 20U);
  core.accumulator = Bytes(4U << 20U);
  return core;
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
      (exchange.collective ? reduces : hands) += 1;
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

}  // namespace
}  // namespace tessera::serving::language_model_test
