// Experts that are spread over units, each of which has sequences of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving::spread_experts_test {
namespace {

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

std::unique_ptr<ServedModel> spread(std::uint32_t expert,
                                    const workload::TransformerShape& shape = deepseek_v3(),
                                    std::uint32_t tensor = 1, std::uint32_t pipeline = 1) {
  LanguageSetup setup{shape};
  setup.expert = expert;
  setup.tensor = tensor;
  setup.pipeline = pipeline;
  return make_language_model(setup);
}

struct Work {
  Wide flops = 0;
  std::uint64_t all_to_alls = 0;
  std::uint64_t sent = 0;  // bytes, of all-to-alls
};

// Of all units in a step.
Work work_of(const ServedModel& model, const Batch& batch) {
  const TileModel& tiles = *model.on_tiles();
  const StepSizes sizes = tiles.sizes_of(batch);
  Work work;
  for (std::uint32_t unit = 0; unit < model.units(); ++unit) {
    for (const WalkPart& part : tiles.walk(unit, sizes)) {
      if (part.kind == WalkPart::Kind::operation) {
        work.flops += tiles.operation(part.op, sizes).operation.flops.count();
      } else if (part.kind == WalkPart::Kind::collective) {
        const Exchange exchange = model.exchange(part.op, sizes.tokens);
        EXPECT_EQ(exchange.collective, collective::Kind::all_to_all);
        EXPECT_EQ(exchange.units, model.units());
        ++work.all_to_alls;
        work.sent += exchange.bytes.count();
      }
    }
  }
  return work;
}

// Of 671 billion parameters all but the experts are in each of 32 units.
TEST(SpreadExperts, AreTheOnlyWeightsThatAreCut) {
  constexpr std::uint64_t all = 671'026'404'352;
  constexpr std::uint64_t of_experts = 58ULL * 256 * 3 * 7168 * 2048;
  EXPECT_EQ(spread(1)->weights(), Bytes(2 * all));
  EXPECT_EQ(spread(32)->weights(), Bytes(2 * (all - of_experts + of_experts / 32)));
  EXPECT_EQ(spread(32)->units(), 32U);
  EXPECT_EQ(spread(32)->stages(), 1U);
}

// A token's cache is on one of the units.
TEST(SpreadExperts, HaveACacheOfAllUnits) {
  EXPECT_EQ(spread(32)->cache_of_token(), Bytes(70'272 / 32));
  EXPECT_EQ(spread(256)->cache_of_token(), Bytes(275));  // 274.5, rounded up
}

// What all units do together is what one would do, where sequences and experts come out even.
TEST(SpreadExperts, DoTheWorkOfOneUnit) {
  Batch batch;
  batch.groups = {{40, 1, 4096}, {24, 1, 1024}};
  batch.emitting = 64;
  const auto whole = static_cast<double>(work_of(*spread(1), batch).flops);
  EXPECT_EQ(static_cast<double>(spread(8)->flops(batch)),
            static_cast<double>(spread(1)->flops(batch)));
  for (const std::uint32_t units : {2U, 8U, 32U}) {
    EXPECT_EQ(static_cast<double>(work_of(*spread(units), batch).flops), whole) << units;
  }
}

// Every token goes once to each unit that has one of its eight experts, and back.
TEST(SpreadExperts, GetEachTokenOnce) {
  Batch batch;
  batch.groups = {{64, 1, 4096}};
  batch.emitting = 64;
  const auto copies_of = [&](std::uint32_t units) {
    const Work work = work_of(*spread(units), batch);
    EXPECT_EQ(work.all_to_alls, 2ULL * 58 * units);
    return work.sent;
  };
  constexpr std::uint64_t once = 2ULL * 58 * 64 * 7168 * 2;
  EXPECT_EQ(copies_of(4), 4 * once);
  EXPECT_EQ(copies_of(32), 8 * once);
  EXPECT_EQ(work_of(*spread(1), batch).all_to_alls, 0U);
}

TEST(SpreadExperts, RoundUpWhatDoesNotComeOutEven) {
  Batch batch;
  batch.groups = {{5, 1, 100}, {1, 40, 48}};
  const StepSizes own = spread(4)->on_tiles()->sizes_of(batch);
  EXPECT_EQ(own.tokens, 2U + 40U);
  EXPECT_EQ(own.generating, 2U);
  EXPECT_EQ(own.generating_keys, 200U);  // of five sequences two
  EXPECT_EQ(own.prompts, 1U);
  EXPECT_EQ(own.prompt_keys, 48U);
  EXPECT_EQ(own.spread_tokens, 45U);
  EXPECT_EQ(StepSizes::from(own.words()), own);
}

// What one sequence has is on one unit, and nothing of it on the others.
TEST(SpreadExperts, HaveASequenceOnOneUnit) {
  const auto sizes_of = [](std::uint32_t units, const SequenceGroup& group) {
    Batch batch;
    batch.groups = {group};
    batch.emitting = group.sequences;
    StepSizes sizes = spread(units)->on_tiles()->sizes_of(batch);
    sizes.spread_tokens = 0;
    return sizes;
  };
  for (const std::uint32_t queries : {1U, 700U}) {
    const StepSizes one = sizes_of(1, {1, queries, 3904});
    for (const std::uint32_t sequences : {1U, 5U, 64U}) {
      EXPECT_EQ(sizes_of(64, {sequences, queries, 3904}), one) << sequences;
    }
    EXPECT_EQ(sizes_of(64, {65, queries, 3904}), sizes_of(1, {2, queries, 3904}));
  }
  const auto model = spread(64);
  const TileModel& tiles = *model->on_tiles();
  EXPECT_EQ(model->cache_of_prompt(1000), Bytes(70'272 * 1000));
  EXPECT_EQ(tiles.all_handed_over(tiles.walk(0, sizes_of(64, {1, 1, 16})), 1000),
            Bytes(70'272 * 1000));
}

// Experts work on the tokens of all units, however these are dealt out.
TEST(SpreadExperts, GetTheTokensOfAllUnits) {
  constexpr std::uint32_t units = 8;
  const auto model = spread(units);
  const auto of_experts = [&](const SequenceGroup& group) {
    Batch batch;
    batch.groups = {group};
    batch.emitting = group.sequences;
    const TileModel& tiles = *model->on_tiles();
    const StepSizes sizes = tiles.sizes_of(batch);
    std::uint64_t flops = 0;
    for (const WalkPart& part : tiles.walk(0, sizes)) {
      const bool is_up = model->names()[model->name_of(part.op)] == "expert_up";
      flops += is_up ? tiles.operation(part.op, sizes).operation.flops.count() : 0;
    }
    return flops;
  };
  EXPECT_GT(of_experts({1, 64, 64}), 0U);
  EXPECT_EQ(of_experts({1, 64, 64}), of_experts({64, 1, 64}));
  EXPECT_EQ(of_experts({1, 64, 64}), of_experts({16, 4, 64}));
  EXPECT_EQ(of_experts({1, 1, 64}) * 8, of_experts({8, 1, 64}));
}

TEST(SpreadExperts, NeedExpertsAndNoOtherCut) {
  EXPECT_THROW(spread(3), ConfigError);  // of 256
  EXPECT_THROW(spread(2, deepseek_v3(), 2), ConfigError);
  EXPECT_THROW(spread(2, deepseek_v3(), 1, 2), ConfigError);
  workload::TransformerShape dense = deepseek_v3();
  dense.experts.reset();
  EXPECT_THROW(spread(2, dense), ConfigError);
}

}  // namespace
}  // namespace tessera::serving::spread_experts_test
