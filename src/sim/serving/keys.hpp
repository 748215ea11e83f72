// Keys of the workload `serving` and of served models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/npu/stored_weights.hpp"
#include "tessera/serving/batcher.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/serving/policy.hpp"

namespace tessera::sim {

struct ServingKeys {
  config::Key<std::int64_t> seed{"seed", 1, "seed of random arrivals and lengths",
                                 config::at_least<std::int64_t>(0)};
  config::Key<Bytes> message{"message", executor::ServingWork{}.message,
                             "size of a control message: two begin a core's share of an "
                             "operator, one ends it; on tiles six begin a step, one ends it",
                             config::between(Bytes(1), Bytes(1U << 30U))};
  config::NameKey all_reduce{"all_reduce", [] { return collective::algorithms().names(); }, "ring",
                             "all-reduce algorithm between NPUs"};
  config::NameKey policy{"scheduler.policy", [] { return serving::policies().names(); },
                         "first-come", "how served models share cores"};
  config::ChoiceKey<bool> steps{
      "steps",
      {{"walked", false}, {"whole", true}},
      "walked",
      "whole: a step is one event that takes as long as its operators and exchanges without "
      "contention"};
  config::OtherKey tenants{"tenants", "list", "", "the served models, each with its requests"};
};

// Types that a model computes in, those that numbers are stored in alone, and the word for neither.
inline std::vector<std::string> cache_type_names(const std::string& usual) {
  std::vector<std::string> names = data_type_names();
  for (const std::string& stored : npu::stored_type_names()) {
    if (std::find(names.begin(), names.end(), stored) == names.end()) {
      names.push_back(stored);
    }
  }
  names.push_back(usual);
  return names;
}

struct ServedKeys {
  config::DerivedKey<std::string> name{"name", "kind and place",
                                       "name of the served model, without commas and slashes"};
  config::OtherKey language_model{"language_model", "mapping or file", "none",
                                  "keys of the workload transformer"};
  config::NameKey language_kind{
      "language_model.kind", [] { return std::vector<std::string>{"transformer"}; }, "transformer",
      "kind, as in a workload, so that the file of a workload can be named"};
  config::OtherKey onnx{"onnx", "mapping", "none", "keys of an ONNX model, and data_type"};
  config::NameKey onnx_type{"onnx.data_type",
                            [] {
                              std::vector<std::string> names = data_type_names();
                              names.emplace_back("model");
                              return names;
                            },
                            "model", "type of floating-point numbers; model: as in the model"};
  config::Key<std::string> onnx_batch{"onnx.batch", "",
                                      "name of the model's dimension for the samples of a batch"};
  config::Key<bool> continuous{"batching.continuous", serving::BatchOptions{}.continuous,
                               "true: requests join and leave from step to step; false: batch by "
                               "batch"};
  config::DerivedKey<std::uint32_t> sequences{
      "batching.sequences", "256, or the most that fit with their drafts",
      "maximum number of sequences that run at a time; 1024 on each NPU of 'expert'",
      config::between(1U, 64 * serving::most_sequences)};
  config::Key<std::uint32_t> tokens{"batching.tokens", serving::BatchOptions{}.tokens,
                                    "maximum number of tokens in a step",
                                    config::between(1U, serving::most_tokens)};
  config::OptionalKey<std::uint32_t> chunk{
      "batching.chunk", "none",
      "tokens of a step in which parts of prompts run; none: prompts run whole",
      config::between(1U, serving::most_tokens)};
  config::Key<std::uint32_t> block{"batching.block", serving::BatchOptions{}.block,
                                   "tokens in a block of the cache", config::between(1U, 4096U)};
  config::OptionalKey<Bytes> cache{"batching.cache", "memory left by weights",
                                   "capacity for keys and values on each NPU",
                                   config::at_least(Bytes(1))};
  config::NameKey cache_type{"batching.cache_type", [] { return cache_type_names("model"); },
                             "model",
                             "type of keys and values in the cache, widened when read; model: "
                             "the type in which the model computes"};
  config::NameKey key_type{"batching.key_type", [] { return cache_type_names("cache"); }, "cache",
                           "type of the keys alone; cache: as cache_type"};
  config::NameKey value_type{"batching.value_type", [] { return cache_type_names("cache"); },
                             "cache", "type of the values alone; cache: as cache_type"};
  config::OptionalKey<std::uint64_t> cache_group{
      "batching.cache_group_size", "none",
      "elements of a token's keys, or values, that share a scale; none: scales are not counted",
      config::between<std::uint64_t>(1, npu::longest_scale_group)};
  config::Key<Bytes> cache_scale{"batching.cache_scale", Bytes(2),
                                 "size of the scale of a group, including its zero point",
                                 config::between(Bytes(1), Bytes(1 << 20))};
  config::NameKey state_type{
      "batching.state_type",
      [] {
        std::vector<std::string> names = data_type_names();
        names.emplace_back("model");
        return names;
      },
      "model",
      "type of the states of state-space layers in the cache; model: the type in which the model "
      "computes"};
  config::Key<SimTime> host{"batching.host", SimTime::zero(),
                            "host time before each step: choosing requests, inputs, sampling, "
                            "outputs",
                            config::at_least(SimTime::zero())};
  config::Key<std::uint32_t> drafts{"speculation.tokens", 0,
                                    "tokens that a draft proposes for each generating sequence",
                                    config::between(0U, 64U)};
  config::Key<double> acceptance{"speculation.acceptance", 0.0,
                                 "probability that a proposed token is correct",
                                 config::between(0.0, 1.0)};
  config::Key<SimTime> draft{"speculation.time", SimTime::zero(),
                             "time that the draft takes for a token of all sequences",
                             config::at_least(SimTime::zero())};
  config::Key<std::uint32_t> samples{"batching.samples", serving::BatchOptions{}.samples,
                                     "maximum number of samples in a step of a model other than "
                                     "a language model",
                                     config::between(1U, 65'536U)};
  config::Key<std::uint32_t> tensor{"tensor", serving::LanguageSetup{}.tensor,
                                    "NPUs that share each layer", config::between(1U, 4096U)};
  config::Key<std::uint32_t> pipeline{"pipeline", serving::LanguageSetup{}.pipeline,
                                      "pipeline stages, each of 'tensor' NPUs",
                                      config::between(1U, 4096U)};
  config::Key<std::uint32_t> expert{
      "expert", serving::LanguageSetup{}.expert,
      "NPUs over which experts are spread, each with its own sequences",
      config::between(1U, 4096U)};
  config::Key<std::uint32_t> replicas{
      "replicas", executor::ServiceSettings{}.replicas,
      "replicas of the model, each on its own NPUs, for the same requests; where steps are "
      "walked, 64 of all models",
      config::between(1U, static_cast<std::uint32_t>(executor::most_tenants))};
  config::ChoiceKey<executor::Router> router{
      "router",
      {{"round-robin", executor::Router::round_robin},
       {"least-work", executor::Router::least_work},
       {"prefix", executor::Router::prefix}},
      executor::ServiceSettings{}.router,
      "how requests are sent to replicas: round-robin: in turn; least-work: to the one whose "
      "unfinished requests have the fewest prompt tokens; prefix: the same plus the request's "
      "own, less the prefix that it shares with requests sent there before"};
  config::Key<std::uint32_t> least{
      "scaling.least", executor::Scaling{}.least,
      "minimum number of replicas, which are always on; others are started and stopped with the "
      "number of requests",
      config::between(1U, static_cast<std::uint32_t>(executor::most_tenants))};
  config::RequiredKey<std::uint32_t> requests_each{
      "scaling.requests",
      "unfinished requests for each replica: if there are more, replicas are started; with "
      "'prefill' in 'scaling' it may be left out, and generating replicas are then always on",
      config::between(1U, 1U << 20)};
  config::Key<SimTime> start_up{"scaling.start_up", SimTime::zero(),
                                "time from the start of a replica to the first request that it "
                                "accepts",
                                config::at_least(SimTime::zero())};
  config::Key<SimTime> idle{"scaling.idle", SimTime::zero(),
                            "time for which fewer replicas must suffice, without a break, before "
                            "some are stopped",
                            config::at_least(SimTime::zero())};
  config::Key<std::uint32_t> prompt_least{
      "scaling.prefill.least", executor::Scaling{}.least,
      "minimum number of replicas that compute prompts, which are always on",
      config::between(1U, static_cast<std::uint32_t>(executor::most_tenants) - 1)};
  config::RequiredKey<std::uint32_t> prompt_requests{
      "scaling.prefill.requests",
      "requests with a prompt not yet computed or handed over, for each replica that computes "
      "prompts",
      config::between(1U, 1U << 20)};
  config::DerivedKey<SimTime> prompt_start_up{
      "scaling.prefill.start_up", "that of scaling",
      "time from the start of a replica to the first prompt that it accepts",
      config::at_least(SimTime::zero())};
  config::DerivedKey<SimTime> prompt_idle{
      "scaling.prefill.idle", "that of scaling",
      "time for which fewer replicas must suffice for prompts, without a break, before some are "
      "stopped",
      config::at_least(SimTime::zero())};
  config::Key<std::uint32_t> prefill{
      "prefill", 0,
      "number of replicas, the first ones, that compute only prompts; the others generate, with "
      "keys and values sent over the network; 0: all do both",
      config::between(0U, static_cast<std::uint32_t>(executor::most_tenants) - 1)};
  config::ChoiceKey<bool> handover{
      "handover",
      {{"whole", false}, {"layers", true}},
      "whole",
      "when keys and values are sent with 'prefill': whole: once a prompt is computed; layers: "
      "each layer's while later layers are computed, where steps are walked"};
  config::Key<double> price{"price", 0, "price of an NPU per hour, in any currency",
                            config::between(0.0, 1e9)};
  config::OtherKey npus{"npus", "list of integer", "from 0 on",
                        "NPUs on which the model runs, replica by replica and stage by stage"};
  config::OtherKey cores{"cores", "text", "an equal share",
                         "cores FIRST-LAST of an NPU, for the policy spatial"};
  config::DerivedKey<SimTime> first_token{"target.first_token", "none",
                                          "target for the time from arrival to the first token",
                                          config::at_least(SimTime::from_ps(1))};
  config::DerivedKey<SimTime> between_tokens{"target.between_tokens", "none",
                                             "target for the mean time between tokens",
                                             config::at_least(SimTime::from_ps(1))};
  config::DerivedKey<SimTime> latency{"target.latency", "none",
                                      "target for the time from arrival to end",
                                      config::at_least(SimTime::from_ps(1))};
  config::Key<bool> background{"background", false,
                               "requests are sent until all other tenants are served"};

  // Of what the model is, and of all beside it, but for those of classes, tiers, adapters and
  // stored weights.
  std::vector<ParameterInfo> of_model() const {
    return {language_model, language_kind, onnx, onnx_type, onnx_batch};
  }
  std::vector<ParameterInfo> beside_model() const {
    const ParameterInfo each = config::where_used(requests_each);
    return {name,
            continuous,
            sequences,
            tokens,
            chunk,
            block,
            cache,
            cache_type,
            key_type,
            value_type,
            cache_group,
            cache_scale,
            state_type,
            host,
            samples,
            drafts,
            acceptance,
            draft,
            tensor,
            pipeline,
            expert,
            replicas,
            router,
            prefill,
            handover,
            npus,
            cores,
            first_token,
            between_tokens,
            latency,
            background,
            price,
            least,
            each,
            start_up,
            idle,
            prompt_least,
            prompt_requests,
            prompt_start_up,
            prompt_idle};
  }
};

// Of a machine with so many computing nodes.
inline config::DerivedKey<std::uint32_t> npu_cores_key(std::uint32_t most) {
  return {"npu_cores", "all; 1 on tiles with other compute models than npu",
          "cores of an NPU: this many consecutive computing nodes", config::between(1U, most)};
}

// The same of any machine.
ParameterInfo any_npu_cores();
// Of one that requests are to, but for those of its model and of its requests.
std::vector<ParameterInfo> keys_beside_models();

// Made when they are first asked for: tables in other files have them before main.
const ServingKeys& serving_keys();
const ServedKeys& served_keys();

}  // namespace tessera::sim
