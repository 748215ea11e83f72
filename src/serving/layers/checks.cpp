#include "layers/checks.hpp"

#include <algorithm>
#include <string>

#include "tessera/core/error.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::serving {
namespace {

using workload::TransformerShape;

bool has_mixer(const TransformerShape& shape, workload::Mixer mixer) {
  return std::any_of(shape.pattern.begin(), shape.pattern.end(),
                     [mixer](const workload::LayerKind& kind) { return kind.mixer == mixer; });
}

// Of the layers that there are, which may be fewer than the pattern has.
bool has_mixing_layer(const TransformerShape& shape) {
  for (std::uint64_t layer = 0; layer < shape.layers; ++layer) {
    if (shape.kind_of(layer).mixer != workload::Mixer::none) {
      return true;
    }
  }
  return false;
}

void refuse_cut_states(const LanguageSetup& setup) {
  const workload::SsmShape& ssm = *setup.shape.ssm;
  if (ssm.heads % setup.tensor != 0) {
    throw ConfigError("tensor: " + std::to_string(ssm.heads) +
                      " heads of state-space layers cannot be cut over " +
                      std::to_string(setup.tensor) + " NPUs");
  }
  if (ssm.groups % setup.tensor != 0 && setup.tensor % ssm.groups != 0) {
    throw ConfigError("tensor: " + std::to_string(ssm.groups) +
                      " groups of heads of state-space layers cannot be cut over " +
                      std::to_string(setup.tensor) + " NPUs");
  }
}

void refuse_cut_heads(const LanguageSetup& setup) {
  const TransformerShape& shape = setup.shape;
  if (shape.heads % setup.tensor != 0) {
    throw ConfigError("tensor: " + std::to_string(shape.heads) + " heads cannot be cut over " +
                      std::to_string(setup.tensor) + " NPUs");
  }
  if (shape.kv_heads % setup.tensor != 0 && setup.tensor % shape.kv_heads != 0) {
    throw ConfigError("tensor: " + std::to_string(shape.kv_heads) +
                      " heads of keys and values cannot be cut over " +
                      std::to_string(setup.tensor) + " NPUs");
  }
}

void refuse_cuts(const LanguageSetup& setup) {
  const TransformerShape& shape = setup.shape;
  if (shape.pattern.empty() || has_mixer(shape, workload::Mixer::attention) ||
      has_mixer(shape, workload::Mixer::local)) {
    refuse_cut_heads(setup);
  }
  if (shape.ssm) {
    refuse_cut_states(setup);
  }
  if (setup.expert > 1 && (setup.tensor > 1 || setup.pipeline > 1)) {
    throw ConfigError("expert: goes with neither tensor nor pipeline");
  }
  if (setup.expert > 1 && !shape.experts) {
    throw ConfigError("expert: is of models with experts");
  }
  if (setup.expert > 1 && setup.core != nullptr) {
    throw ConfigError(
        "expert: experts are spread over tiles, and over NPU cores with 'steps: whole'");
  }
  if (setup.expert > 1 && shape.experts->count % setup.expert != 0) {
    throw ConfigError("expert: " + std::to_string(shape.experts->count) +
                      " experts cannot be spread over " + std::to_string(setup.expert) + " NPUs");
  }
  if (setup.pipeline > shape.layers) {
    throw ConfigError("pipeline: more stages than layers (" + std::to_string(shape.layers) + ")");
  }
}

void refuse_shape(const LanguageSetup& setup) {
  const TransformerShape& shape = setup.shape;
  if (shape.architecture != workload::Architecture::decoder ||
      shape.head != workload::Head::language_model) {
    throw ConfigError("architecture: only decoders with a head of a language model generate text");
  }
  if (!has_mixing_layer(shape)) {
    throw ConfigError("pattern: no layer has a mixer, so that tokens would know of no others");
  }
  if (shape.ssm && setup.core != nullptr) {
    throw ConfigError(
        "pattern: state-space layers are served on tiles, and on NPU cores with 'steps: whole'");
  }
  const bool has_others =
      std::any_of(shape.pattern.begin(), shape.pattern.end(), [](const workload::LayerKind& kind) {
        return !kind.mlp || kind.mixer == workload::Mixer::ssm ||
               kind.mixer == workload::Mixer::none;
      });
  if (has_others && setup.adapter_slots > 0) {
    throw ConfigError("pattern: adapters are of models whose layers all have attention and an MLP");
  }
  if (shape.experts &&
      (shape.experts->loads != workload::ExpertLoads::even || !shape.experts->shares.empty())) {
    throw ConfigError("experts: tokens that are served spread evenly over experts");
  }
  if (shape.attention == workload::AttentionKind::eager) {
    throw ConfigError(
        "attention: served models compute attention in one kernel; eager is for plans");
  }
  if (shape.latent && setup.core != nullptr) {
    throw ConfigError(
        "latent: latent attention is served on tiles, and on NPU cores with 'steps: whole'");
  }
  if (shape.latent && setup.adapter_slots > 0) {
    throw ConfigError("latent: latent attention is served without adapters");
  }
  if (shape.experts && setup.adapter_slots > 0) {
    throw ConfigError("experts: models with experts are served without adapters");
  }
  if (shape.layers > most_layers) {
    throw ConfigError("layers: at most " + std::to_string(most_layers) +
                      " layers are served, and the model has " + std::to_string(shape.layers));
  }
  if (shape.sequence + setup.block > most_keys) {
    throw ConfigError("sequence: at most " + std::to_string(most_keys - setup.block) +
                      " tokens are served with blocks of " + std::to_string(setup.block) +
                      ", and the model has " + std::to_string(shape.sequence));
  }
}

// The hardest: all queries of a step against the longest sequence.
void refuse_small_core(const LanguageSetup& setup) {
  const TransformerShape& shape = setup.shape;
  npu::AttentionSpec spec;
  spec.heads = shape.heads / setup.tensor;
  spec.kv_heads = std::max<std::uint64_t>(1, shape.kv_heads / setup.tensor);
  spec.queries = std::min<std::uint64_t>({setup.tokens, most_queries, shape.sequence});
  spec.keys = quotient_up(shape.sequence, setup.block) * setup.block;
  spec.width = spec.value_width = shape.head_width;
  spec.append = spec.queries;
  spec.stored_keys = setup.stored_keys;
  spec.stored_values = setup.stored_values;
  if (npu::lower(spec, {*setup.core, setup.cores, shape.data_type}) == nullptr) {
    throw ConfigError("heads: attention of " + std::to_string(spec.queries) +
                      " tokens does not fit the scratchpad and accumulator of a core");
  }
}

}  // namespace

void refuse_unserved(const LanguageSetup& setup) {
  refuse_cuts(setup);
  refuse_shape(setup);
  if (setup.core != nullptr) {
    refuse_small_core(setup);
  }
}

}  // namespace tessera::serving
