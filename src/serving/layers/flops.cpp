#include "layers/flops.hpp"

#include "layers/served_widths.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving {
namespace {

using workload::TransformerShape;

// What is not so many FLOPs a token.
bool is_mixed(const workload::Operator& op) {
  return op.kind == "attention" || op.name == "ssm_scores" || op.name == "ssm_states" ||
         op.name == "ssm_passing" || op.name == "ssm_outputs";
}

}  // namespace

LayerFlops::LayerFlops(const TransformerShape& shape) : shape_(shape) {
  const std::vector<workload::Layer> layers = workload::token_layers(shape);
  for (const workload::Layer& layer : layers) {
    const bool is_head = &layer == &layers.back();
    for (const workload::Operator& op : layer.operators) {
      const std::uint64_t flops = op.forward_flops.count();
      if (op.name == "ssm_passing") {  // of a chunk
        of_name_[op.name] = flops;
      }
      if (is_mixed(op)) {
        continue;
      }
      of_name_[op.name] = flops;
      (is_head ? head_ : all_) += flops;
    }
  }
  for (std::uint64_t layer = 0; layer < shape.layers; ++layer) {
    ++mixers_[static_cast<std::size_t>(shape.kind_of(layer).mixer)];
  }
}

std::uint64_t LayerFlops::of_token(const std::string& name) const {
  const auto found = of_name_.find(name);
  return found == of_name_.end() ? 0 : found->second;
}

Wide LayerFlops::of_attention(const StepSizes& sizes, std::uint64_t heads) const {
  const std::uint64_t widths = served_key_width(shape_) + served_value_width(shape_);
  return Wide{heads} * widths * sizes.all_twice_pairs();
}

Wide LayerFlops::of_scan(const StepSizes& sizes) const {
  const workload::SsmShape& ssm = *shape_.ssm;
  const Wide elements = Wide{ssm.inner()} * ssm.state;
  const Wide tokens = sizes.tokens - sizes.generating;
  const Wide scores = 2 * Wide{sizes.chunk_pairs} * ssm.state * ssm.groups;
  const Wide into = 2 * tokens * elements;
  const Wide passing = Wide{sizes.chunks} * of_token("ssm_passing");
  const Wide out = 2 * Wide{sizes.chunk_pairs} * ssm.inner() + 2 * tokens * elements;
  return scores + into + passing + out + Wide{sizes.generating} * of_update * elements;
}

Wide LayerFlops::of_step(const StepSizes& sizes) const {
  const auto layers = [this](workload::Mixer mixer) {
    return Wide{mixers_[static_cast<std::size_t>(mixer)]};
  };
  Wide sum = Wide{sizes.tokens} * all_ + Wide{sizes.emitting} * head_ +
             of_attention(sizes, shape_.heads) * layers(workload::Mixer::attention) +
             of_attention(sizes.in_window(), shape_.heads) * layers(workload::Mixer::local);
  if (shape_.ssm) {
    sum += of_scan(sizes) * layers(workload::Mixer::ssm);
  }
  return sum;
}

}  // namespace tessera::serving
