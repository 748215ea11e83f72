#include "layers/flops.hpp"

#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving {
namespace {

using workload::TransformerShape;

// One token of an inference, which goes to as many experts as there are.
TransformerShape of_one_token(TransformerShape shape) {
  shape.sequence = 1;
  shape.attention = workload::AttentionKind::flash;  // one operator
  shape.causal = false;
  shape.dropout = false;
  shape.loss = false;
  if (shape.experts) {
    shape.experts->count = shape.experts->top_k;
    shape.experts->capacity_millionths = 1'000'000;
    shape.experts->room = workload::ExpertRoom::padded;
    shape.experts->shares.clear();
  }
  return shape;
}

bool is_attention(const workload::Operator& op) {
  return op.kind == "attention";
}

}  // namespace

LayerFlops::LayerFlops(const TransformerShape& shape) : shape_(shape) {
  const std::vector<workload::Layer> layers = workload::transformer_layers(of_one_token(shape));
  for (const workload::Layer& layer : layers) {
    const bool is_head = &layer == &layers.back();
    for (const workload::Operator& op : layer.operators) {
      std::uint64_t flops = op.forward_flops.count();
      if (is_attention(op)) {
        continue;
      }
      if (shape.experts && op.name.starts_with("router")) {  // looks at all of them
        flops = flops / shape.experts->top_k * shape.experts->count;
      }
      of_name_[op.name] = flops;
      (is_head ? head_ : all_) += flops;
      embedding_ += &layer == &layers.front() ? flops : 0;
    }
  }
  norm_ = of_token(shape.norm == workload::Norm::layer ? "ln1" : "norm1");
}

std::uint64_t LayerFlops::of_token(const std::string& name) const {
  const auto found = of_name_.find(name);
  return found == of_name_.end() ? 0 : found->second;
}

Wide LayerFlops::of_attention(const StepSizes& sizes, std::uint64_t heads) const {
  const std::uint64_t widths = shape_.latent
                                   ? 2 * shape_.latent->kv_rank + shape_.latent->rope_width
                                   : 2 * shape_.head_width;
  return Wide{heads} * widths * sizes.all_twice_pairs();
}

Wide LayerFlops::of_step(const StepSizes& sizes) const {
  return Wide{sizes.tokens} * all_ + Wide{sizes.emitting} * head_ +
         of_attention(sizes, shape_.heads) * shape_.layers;
}

}  // namespace tessera::serving
