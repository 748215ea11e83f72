#include "serving/tenant_settings.hpp"

#include <algorithm>
#include <string>

#include "serving/keys.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::sim {

using config::Section;
using executor::ServiceSettings;
using executor::ServingWork;
using serving::BatchOptions;

BatchOptions read_batching(Section section, bool of_language) {
  const ServedKeys& keys = served_keys();
  BatchOptions options;
  if (!of_language) {
    options.samples = keys.samples.read(section);
    return options;
  }
  options.continuous = keys.continuous.read(section);
  options.sequences = keys.sequences.read(section);
  options.tokens = keys.tokens.read(section);
  if (const auto chunk = keys.chunk.read(section)) {
    if (options.tokens != BatchOptions{}.tokens) {
      config::note_without_effect(section, "tokens", "chunk, which bounds a step");
    }
    options.chunk = *chunk;
    options.tokens = options.chunk;
  }
  options.block = keys.block.read(section);
  return options;
}

// Each token that goes in gives one that is right, at least.
void read_speculation(Section section, ServiceSettings& tenant, std::uint32_t expert) {
  const ServedKeys& keys = served_keys();
  tenant.batching.drafts = keys.drafts.read(section);
  tenant.batching.acceptance = keys.acceptance.read(section);
  tenant.draft = keys.draft.read(section);
  if (tenant.batching.drafts == 0) {
    if (tenant.batching.acceptance > 0) {
      config::note_without_effect(section, "acceptance", "tokens: 0");
    }
    if (tenant.draft > SimTime::zero()) {
      config::note_without_effect(section, "time", "tokens: 0");
    }
  }
  const std::uint64_t out = std::uint64_t{tenant.batching.sequences} * (1 + tenant.batching.drafts);
  const std::uint64_t most = std::uint64_t{serving::most_sequences} * expert;
  if (tenant.batching.drafts > 0 && out > most) {
    section.error("tokens",
                  std::to_string(tenant.batching.sequences) +
                      " sequences ('sequences' of batching) with their drafts are more than " +
                      std::to_string(most) + " tokens that come out of a step");
    tenant.batching.drafts = 0;
  }
}

executor::Targets read_targets(Section section, bool of_language) {
  executor::Targets targets;
  const ServedKeys& keys = served_keys();
  if (of_language) {
    targets.first_token = keys.first_token.read(section, SimTime::never());
    targets.between_tokens = keys.between_tokens.read(section, SimTime::never());
  }
  targets.latency = keys.latency.read(section, SimTime::never());
  return targets;
}

// Replicas that compute prompts alone, and how they hand over.
void check_prefill(const ServingWork& work, const ServiceSettings& tenant, Section& section) {
  if (tenant.prefill == 0) {
    if (tenant.by_layers) {
      config::note_without_effect(section, "handover", "replicas that all do the same");
    }
    return;
  }
  if (tenant.by_layers && work.whole_steps) {
    section.error("handover",
                  "layers are handed over by steps that are walked ('steps' of the "
                  "workload)");
  }
  if (!tenant.of_language || !work.on_tiles) {
    section.error("prefill", "is of language models on tiles of other compute models than npu");
  } else if (tenant.prefill >= tenant.replicas) {
    section.error("prefill", "of " + std::to_string(tenant.replicas) +
                                 " replicas, some must be left that generate");
  }
}

void read_scaling(Section& section, ServiceSettings& tenant) {
  if (!section.has("scaling")) {
    return;
  }
  const ServedKeys& keys = served_keys();
  Section scaling = section.section("scaling");
  tenant.scaling =
      executor::Scaling{keys.least.read(scaling), std::max(1U, keys.requests_each.read(scaling)),
                        keys.start_up.read(scaling), keys.idle.read(scaling)};
  if (tenant.prefill >= tenant.replicas) {
    return;  // which was complained of
  }
  const std::string all = tenant.prefill > 0 ? "replicas that generate" : "replicas";
  if (tenant.scaling->least > tenant.scaled()) {
    scaling.error("least", "more than the " + std::to_string(tenant.scaled()) + " " + all);
  }
  if (tenant.scaled() == 1) {
    section.error("scaling", "is of several " + all);
  } else if (tenant.scaling->least == tenant.scaled()) {
    config::note_without_effect(section, "scaling", "as many least as there are " + all);
  }
}

void note_router(Section& section, const ServiceSettings& tenant) {
  const std::uint32_t choices = tenant.prefill > 0 ? tenant.prefill : tenant.replicas;
  if (tenant.router != executor::Router::round_robin && choices == 1) {
    config::note_without_effect(section, "router", "one replica that requests go to");
  }
}

void check_length(const ServiceSettings& tenant, Section& section, std::uint32_t longest) {
  const serving::Request largest = tenant.requests->largest();
  const std::uint64_t tokens = std::uint64_t{largest.prompt} + largest.generate;
  if (tokens > longest) {
    section.error("requests", "a request may have " + std::to_string(tokens) +
                                  " tokens with those it generates; the model takes " +
                                  std::to_string(longest) + " (sequence)");
  }
}

void check_pieces(const ServiceSettings& tenant, Section& section) {
  const std::uint32_t tokens = tenant.requests->piece_tokens();
  if (tokens % tenant.batching.block != 0) {
    Section batching = section.section("batching");
    batching.error("block", "prompts have blocks of " + std::to_string(tokens) +
                                " tokens in common, which must be a multiple of it");
  }
}

}  // namespace tessera::sim
