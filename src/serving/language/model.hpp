// What a decoder-only language model is on NPU cores and on tiles alike: its parts in the order of
// a step (layers/shapes.hpp), its bytes and FLOPs, what its units exchange.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layers/batch_sizes.hpp"
#include "layers/flops.hpp"
#include "layers/shapes.hpp"
#include "layers/weights.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving {

class LanguageModel : public ServedModel {
 public:
  explicit LanguageModel(const LanguageSetup& setup);

  std::uint32_t units() const override { return setup_.tensor * setup_.pipeline * setup_.expert; }
  std::uint32_t stages() const override { return setup_.pipeline; }
  std::uint32_t kind_of(std::uint32_t op) const override { return op_of(0, part_of(op)); }
  const std::vector<std::string>& names() const override { return names_; }
  std::uint32_t name_of(std::uint32_t op) const override { return part_of(op); }
  Exchange exchange(std::uint32_t op, std::uint64_t shape) const override;
  Wide flops(const Batch& batch) const override {
    return flops_.of_step(sizes_of_batch(batch)) +
           Wide{batch.adapted} * adapter_flops_ * shape_.layers;
  }
  Bytes weights() const override { return weights_; }
  Bytes adapter() const override {
    if (setup_.adapter_slots == 0) {
      return Bytes();
    }
    return shapes_.element() * shapes_.adapter_numbers() *
           quotient_up(shape_.layers, setup_.pipeline);
  }
  // Of a token that any of several units may have, the mean; as of a block.
  Bytes cache_of_token() const override {
    const Bytes whole = shapes_.cache_of_token() * (full_ + windowed_);
    return Bytes(shapes_.own(whole.count()));
  }
  CacheLayout cache_layout() const override;
  Bytes cache_block(std::uint32_t tokens) const override;
  Bytes cache_of_prompt(std::uint64_t tokens) const override {
    return of_tokens(tokens) * full_ + of_window(tokens) * windowed_ + state_of_layer() * states_;
  }

 protected:
  std::uint32_t stage_of(std::uint64_t layer) const { return serving::stage_of(setup_, layer); }
  std::uint32_t outside() const { return op_of(shape_.layers, 0); }
  std::uint64_t flops_of_adapters() const;
  // Of a layer's cache, on the unit that has the sequence, as the next two.
  Bytes of_tokens(std::uint64_t tokens) const { return shapes_.cache_of_token() * tokens; }
  // What the next token sees of so many.
  Bytes of_window(std::uint64_t tokens) const {
    return shape_.window == 0 ? Bytes() : of_tokens(std::min(tokens, shape_.window - 1));
  }
  Bytes state_of_layer() const {
    return shapes_.state_space() ? shapes_.state_space()->kept() : Bytes();
  }
  bool is_uniform() const { return windowed_ == 0 && states_ == 0; }
  // Parts of a layer, one behind the other, exchanges among them; with those of adapters.
  std::vector<Part> parts_of(std::uint64_t layer, bool adapted = false) const;
  static void add_adapter(Part part, std::vector<Part>& all);
  StepSizes sizes_of_batch(const Batch& batch) const { return batch_sizes(shapes_, batch); }

  LanguageSetup setup_;
  workload::TransformerShape shape_;
  std::uint64_t tensor_;
  LayerShapes shapes_;

 private:
  std::uint32_t parts_named() const;
  void count_mixers();

  LayerFlops flops_;
  Bytes weights_;
  std::uint64_t adapter_flops_ = 0;  // of a token in a layer, by all units, nothing twice
  std::vector<std::string> names_ = part_names();
  // Layers of a stage that attend to all tokens, to those of a window, and that have a state; of
  // the stage with most of each.
  std::uint64_t full_ = 0;
  std::uint64_t windowed_ = 0;
  std::uint64_t states_ = 0;
};

inline bool is_exchange(Part part) {
  return part == reduce_out || part == reduce_down || part == hand_on;
}

inline bool is_all_to_all(std::uint32_t part) {
  return part == swap_tokens;
}

// On NPU cores (setup.core is not null): parts that cores share.
std::unique_ptr<ServedModel> model_on_cores(const LanguageSetup& setup);
// On tiles: a step is one part, which units go through by themselves.
std::unique_ptr<ServedModel> model_on_tiles(const LanguageSetup& setup);

}  // namespace tessera::serving
