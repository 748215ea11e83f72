#include "layers/sources.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving {
namespace {

using workload::Operator;

// A layer with one of the operators has the part, which computes all of these that there are, and
// what comes with them in the same kernel.
struct Source {
  Part part;
  std::vector<std::string> operators;
  std::vector<std::string> with{};
};

// In the order of a step. Latent attention turns queries into the latent space and values out of it
// by the product that training makes keys and values with.
const std::vector<Source>& sources() {
  static const std::vector<Source> all{
      {embedding,
       {"word_embedding"},
       {"position_embedding", "token_type_embedding", "embedding_layer_norm",
        "embedding_rms_norm"}},
      {norm_in, {"ln1", "norm1"}},
      {qkv, {"qkv"}},
      {latent_down, {"q_down", "kv_down"}},
      {latent_norm, {"q_norm", "kv_norm"}},
      {query_up, {"q", "q_up"}},
      {absorb, {"kv_up"}},
      {query_key_norm, {"query_norm", "key_norm"}},
      {rotary, {"rotary", "rotary_key"}},
      {attention, {"attention"}},
      {value_up, {"kv_up"}},
      {out, {"attention_output"}},
      {ssm_input, {"ssm_input"}},
      {ssm_convolution, {"ssm_convolution"}},
      {ssm_scan, {"ssm_scores", "ssm_states", "ssm_passing", "ssm_outputs"}, {"ssm_steps"}},
      {ssm_gate, {"ssm_gate"}, {"ssm_norm"}},
      {ssm_output, {"ssm_output"}},
      {norm_mid, {"ln2", "norm2"}},
      {router, {"router"}, {"router_softmax"}},
      {up, {"mlp_up"}, {"gelu", "relu"}},
      {gate, {"swiglu"}},
      {down, {"mlp_down"}},
      {expert_up, {"expert_up"}, {"expert_gelu", "expert_relu"}},
      {expert_gate, {"expert_swiglu"}},
      {expert_down, {"expert_down"}, {"combine"}},
      {shared_up, {"shared_up"}, {"shared_gelu", "shared_relu"}},
      {shared_gate, {"shared_swiglu"}},
      {shared_down, {"shared_down"}},
      {last_norm, {"final_layer_norm", "final_rms_norm"}},
      {head, {"lm_head"}},
  };
  return all;
}

// Sums with what was skipped are made with the product before or the norm behind; tokens go to
// experts, and parts of keys are joined, without a kernel.
bool is_without_part(const std::string& name) {
  return name == "skip1" || name == "skip2" || name == "dispatch" || name == "join_keys";
}

bool is_in(const std::vector<std::string>& names, const Operator& op) {
  return std::find(names.begin(), names.end(), op.name) != names.end();
}

bool computes(const Source& source, const workload::Layer& layer) {
  return std::any_of(layer.operators.begin(), layer.operators.end(),
                     [&](const Operator& op) { return is_in(source.operators, op); });
}

bool is_product(const Operator& op) {
  return op.is_matrix_product() && op.parameters + op.shared_parameters > 0;
}

// A mixer or norm that training has and no step knows would be served for nothing.
void ensure_all_known(const workload::Layer& layer) {
  for (const Operator& op : layer.operators) {
    const bool is_known =
        is_without_part(op.name) ||
        std::any_of(sources().begin(), sources().end(), [&](const Source& source) {
          return computes(source, layer) && (is_in(source.operators, op) || is_in(source.with, op));
        });
    ensure(is_known, "no part of a served step computes an operator of the model");
  }
}

}  // namespace

PartSources::PartSources(const workload::TransformerShape& shape) {
  const std::vector<workload::Layer> layers = workload::token_layers(shape);
  add_layer(layers.front(), false);
  head_ = add_layer(layers.back(), false);
  head_.push_back(softmax);
  for (std::uint64_t layer = 0; layer < shape.layers; ++layer) {
    const bool is_local = shape.kind_of(layer).mixer == workload::Mixer::local;
    layers_.push_back(add_layer(layers[layer + 1], is_local));
  }
}

std::vector<Part> PartSources::add_layer(const workload::Layer& layer, bool is_local) {
  ensure_all_known(layer);
  std::vector<Part> parts;
  for (const Source& source : sources()) {
    if (!computes(source, layer)) {
      continue;
    }
    const Part part = source.part == attention && is_local ? local_attention : source.part;
    parts.push_back(part);
    products_[part].clear();
    others_[part].clear();
    for (const Operator& op : layer.operators) {
      skip_flops_ = op.name == "skip1" ? op.forward_flops.count() : skip_flops_;
      if (is_in(source.operators, op) || is_in(source.with, op)) {
        (is_product(op) ? products_ : others_)[part].push_back(op);
      }
    }
  }
  return parts;
}

}  // namespace tessera::serving
