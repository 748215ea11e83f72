#include "serving/tenant_settings.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "serving/keys.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::sim {

using config::Section;
using executor::Scaling;
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

namespace {

// A draft that is right comes out of the step that it went into, behind one token in any case.
void read_sequences(Section& batching, Section& speculation, ServiceSettings& tenant,
                    std::uint32_t expert) {
  const std::uint64_t most = std::uint64_t{serving::most_sequences} * expert;
  const std::uint32_t of_each = 1 + tenant.batching.drafts;
  const std::uint32_t without_drafts = BatchOptions{}.sequences;
  const auto usual =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(without_drafts, most / of_each));
  const bool is_given = batching.has("sequences");
  const std::uint32_t sequences = served_keys().sequences.read(batching, usual);
  tenant.batching.sequences = sequences;
  if (!is_given && usual < without_drafts) {
    batching.tell(batching.path() + ".sequences: " + std::to_string(usual) + " instead of " +
                  std::to_string(without_drafts) + ", as at most " + std::to_string(most) +
                  " tokens are generated in a step, " + std::to_string(of_each) +
                  " per sequence with its drafts");
  }
  if (tenant.batching.drafts > 0 && std::uint64_t{sequences} * of_each > most) {
    speculation.error("tokens", std::to_string(sequences) +
                                    " sequences ('sequences' of batching) with their drafts are "
                                    "more than " +
                                    std::to_string(most) + " tokens that come out of a step");
    tenant.batching.drafts = 0;
  }
}

}  // namespace

void read_speculation(Section section, Section& batching, ServiceSettings& tenant,
                      std::uint32_t expert) {
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
  read_sequences(batching, section, tenant, expert);
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
    section.error("prefill",
                  "is of language models on tiles of other compute models than npu, and on NPU "
                  "cores with 'steps: whole'");
  } else if (tenant.prefill >= tenant.replicas) {
    section.error("prefill", "of " + std::to_string(tenant.replicas) +
                                 " replicas, some must be left that generate");
  }
}

namespace {

// `scaling`: what stands in the section `own`, of so many replicas. `around`, `key`: what is
// complained of where none of them can come and go.
void check_scaling(Section& around, std::string_view key, Section& own, const Scaling& scaling,
                   std::uint32_t replicas, const std::string& all) {
  if (scaling.least > replicas) {
    own.error("least", "more than the " + std::to_string(replicas) + " " + all);
  }
  if (replicas == 1) {
    around.error(key, "is of several " + all);
  } else if (scaling.least == replicas) {
    config::note_without_effect(around, key, "'least' equal to the number of " + all);
  }
}

// Of replicas that compute prompts alone.
void read_prompt_scaling(Section& scaling, ServiceSettings& tenant, const Scaling& usual) {
  const ServedKeys& keys = served_keys();
  Section own = scaling.section("prefill");
  const Scaling read{keys.prompt_least.read(own), std::max(1U, keys.prompt_requests.read(own)),
                     keys.prompt_start_up.read(own, usual.start_up),
                     keys.prompt_idle.read(own, usual.idle)};
  if (tenant.prefill == 0) {
    scaling.error("prefill", "the tenant has no replicas that compute prompts alone ('prefill')");
    return;
  }
  tenant.prompt_scaling = read;
  check_scaling(scaling, "prefill", own, read, tenant.prefill, "replicas that compute prompts");
}

// Of prompts alone: times of `scaling` that replicas for prompts have others for.
void note_usual_times(Section& scaling, const ServiceSettings& tenant, const Scaling& usual) {
  if (!tenant.prompt_scaling) {
    return;
  }
  const auto note = [&](std::string_view key, SimTime time, SimTime of_prompts) {
    if (time > SimTime::zero() && time != of_prompts) {
      config::note_without_effect(scaling, key, "another of 'prefill' and without 'requests'");
    }
  };
  note("start_up", usual.start_up, tenant.prompt_scaling->start_up);
  note("idle", usual.idle, tenant.prompt_scaling->idle);
}

}  // namespace

void read_scaling(Section& section, ServiceSettings& tenant) {
  if (!section.has("scaling")) {
    return;
  }
  const ServedKeys& keys = served_keys();
  Section scaling = section.section("scaling");
  const bool is_of_prompts = scaling.has("prefill");
  const bool is_of_others = !is_of_prompts || scaling.has("requests") || scaling.has("least");
  Scaling read;
  if (is_of_others) {
    read.least = keys.least.read(scaling);
    read.requests = std::max(1U, keys.requests_each.read(scaling));
  }
  read.start_up = keys.start_up.read(scaling);
  read.idle = keys.idle.read(scaling);
  if (is_of_prompts) {
    read_prompt_scaling(scaling, tenant, read);
  }
  if (!is_of_others) {
    note_usual_times(scaling, tenant, read);
    return;
  }
  tenant.scaling = read;
  if (tenant.prefill >= tenant.replicas) {
    return;  // which was complained of
  }
  check_scaling(is_of_prompts ? scaling : section, is_of_prompts ? "requests" : "scaling", scaling,
                read, tenant.scaled(), tenant.prefill > 0 ? "replicas that generate" : "replicas");
}

void note_router(Section& section, const ServiceSettings& tenant) {
  const std::uint32_t choices = tenant.prefill > 0 ? tenant.prefill : tenant.replicas;
  if (tenant.router != executor::Router::round_robin && choices == 1) {
    config::note_without_effect(section, "router", "a single replica that receives requests");
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
