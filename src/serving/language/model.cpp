#include "language/model.hpp"

#include <algorithm>

namespace tessera::serving {

LanguageModel::LanguageModel(const LanguageSetup& setup)
    : setup_(setup), shape_(setup.shape), tensor_(setup.tensor), shapes_(setup), flops_(shape_) {
  const std::vector<Bytes> of_stages = weights_of_stages(setup_);
  weights_ = *std::max_element(of_stages.begin(), of_stages.end());
  if (setup_.adapter_slots > 0) {
    weights_ += LanguageModel::adapter() * setup_.adapter_slots;
    adapter_flops_ = flops_of_adapters();
  }
  names_.resize(parts_named());
  count_mixers();
}

// Up to the last one that a model of its kind may have.
std::uint32_t LanguageModel::parts_named() const {
  const bool shares = shape_.experts && shape_.experts->shared > 0;
  const bool turns = shapes_.sources().has(rotary);
  return shapes_.sources().has(query_key_norm)                                ? part_count
         : shape_.window > 0 || shape_.ssm || turns || setup_.core == nullptr ? query_key_norm
         : setup_.expert > 1                                                  ? local_attention
         : setup_.adapter_slots > 0                                           ? swap_tokens
         : shape_.latent.has_value() || shares                                ? qkv_shrink
                                                                              : latent_down;
}

void LanguageModel::count_mixers() {
  std::vector<std::array<std::uint64_t, 4>> counts(setup_.pipeline);  // [workload::Mixer]
  for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
    ++counts[stage_of(layer)][static_cast<std::size_t>(shape_.kind_of(layer).mixer)];
  }
  const auto most = [&counts](workload::Mixer mixer) {
    std::uint64_t layers = 0;
    for (const auto& of_stage : counts) {
      layers = std::max(layers, of_stage[static_cast<std::size_t>(mixer)]);
    }
    return layers;
  };
  full_ = most(workload::Mixer::attention);
  windowed_ = most(workload::Mixer::local);
  states_ = most(workload::Mixer::ssm);
}

CacheLayout LanguageModel::cache_layout() const {
  if (is_uniform()) {
    return {};
  }
  CacheLayout layout;
  layout.full = full_;
  layout.windowed = windowed_;
  layout.window = windowed_ == 0 ? 0 : static_cast<std::uint32_t>(shape_.window);
  layout.states = full_ + windowed_ == 0 ? 1
                                         : quotient_up((state_of_layer() * states_).count(),
                                                       of_tokens(setup_.block).count());
  return layout;
}

// Of all layers where they are alike, else of one; or a sequence's states where there are no
// others.
Bytes LanguageModel::cache_block(std::uint32_t tokens) const {
  if (is_uniform()) {
    return cache_of_token() * tokens;
  }
  const Bytes whole = full_ + windowed_ == 0 ? state_of_layer() * states_ : of_tokens(tokens);
  return Bytes(shapes_.own(whole.count()));
}

std::uint64_t LanguageModel::flops_of_adapters() const {
  LanguageSetup whole = setup_;
  whole.tensor = 1;
  const LayerShapes shapes(whole);
  std::uint64_t flops = 2 * shapes.adapter_numbers();
  for (const Part base : {qkv, out, up, down}) {
    flops += shapes.product_of(base, 1).shape.columns;  // added to what is there
  }
  return flops;
}

std::vector<Part> LanguageModel::parts_of(std::uint64_t layer, bool adapted) const {
  const workload::LayerKind kind = shape_.kind_of(layer);
  std::vector<Part> all;
  for (const Part part : shapes_.sources().parts_of(layer)) {
    if (part == expert_up && setup_.expert > 1) {
      all.push_back(swap_tokens);
    }
    if ((part == attention || part == local_attention) && setup_.core == nullptr) {
      all.push_back(cache_write);
    }
    all.push_back(part);
    if (adapted) {
      add_adapter(part, all);
    }
    if (part == expert_down && setup_.expert > 1) {
      all.push_back(swap_tokens);
    }
    if ((part == out || part == ssm_output) && tensor_ > 1) {
      all.push_back(reduce_out);
    }
  }
  if (kind.mlp && tensor_ > 1) {
    all.push_back(reduce_down);
  }
  if (layer + 1 < shape_.layers && stage_of(layer + 1) != stage_of(layer)) {
    all.push_back(hand_on);
  }
  return all;
}

void LanguageModel::add_adapter(Part part, std::vector<Part>& all) {
  for (const Part of_adapter : {qkv_shrink, qkv_expand, out_shrink, out_expand, up_shrink,
                                up_expand, down_shrink, down_expand}) {
    if (adapted_part(of_adapter) == part) {
      all.push_back(of_adapter);
    }
  }
}

Exchange LanguageModel::exchange(std::uint32_t op, std::uint64_t shape) const {
  const std::uint32_t stage = stage_of(layer_of(op));
  Exchange exchange;
  if (is_all_to_all(part_of(op))) {
    exchange.collective = collective::Kind::all_to_all;
    exchange.units = setup_.expert;
    exchange.bytes =
        shapes_.element() *
        (shape * shape_.hidden * std::min<std::uint64_t>(shape_.experts->top_k, setup_.expert));
    return exchange;
  }
  if (part_of(op) == hand_on) {
    exchange.collective.reset();
  }
  exchange.first = stage * setup_.tensor;
  exchange.units = setup_.tensor;
  exchange.bytes = shapes_.element() * (shape * shape_.hidden);
  return exchange;
}

}  // namespace tessera::serving
