// Served models whose layers are of several kinds: with windows, with states, without a mixer or an
// MLP.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/serving/language_model.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving::layer_kinds_test {
namespace {

using workload::LayerKind;
using workload::Mixer;

constexpr std::uint64_t window = 100;

workload::TransformerShape plain() {
  workload::TransformerShape shape;
  shape.layers = 12;
  shape.hidden = 256;
  shape.heads = 8;
  shape.kv_heads = 4;
  shape.head_width = 32;
  shape.ffn = 512;
  shape.sequence = 4096;
  shape.vocabulary = 1000;
  shape.mlp = workload::Activation::swiglu;
  shape.norm = workload::Norm::rms;
  shape.positions = workload::Positions::rotary;
  shape.attention = workload::AttentionKind::flash;
  shape.causal = true;
  shape.biases = shape.dropout = shape.loss = shape.tie_embeddings = false;
  return shape;
}

// Five layers with a window for each without, as of Gemma 3.
workload::TransformerShape windowed() {
  workload::TransformerShape shape = plain();
  shape.window = window;
  shape.pattern.assign(5, LayerKind{Mixer::local, true});
  shape.pattern.push_back(LayerKind{Mixer::attention, true});
  return shape;
}

constexpr std::uint64_t chunk = 32;

// Layers with states, with attention and with an MLP, each alone, as of Nemotron-H.
workload::TransformerShape hybrid() {
  workload::TransformerShape shape = plain();
  shape.mlp = workload::Activation::relu;
  shape.pattern = {
      {Mixer::ssm, false}, {Mixer::none, true}, {Mixer::attention, false}, {Mixer::ssm, true}};
  shape.ssm = workload::SsmShape{16, 16, 32, 4, 4, chunk};
  return shape;
}

workload::TransformerShape states_alone() {
  workload::TransformerShape shape = hybrid();
  shape.pattern = {{Mixer::ssm, false}};
  shape.heads = shape.kv_heads = shape.head_width = 1;
  return shape;
}

workload::TransformerShape all_kinds() {
  workload::TransformerShape shape = hybrid();
  shape.window = window;
  shape.pattern.push_back({Mixer::local, true});
  shape.pattern.push_back({Mixer::local, false});
  return shape;
}

std::vector<workload::TransformerShape> family() {
  return {windowed(), hybrid(), states_alone(), all_kinds()};
}

Batch prompt_of(std::uint32_t tokens) {
  Batch batch;
  batch.groups = {{1, tokens, tokens}};
  batch.emitting = tokens;  // the workload's head works on each
  return batch;
}

// What one unit does in a step.
struct Done {
  Wide flops = 0;
  Bytes cached;
  Bytes appended;
  Bytes weights;
};
Done done_by(const ServedModel& model, const StepSizes& sizes, std::uint32_t unit = 0) {
  Done done;
  for (const WalkPart& part : model.on_tiles()->walk(unit, sizes)) {
    if (part.kind == WalkPart::Kind::operation) {
      const TileOperation made = model.on_tiles()->operation(part.op, sizes);
      // What depends on less is the same.
      const TileOperation again =
          model.on_tiles()->operation(part.op, model.on_tiles()->needed(part.op, sizes));
      EXPECT_EQ(made.operation, again.operation);
      EXPECT_EQ(made.kernels, again.kernels);
      Flops of_kernels;
      for (const workload::Operation& kernel : made.kernels) {
        of_kernels += kernel.flops;
      }
      EXPECT_TRUE(made.kernels.empty() || of_kernels == made.operation.flops);
      done.flops += made.operation.flops.count();
      done.cached += made.cached;
      done.appended += made.appended;
      done.weights += made.weights;
    }
  }
  return done;
}

std::uint64_t parameters_of(const workload::TransformerShape& shape) {
  workload::Workload whole;
  whole.layers = workload::transformer_layers(shape);
  return whole.parameters();
}

TEST(LayerKinds, HaveTheParametersOfTheWorkload) {
  for (const workload::TransformerShape& shape : family()) {
    EXPECT_EQ(make_language_model({shape})->weights(), Bytes(2 * parameters_of(shape)));
  }
}

// A prompt of whole chunks has as many as an inference of the workload; window and chunk are less.
TEST(LayerKinds, HaveTheFlopsOfTheWorkload) {
  for (workload::TransformerShape shape : family()) {
    for (const std::uint32_t tokens : {32U, 64U, 256U}) {
      shape.sequence = tokens;
      Wide expected = 0;
      for (const workload::Layer& layer : workload::transformer_layers(shape)) {
        expected += layer.forward_flops().count();
      }
      const auto model = make_language_model({shape});
      const Batch batch = prompt_of(tokens);
      EXPECT_EQ(static_cast<double>(model->flops(batch)), static_cast<double>(expected));
      const Wide choosing = workload::softmax_flops(shape.vocabulary).count() * batch.emitting;
      const StepSizes sizes = model->on_tiles()->sizes_of(batch);
      EXPECT_EQ(static_cast<double>(done_by(*model, sizes).flops - choosing),
                static_cast<double>(expected));
      const auto cut = make_language_model({shape, nullptr, 2, 2});
      EXPECT_EQ(static_cast<double>(cut->flops(batch)), static_cast<double>(expected));
    }
  }
}

// Whole or in parts, a prompt has as many pairs in a window.
TEST(LayerKinds, HaveAsManyPairsInPartsOfAPrompt) {
  const auto model = make_language_model({windowed(), nullptr, 1, 1, 1});
  const auto pairs = [&](std::uint32_t queries, std::uint32_t keys) {
    Batch batch;
    batch.groups = {{1, queries, keys}};
    return model->on_tiles()->sizes_of(batch).windowed.twice_pairs;
  };
  EXPECT_EQ(pairs(1000, 1000), window * (2 * 1000 - window + 1));
  EXPECT_EQ(pairs(400, 400) + pairs(600, 1000), pairs(1000, 1000));
  EXPECT_EQ(pairs(900, 1000), 2 * window * 900);
  std::uint64_t sum = 0;
  for (std::uint64_t key = 51; key <= 250; ++key) {
    sum += 2 * std::min(key, window);
  }
  EXPECT_EQ(pairs(200, 250), sum);
}

// A token behind a long context costs layers with a window no more than one behind a short one, and
// reads min(context, window) tokens of the cache, in whole blocks.
TEST(LayerKinds, ReadNoMoreThanTheirWindow) {
  const auto model = make_language_model({windowed()});
  const Bytes of_layer(2 * 2 * 4 * 32);
  for (const std::uint32_t keys : {16U, 64U, 96U, 112U, 128U, 1024U, 4096U}) {
    Batch batch;
    batch.groups = {{3, 1, keys}};
    batch.emitting = 3;
    const std::uint64_t seen = std::min(keys, 112U);  // 100, in blocks of 16
    const Done done = done_by(*model, model->on_tiles()->sizes_of(batch));
    EXPECT_EQ(done.cached, of_layer * (3 * (2 * keys + 10 * seen)));
    EXPECT_EQ(done.appended, of_layer * (3 * 12));
  }
}

// A token costs a state-space layer as much behind any context; the state is read and written.
TEST(LayerKinds, KeepAStateOfOneSize) {
  LanguageSetup setup{states_alone()};
  setup.state_type = DataType::fp32;
  const auto model = make_language_model(setup);
  const std::uint64_t inner = 16 * 32;
  const Bytes state(12 * (4 * inner * 16 + 2 * 3 * (inner + 2 * 4 * 16)));
  EXPECT_EQ(model->cache_block(16), state);
  EXPECT_EQ(model->cache_layout().states, 1U);
  EXPECT_EQ(model->cache_layout().full, 0U);
  EXPECT_EQ(model->cache_of_prompt(3000), state);
  EXPECT_EQ(model->cache_of_token(), Bytes());
  Batch near;
  near.groups = {{5, 1, 16}};
  Batch far;
  far.groups = {{5, 1, 4000}};
  const Done done = done_by(*model, model->on_tiles()->sizes_of(near));
  const Done of_far = done_by(*model, model->on_tiles()->sizes_of(far));
  EXPECT_EQ(static_cast<double>(done.flops), static_cast<double>(of_far.flops));
  EXPECT_EQ(done.cached, state * 5);
  EXPECT_EQ(done.appended, state * 5);
  EXPECT_EQ(of_far.cached, state * 5);
}

// Each unit has its heads; groups of them that are fewer than units are at several.
TEST(LayerKinds, AreCutByHeads) {
  const auto whole = make_language_model({states_alone()});
  const auto four = make_language_model({states_alone(), nullptr, 4});
  const auto eight = make_language_model({states_alone(), nullptr, 8});
  EXPECT_EQ(four->cache_block(16) * 4, whole->cache_block(16));
  const Bytes copies(12 * 2 * 3 * 2 * 16 * (8 - 4));  // of four groups each is at two units
  EXPECT_EQ(eight->cache_block(16) * 8, whole->cache_block(16) + copies);
  EXPECT_THROW(make_language_model({states_alone(), nullptr, 32}), ConfigError);
  workload::TransformerShape uneven = states_alone();
  uneven.ssm->groups = 3;
  uneven.ssm->heads = 12;
  EXPECT_THROW(make_language_model({uneven, nullptr, 2}), ConfigError);
}

// Blocks of one layer each: as many as layers of each kind in the stage with most of them.
TEST(LayerKinds, HaveBlocksOfTheirOwn) {
  const auto model = make_language_model({windowed()});
  EXPECT_EQ(model->cache_layout().full, 2U);
  EXPECT_EQ(model->cache_layout().windowed, 10U);
  EXPECT_EQ(model->cache_layout().window, window);
  EXPECT_EQ(model->cache_block(16), Bytes(16 * 2 * 2 * 4 * 32));
  EXPECT_EQ(model->cache_of_prompt(1000), Bytes(512 * (2 * 1000 + 10 * 99)));
  EXPECT_EQ(model->cache_of_prompt(50), Bytes(512 * 12 * 50));
  const auto staged = make_language_model({windowed(), nullptr, 1, 2});
  EXPECT_EQ(staged->cache_layout().full, 1U);
  EXPECT_EQ(staged->cache_layout().windowed, 5U);
  EXPECT_TRUE(make_language_model({plain()})->cache_layout().is_plain());
}

// What is handed over layer by layer is what is handed over whole.
TEST(LayerKinds, HandOverWhatIsNeededOfThem) {
  for (const workload::TransformerShape& shape : family()) {
    const auto model = make_language_model({shape});
    const StepSizes sizes = model->on_tiles()->sizes_of(prompt_of(300));
    const Walk& walk = model->on_tiles()->walk(0, sizes);
    EXPECT_EQ(model->on_tiles()->all_handed_over(walk, 300), model->cache_of_prompt(300));
  }
}

TEST(LayerKinds, SayAStepInWords) {
  const auto model = make_language_model({all_kinds()});
  Batch batch;
  batch.groups = {{3, 1, 640}, {2, 130, 1008}, {1, 40, 48}};
  batch.emitting = 4;
  const StepSizes sizes = model->on_tiles()->sizes_of(batch);
  EXPECT_EQ(sizes.chunks, 2U * 5 + 2);
  EXPECT_EQ(sizes.chunk_pairs, 2U * (4 * 32 * 32 + 2 * 2) + 32 * 32 + 8 * 8);
  EXPECT_EQ(sizes.windowed.generating_keys, 3U * 112);
  EXPECT_EQ(sizes.windowed.prompt_keys, 2U * 240 + 48);
  EXPECT_EQ(sizes.windowed.block_keys, 2U * 3 * 163 + 48);
  EXPECT_EQ(sizes.windowed.longest_keys, 163U);
  EXPECT_EQ(sizes.windowed.longest_blocks, 6U);
  EXPECT_EQ(StepSizes::from(sizes.words()), sizes);
  EXPECT_EQ(model->on_tiles()->more_words(),
            StepSizes::more_of_windows | StepSizes::more_of_states);
  EXPECT_EQ(make_language_model({plain()})->on_tiles()->more_words(), 0U);
  StepSizes most;
  most.tokens = most_tokens;
  most.windowed.generating_keys = most.windowed.prompt_keys =
      std::uint64_t{most_sequences} * most_keys;
  most.windowed.twice_pairs = 2 * std::uint64_t{most_tokens} * most_keys;
  most.windowed.longest_blocks = most_tokens / 64 + most_sequences;
  most.windowed.longest_keys = most_keys;
  most.windowed.block_keys = most.windowed.longest_blocks * most_keys;
  most.chunks = most_tokens;
  most.chunk_pairs = std::uint64_t{most_tokens} * most_queries;
  EXPECT_EQ(StepSizes::from(most.words()), most);
  for (std::size_t word = 5; word < most.words().size(); ++word) {
    EXPECT_LT(most.words()[word], std::uint64_t{1} << StepSizes::more_bits);
  }
}

// NPU cores compute what a mask hides, of whole windows.
TEST(LayerKinds, AreServedByNpuCoresWithoutStates) {
  npu::CoreConfig core;
  core.scratchpad = Bytes(32U << 20U);
  core.accumulator = Bytes(4U << 20U);
  LanguageSetup setup{windowed(), &core};
  const auto model = make_language_model(setup);
  Batch batch;
  batch.groups = {{2, 1, 64}, {1, 1, 2048}, {2, 1, 3072}};
  const std::uint64_t of_pair = 2 * 8 * 32;
  std::uint64_t macs = 0;
  for (const StepPart& part : model->step(batch)) {
    const std::string& name = model->names()[model->name_of(part.op)];
    if (name == "attention" || name == "local_attention") {
      macs += model->make(model->kind_of(part.op), part.shape, 4)->macs();
    }
  }
  EXPECT_EQ(macs, of_pair * (2 * (2 * 64 + 2048 + 2 * 3072) + 10 * (2 * 64 + 3 * 112)));
  setup.shape = hybrid();
  EXPECT_THROW(make_language_model(setup), ConfigError);
}

}  // namespace
}  // namespace tessera::serving::layer_kinds_test
