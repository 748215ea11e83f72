// Adapters of low rank beside a model's weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stepping.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/serving/request_class.hpp"

namespace tessera::serving::adapter_test {
namespace {

using testing::at;
using ::testing::HasSubstr;
using testing::Heard;
using testing::language;
using testing::run;

constexpr std::uint32_t rank = 16;

workload::TransformerShape small() {
  workload::TransformerShape shape;
  shape.layers = 3;
  shape.hidden = 128;
  shape.heads = shape.kv_heads = 8;
  shape.head_width = 16;
  shape.ffn = 512;
  shape.sequence = 2048;
  shape.vocabulary = 1000;
  return shape;
}

std::unique_ptr<ServedModel> model_of(const workload::TransformerShape& shape, std::uint32_t tensor,
                                      std::uint32_t slots) {
  LanguageSetup setup{shape};
  setup.tensor = tensor;
  setup.adapter_rank = rank;
  setup.adapter_slots = slots;
  return make_language_model(setup);
}

Batch batch_with(std::uint32_t adapters, std::uint32_t adapted) {
  Batch batch;
  batch.groups = {{1, 40, 48}, {6, 1, 64}};
  batch.emitting = 7;
  batch.adapters = adapters;
  batch.adapted = adapted;
  return batch;
}

struct Sums {
  Wide flops = 0;
  std::uint64_t weights = 0;
  std::uint64_t bytes = 0;
};

// Over all units.
Sums sums_of(const ServedModel& model, const Batch& batch) {
  const TileModel& tiles = *model.on_tiles();
  const StepSizes sizes = tiles.sizes_of(batch);
  Sums sums;
  for (std::uint32_t unit = 0; unit < model.units(); ++unit) {
    for (const WalkPart& part : tiles.walk(unit, sizes)) {
      if (part.kind == WalkPart::Kind::operation) {
        const TileOperation made = tiles.operation(part.op, tiles.needed(part.op, sizes));
        sums.flops += made.operation.flops.count();
        sums.weights += made.weights.count();
        sums.bytes += made.operation.bytes.count();
      }
    }
  }
  return sums;
}

// Two products for each of query, key, value, out, up and down; with a gate for that, too.
TEST(Adapters, AreTwoProductsOfLowRank) {
  for (const bool gated : {false, true}) {
    workload::TransformerShape shape = small();
    if (gated) {
      shape.mlp = workload::Activation::swiglu;
    }
    const std::uint64_t h = shape.hidden;
    const std::uint64_t f = shape.ffn;
    const std::uint64_t ups = gated ? 2 : 1;
    const std::uint64_t numbers = rank * (3 * (h + h) + (h + h) + ups * (h + f) + (f + h));
    const std::uint64_t columns = 3 * h + h + ups * f + h;  // that are added to
    const auto model = model_of(shape, 1, 4);
    EXPECT_EQ(model->adapter(), Bytes(2 * shape.layers * numbers));
    const Sums plain = sums_of(*model, batch_with(0, 0));
    const Sums some = sums_of(*model, batch_with(3, 20));
    EXPECT_EQ(static_cast<double>(some.flops - plain.flops),
              static_cast<double>(20 * shape.layers * (2 * numbers + columns)));
    EXPECT_EQ(some.weights - plain.weights, 3 * model->adapter().count());
    EXPECT_EQ(static_cast<double>(model->flops(batch_with(3, 20)) - model->flops(batch_with(0, 0))),
              static_cast<double>(some.flops - plain.flops));
    // Tokens in, those of low rank out and in, sums read and written.
    const std::uint64_t low = rank * (3 + 1 + ups + 1);
    const std::uint64_t of_token = (h + h + h + f) + 2 * low + 2 * columns;
    EXPECT_EQ(some.bytes - plain.bytes,
              3 * model->adapter().count() + 2 * 20 * shape.layers * of_token);
    // Tokens of more adapters have as much to compute and more to read.
    EXPECT_EQ(static_cast<double>(sums_of(*model, batch_with(6, 20)).flops),
              static_cast<double>(some.flops));
    EXPECT_GT(sums_of(*model, batch_with(6, 20)).bytes, some.bytes);
  }
}

// Cut by columns: what goes down is whole; cut by depth: what goes up is.
TEST(Adapters, AreCutAsTheirProducts) {
  const workload::TransformerShape shape = small();
  const std::uint64_t h = shape.hidden;
  const std::uint64_t f = shape.ffn;
  const std::uint64_t numbers =
      rank * ((3 * h + 3 * h / 2) + (h / 2 + h) + (h + f / 2) + (f / 2 + h));
  const auto cut = model_of(shape, 2, 4);
  EXPECT_EQ(cut->adapter(), Bytes(2 * shape.layers * numbers));
  const Sums plain = sums_of(*cut, batch_with(0, 0));
  const Sums some = sums_of(*cut, batch_with(3, 20));
  EXPECT_EQ(some.weights - plain.weights, 2 * 3 * cut->adapter().count());
  const auto whole = model_of(shape, 1, 4);
  EXPECT_EQ(static_cast<double>(cut->flops(batch_with(3, 20))),
            static_cast<double>(whole->flops(batch_with(3, 20))));
}

TEST(Adapters, TakeRoomBesideTheWeights) {
  const auto plain = model_of(small(), 1, 0);
  const auto some = model_of(small(), 1, 5);
  EXPECT_EQ(some->weights(), plain->weights() + some->adapter() * 5);
  const std::vector<std::string>& names = some->names();
  EXPECT_NE(std::find(names.begin(), names.end(), "down_expand"), names.end());
  workload::TransformerShape experts = small();
  experts.experts.emplace();
  experts.experts->count = 4;
  experts.experts->top_k = 2;
  experts.experts->ffn = 512;
  try {
    model_of(experts, 1, 5);
    ADD_FAILURE() << "adapters of experts";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("experts"));
  }
}

TEST(Adapters, AreSaidInTheWordsOfAStep) {
  const auto model = model_of(small(), 1, 4);
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> some{{0, 0}, {1, 1}, {7, 46}};
  for (const auto& [adapters, adapted] : some) {
    const StepSizes sizes = model->on_tiles()->sizes_of(batch_with(adapters, adapted));
    EXPECT_EQ(sizes.adapters, adapters);
    EXPECT_EQ(StepSizes::from(sizes.words()), sizes);
  }
  StepSizes most;
  most.tokens = most_tokens;
  most.adapters = most_sequences;
  most.adapted = most_tokens - 1;
  most.block_keys = (std::uint64_t{1} << 34) - 1;
  EXPECT_EQ(StepSizes::from(most.words()), most);
}

Request with(std::uint32_t adapter, std::uint32_t generate) {
  Request request = language(8, generate);
  request.adapter = adapter;
  return request;
}

// Two slots: a third adapter waits until one of the first two is used no more, and takes the place
// of that which was used longest ago.
TEST(AdapterSlots, AreLoadedAsTheyAreNeeded) {
  BatchOptions options;
  options.adapter_slots = 2;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, with(1, 2));
  batcher->arrive(1, with(2, 4));
  batcher->arrive(2, with(3, 1));
  batcher->arrive(3, with(0, 1));
  const auto first = batcher->next(0, at(0));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->adapters, 2U);
  EXPECT_EQ(first->adapted, 16U);
  EXPECT_EQ(first->adapters_in, 2U);
  EXPECT_EQ(batcher->load().waiting, 2U);  // in line
  batcher->end(0, at(1), heard);
  const auto second = batcher->next(1, at(1));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->adapters, 2U);
  EXPECT_EQ(second->adapted, 2U);
  EXPECT_EQ(second->adapters_in, 0U);
  batcher->end(1, at(2), heard);  // the first one is served
  const auto third = batcher->next(2, at(2));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->adapters, 1U);  // prompts go before what generates
  EXPECT_EQ(third->adapters_in, 1U);
  EXPECT_EQ(third->tokens(), 16U);
  EXPECT_EQ(third->adapted, 8U);
  batcher->end(2, at(3), heard);
  // The second one runs still: the place of the third is taken, and the first is loaded again.
  batcher->arrive(4, with(1, 1));
  const auto fourth = batcher->next(3, at(3));
  ASSERT_TRUE(fourth);
  EXPECT_EQ(fourth->adapters_in, 1U);
  batcher->end(3, at(4), heard);
  batcher->arrive(5, with(2, 1));
  const auto fifth = batcher->next(4, at(4));
  ASSERT_TRUE(fifth);
  EXPECT_EQ(fifth->adapters_in, 0U);
}

// They had shared nothing at all.
TEST(AdapterPrefixes, AreSharedByRequestsOfOneAdapter) {
  BatchOptions options;
  options.adapters_stay = true;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  std::vector<Batch> batches;
  std::uint64_t number = 0;
  const auto computed = [&](std::uint32_t adapter, std::uint32_t prefix) {
    Request request = language(970, 1, prefix, 960);
    request.adapter = adapter;
    batcher->arrive(number++, request);
    std::uint64_t tokens = 0;
    for (const Batch& batch : run(*batcher, heard)) {
      tokens += batch.tokens();
      batches.push_back(batch);
    }
    return tokens;
  };
  for (const std::uint32_t tokens : {970U, 10U}) {
    for (const std::uint32_t adapter : {1U, 0U, 2U, 1U << 20}) {
      EXPECT_EQ(computed(adapter, 7), tokens) << adapter;
    }
  }
  EXPECT_EQ(computed(2, 1), 970U) << "of another beginning";
  EXPECT_EQ(computed(1, 2), 970U) << "of another beginning";
  EXPECT_EQ(batcher->counts().reused, 4U * 960);
  testing::expect_conserved(*batcher, batches);
}

TEST(AdapterSlots, AreDrawnEvenly) {
  config::Diagnostics diagnostics;
  config::Section section(
      config::parse("requests.yaml",
                    "{arrivals: poisson, count: 20000, rate: 1000, prompt: 8, generate: 4}",
                    diagnostics),
      "", diagnostics);
  const auto requests = with_marks(read_requests(section, {true, false, 7}), {}, {4, 0.5}, 7);
  std::vector<std::uint64_t> drawn(5);
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    ++drawn.at(requests->request(number).adapter);
  }
  // Four standard deviations: sqrt(20000 * 0.5 * 0.5) = 71, sqrt(20000 / 8 * 7 / 8) = 47.
  EXPECT_NEAR(static_cast<double>(drawn[0]), 10'000, 284);
  for (std::size_t adapter = 1; adapter < 5; ++adapter) {
    EXPECT_NEAR(static_cast<double>(drawn[adapter]), 2'500, 188);
  }
}

// Also of models that adapters do not go with.
TEST(Adapters, TakeNothingWhereThereAreNone) {
  workload::TransformerShape experts = small();
  experts.experts = workload::ExpertShape{16, 2};
  workload::TransformerShape latent = small();
  latent.latent = workload::LatentShape{32, 16, 16, 8, 16};
  workload::TransformerShape states = small();
  states.pattern = {{workload::Mixer::ssm, false}};
  states.ssm = workload::SsmShape{16, 16, 32, 4, 4, 32};
  for (const workload::TransformerShape& shape : {small(), experts, latent, states}) {
    EXPECT_EQ(model_of(shape, 1, 0)->adapter(), Bytes());
  }
}

}  // namespace
}  // namespace tessera::serving::adapter_test
