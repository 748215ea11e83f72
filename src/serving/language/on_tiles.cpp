// A language model on tiles, each of which goes through its walk of the parts.
#include "language/model.hpp"
#include "layers/operations.hpp"
#include "tessera/core/error.hpp"
#include "tessera/serving/tile_model.hpp"

namespace tessera::serving {
namespace {

class WalkedModel final : public LanguageModel, public TileModel {
 public:
  explicit WalkedModel(const LanguageSetup& setup) : LanguageModel(setup), operations_(setup) {
    for (std::uint32_t stage = 0; stage < setup_.pipeline; ++stage) {
      for (const bool adapted : {false, true}) {
        for (const bool emits : {false, true}) {
          walks_.push_back(make_walk(stage, emits, adapted));
        }
      }
    }
  }

  const TileModel* on_tiles() const override { return this; }
  Step step(const Batch& batch) const override {
    return {StepPart{0, sizes_of(batch).words()[0], 0, false, {}}};
  }
  StepSizes sizes_of(const Batch& batch) const override {
    const StepSizes all = sizes_of_batch(batch);
    return setup_.expert > 1 ? of_unit(all) : all;
  }
  const Walk& walk(std::uint32_t unit, const StepSizes& sizes) const override {
    return walks_[unit / (tensor_ * setup_.expert) * 4 + (sizes.adapters > 0 ? 2 : 0) +
                  (sizes.emitting > 0 ? 1 : 0)];
  }
  StepSizes needed(std::uint32_t op, const StepSizes& sizes) const override {
    StepSizes needed = LayerOperations::needed(part_of(op), sizes);
    if (setup_.expert > 1 && is_of_experts(part_of(op))) {
      needed.spread_tokens = sizes.spread_tokens;
    }
    return needed;
  }
  TileOperation operation(std::uint32_t op, const StepSizes& sizes) const override {
    return operations_.make(part_of(op), sizes);
  }
  unsigned more_words() const override {
    return (shape_.window > 0 ? StepSizes::more_of_windows : 0) |
           (shape_.ssm ? StepSizes::more_of_states : 0);
  }
  bool fills_cache(std::uint32_t op) const override {
    const Part part = part_of(op);
    return part == attention || part == local_attention || part == ssm_scan;
  }
  Bytes handed_over(std::uint32_t op, std::uint64_t tokens) const override {
    const Part part = part_of(op);
    return part == ssm_scan          ? state_of_layer()
           : part == local_attention ? of_window(tokens)
                                     : of_tokens(tokens);
  }

  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t, std::uint64_t,
                                                 std::uint64_t) const override {
    throw InternalError("a model on tiles has no operators of NPU cores");
  }
  std::uint64_t operand_begin(std::uint32_t, std::uint8_t) const override { return 0; }
  std::uint64_t memory_end() const override { return 0; }

 private:
  StepSizes of_unit(const StepSizes& all) const;
  Walk make_walk(std::uint32_t stage, bool emits, bool adapted) const;

  LayerOperations operations_;
  std::vector<Walk> walks_;  // [stages][with adapters][emits]
};

// Of that with most sequences, for which others wait; what a sequence has of each is the mean.
StepSizes WalkedModel::of_unit(const StepSizes& all) const {
  StepSizes own = all;
  own.generating = shapes_.own(all.generating);
  own.prompts = shapes_.own(all.prompts);
  const auto share = [](std::uint64_t sum, std::uint64_t sequences, std::uint64_t some) {
    return sequences == 0 ? 0 : quotient_up(sum * some, sequences);
  };
  own.emitting = share(all.emitting, all.sequences(), own.sequences());
  own.tokens = own.generating + share(all.tokens - all.generating, all.prompts, own.prompts);
  for (std::uint64_t* const sum : {&own.generating_keys, &own.windowed.generating_keys}) {
    *sum = share(*sum, all.generating, own.generating);
  }
  for (std::uint64_t* const sum :
       {&own.prompt_keys, &own.twice_pairs, &own.blocks, &own.block_keys, &own.longest_blocks,
        &own.windowed.prompt_keys, &own.windowed.twice_pairs, &own.windowed.block_keys,
        &own.windowed.longest_blocks, &own.chunks, &own.chunk_pairs}) {
    *sum = share(*sum, all.prompts, own.prompts);
  }
  own.spread_tokens = all.tokens;
  return own;
}

Walk WalkedModel::make_walk(std::uint32_t stage, bool emits, bool adapted) const {
  using Kind = WalkPart::Kind;
  Walk walk;
  if (stage == 0) {
    walk.push_back({outside() + embedding, Kind::operation});
  }
  std::uint32_t before = 0;
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
    if (stage_of(layer) != stage) {
      before = layer;
      continue;
    }
    if (walk.empty()) {
      walk.push_back({op_of(before, hand_on), Kind::await});
    }
    for (const Part part : parts_of(layer, adapted)) {
      const Kind kind = part == hand_on                            ? Kind::hand_on
                        : is_exchange(part) || is_all_to_all(part) ? Kind::collective
                                                                   : Kind::operation;
      walk.push_back({op_of(layer, part), kind});
    }
  }
  if (stage + 1 == setup_.pipeline && emits) {
    for (const Part part : shapes_.sources().head()) {
      walk.push_back({outside() + part, Kind::operation});
    }
  }
  return walk;
}

}  // namespace

std::unique_ptr<ServedModel> model_on_tiles(const LanguageSetup& setup) {
  return std::make_unique<WalkedModel>(setup);
}

}  // namespace tessera::serving
