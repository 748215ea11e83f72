// Keys of services that have no effect are noted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "files.hpp"
#include "fleet.hpp"
#include "run_on.hpp"

namespace tessera::sim::served_keys_test {
namespace {

using fleet::experiment_of;
using fleet::mesh;
using fleet::remote;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::read;
using testing::run_on;

// They had been read without a word.
TEST(ServedKeys, WithoutEffectAreNoted) {
  const auto notes = [](const std::string& keys, const std::string& machine = mesh) {
    const std::string requests =
        "      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, generate: 3}]}\n";
    return read(experiment_of(machine, requests + keys)).notes;
  };
  EXPECT_THAT(notes(""), IsEmpty());
  EXPECT_THAT(notes("      batching: {chunk: 128}\n"), IsEmpty());
  EXPECT_THAT(notes("      batching: {tokens: 64, chunk: 128}\n"),
              ElementsAre(HasSubstr("batching.tokens has no effect with chunk")));
  EXPECT_THAT(notes("      speculation: {acceptance: 0.5, time: 1 us}\n"),
              ElementsAre(HasSubstr("speculation.acceptance has no effect with tokens: 0"),
                          HasSubstr("speculation.time has no effect with tokens: 0")));
  EXPECT_THAT(notes("      speculation: {tokens: 2, acceptance: 0.5, time: 1 us}\n"), IsEmpty());
  EXPECT_THAT(notes("      router: least-work\n"),
              ElementsAre(HasSubstr("router has no effect with a single replica")));
  EXPECT_THAT(notes("      replicas: 2\n      router: least-work\n"), IsEmpty());
  EXPECT_THAT(notes("      replicas: 2\n      scaling: {least: 2, requests: 4}\n"),
              ElementsAre(HasSubstr("scaling has no effect with 'least' equal")));
  // Replicas share the host's links, which whole steps do not.
  const auto of_run = [](const std::string& steps) {
    const std::string two =
        "      replicas: 2\n      requests: {arrivals: fixed, count: 2, prompt: 8, generate: 2}\n";
    return run_on(1, experiment_of(mesh, two, steps)).notes;
  };
  EXPECT_THAT(of_run("whole"), Contains(HasSubstr("steps are whole")));
  EXPECT_THAT(of_run("walked"), Not(Contains(HasSubstr("steps are whole"))));
  const std::string tier = "      batching: {cache: 64 KiB, tier: {capacity: 32 KiB, swap: false";
  const std::string machine = mesh + remote("10 GB/s", "1 us");
  EXPECT_THAT(notes(tier + "}}\n", machine), IsEmpty());
  EXPECT_THAT(notes(tier + ", prefixes: false}}\n", machine),
              ElementsAre(HasSubstr("batching.tier has no effect with swap: false")));
}

// 256 had been refused, though nobody had asked for them.
TEST(ServedKeys, AsManySequencesRunAsStepsHaveRoomForWithDrafts) {
  const std::string requests =
      "      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, generate: 3}]}\n";
  const auto with = [&](const std::string& keys) {
    return read(experiment_of(mesh, requests + "      speculation: {tokens: 4}\n" + keys));
  };
  EXPECT_THAT(with("").notes,
              ElementsAre(HasSubstr("batching.sequences: 204 instead of 256, as at most 1024 "
                                    "tokens are generated in a step, 5 per sequence")));
  EXPECT_THAT(with("      batching: {sequences: 204}\n").notes, IsEmpty());
  EXPECT_THROW(with("      batching: {sequences: 205}\n"), ConfigError);
  Files files =
      experiment_of(mesh, requests + "      speculation: {tokens: 3}\n");  // 256 of 4 each
  EXPECT_THAT(read(files).notes, IsEmpty());
}

TEST(ServedKeys, AllReducesOfLayersOnOneNpuAreNoted) {
  const auto notes = [](const std::string& algorithm, const std::string& keys) {
    Files files = experiment_of(
        mesh, "      requests: {arrivals: fixed, count: 2, prompt: 8, generate: 2}\n" + keys);
    std::string& text = files.at("lab/experiment.yaml");
    const std::string kind = "kind: serving\n";
    text.replace(text.find(kind), kind.size(), kind + "  all_reduce: " + algorithm + "\n");
    return read(files).notes;
  };
  EXPECT_THAT(notes("direct", ""),
              ElementsAre("workload.all_reduce has no effect with models whose layers are each on "
                          "one NPU"));
  EXPECT_THAT(notes("ring", ""), IsEmpty());
  EXPECT_THAT(notes("direct", "      tensor: 2\n"), IsEmpty());
}

TEST(ServedKeys, SeedsOfWhatIsNotDrawnAreNoted) {
  const auto notes = [](const std::string& requests, const std::string& more = "") {
    Files files = experiment_of(mesh, "      requests: {" + requests + "}\n" + more);
    std::string& text = files.at("lab/experiment.yaml");
    const std::string kind = "kind: serving\n";
    text.replace(text.find(kind), kind.size(), kind + "  seed: 2\n");
    return read(files).notes;
  };
  const auto says_so =
      ElementsAre("workload.seed has no effect with requests without random draws");
  EXPECT_THAT(notes("arrivals: list, list: [{at: 0 us, prompt: 64, generate: 3}]"), says_so);
  EXPECT_THAT(notes("arrivals: fixed, count: 2, prompt: 8, generate: 2"), says_so);
  EXPECT_THAT(notes("arrivals: fixed, count: 2, prompt: 8, generate: [2, 3]"), IsEmpty());
  EXPECT_THAT(notes("arrivals: poisson, rate: 100, count: 2, prompt: 8, generate: 2"), IsEmpty());
  const std::string closed = "arrivals: closed, count: 2, prompt: 8, generate: 2, think: 1 us";
  EXPECT_THAT(notes(closed), IsEmpty());
  EXPECT_THAT(notes(closed + ", think_times: fixed"), says_so);
  const std::string fixed = closed + ", think_times: fixed, prefix: {tokens: 8, count: ";
  EXPECT_THAT(notes(fixed + "1}"), says_so);
  EXPECT_THAT(notes(fixed + "2}"), IsEmpty());
}

// Types of what a model does not have, and those that others stand in for.
TEST(ServedKeys, TypesWithoutEffectAreNoted) {
  const auto notes = [](const std::string& model, const std::string& keys) {
    Files files = experiment_of(
        mesh,
        "      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, generate: 3}]}\n" + keys);
    std::string& text = files.at("lab/experiment.yaml");
    const std::string last = "tie_embeddings: false";
    text.replace(text.find(last), last.size(), last + model);
    return read(files).notes;
  };
  const std::string fp8 = ": {type: fp8}";
  EXPECT_THAT(notes("", "      weights: {mlp" + fp8 + ", attention" + fp8 + "}\n"), IsEmpty());
  EXPECT_THAT(notes("", "      weights: {type: fp8, mlp" + fp8 + "}\n"), IsEmpty());
  EXPECT_THAT(notes("", "      weights: {router" + fp8 + ", experts" + fp8 + "}\n"),
              ElementsAre(HasSubstr("weights.experts has no effect with a model without experts"),
                          HasSubstr("weights.router has no effect with a model without experts")));
  EXPECT_THAT(notes("", "      weights: {type: fp8, attention" + fp8 + ", mlp" + fp8 + "}\n"),
              ElementsAre(HasSubstr("weights.type has no effect with separate types for all")));
  const std::string experts = ", experts: {count: 4, top_k: 2, every: 1}";
  const std::string mlp = "      weights: {mlp" + fp8 + "}\n";
  EXPECT_THAT(notes(experts, mlp),
              ElementsAre(HasSubstr("weights.mlp has no effect with a model whose layers have no "
                                    "dense MLP")));
  EXPECT_THAT(notes(", experts: {count: 4, top_k: 2, every: 2}", mlp), IsEmpty());
  EXPECT_THAT(notes(", experts: {count: 4, top_k: 2, shared: 1}", mlp), IsEmpty());
  const auto given = [&](const std::string& weights) {
    return notes("", "      weights: {" + weights + "}\n");
  };
  const std::string both = "mlp_up" + fp8 + ", mlp_down: {type: fp6}";
  EXPECT_THAT(given(both + ", word_embedding" + fp8 + ", lm_head" + fp8), IsEmpty());
  EXPECT_THAT(given("type: fp8, " + both + ", qkv: {type: int4}"), IsEmpty());
  EXPECT_THAT(given("type: fp8, kv_up: {type: int4}"),
              ElementsAre(HasSubstr("weights.kv_up has no effect with a model without that "
                                    "operator")));
  EXPECT_THAT(
      given(both + ", mlp" + fp8),
      ElementsAre(HasSubstr("weights.mlp has no effect with separate types for all its products")));
  EXPECT_THAT(given("head" + fp8 + ", lm_head: {type: int4}"),
              ElementsAre(HasSubstr("weights.head has no effect with separate types")));
  EXPECT_THAT(given("type: fp8, attention" + fp8 + ", " + both),
              ElementsAre(HasSubstr("weights.type has no effect with separate types for all")));
  const auto cache = [&](const std::string& types) {
    return notes("", "      batching: {" + types + "}\n");
  };
  EXPECT_THAT(cache("cache_type: fp8, key_type: int8, value_type: fp8"),
              ElementsAre(HasSubstr("batching.cache_type has no effect with both key_type and "
                                    "value_type")));
  EXPECT_THAT(cache("cache_type: fp8, key_type: int8"), IsEmpty());
  EXPECT_THAT(cache("key_type: int8, value_type: fp8"), IsEmpty());
  EXPECT_THAT(cache("cache_type: int4, cache_group_size: 32, cache_scale: 4 B"), IsEmpty());
  EXPECT_THAT(cache("cache_group_size: 32"),
              ElementsAre(HasSubstr("batching.cache_group_size has no effect with a cache in the "
                                    "type that the model computes in")));
}

// Keys of models that only plans go by, and rooms of experts, whose tokens come as they do.
TEST(ServedKeys, OfModelsThatOnlyPlansGoByAreNoted) {
  const auto served = [](const std::string& model) {
    Files files = experiment_of(
        mesh, "      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, generate: 3}]}\n");
    std::string& text = files.at("lab/experiment.yaml");
    const std::string last = "tie_embeddings: false";
    text.replace(text.find(last), last.size(), last + model);
    return read(files);
  };
  const auto expect_unused = [&](const std::string& usual, const std::string& key,
                                 const std::string& value, const std::string& with) {
    const Experiment without = served(usual);
    const Experiment set = served(usual + ", " + key + ": " + value);
    EXPECT_THAT(without.notes, IsEmpty());
    EXPECT_THAT(set.notes, ElementsAre(HasSubstr("model." + key + " has no effect with " + with)));
    EXPECT_EQ(run_on(1, set).result_digest, run_on(1, without).result_digest) << key;
  };
  for (const auto& [key, value] :
       {std::pair("mode", "training"), std::pair("optimizer", "sgd"), std::pair("update", "eager"),
        std::pair("gradient_type", "fp32"), std::pair("master_type", "fp32"),
        std::pair("moment_type", "bf16"), std::pair("loss", "fused"),
        std::pair("loss_metrics", "2")}) {
    expect_unused("", key, value, "requests");
  }
  expect_unused("", "attention", "flash", "requests and causal: false");
  EXPECT_THAT(served(", attention: flash, causal: true").notes, IsEmpty());
  const auto notes_of_room = [&](const std::string& room) {
    return served(", experts: {count: 4, top_k: 2, room: " + room + "}").notes;
  };
  const std::string as_they_come =
      " has no effect with requests, whose tokens experts take as they";
  EXPECT_THAT(notes_of_room("padded"), IsEmpty());
  EXPECT_THAT(notes_of_room("unlimited"), ElementsAre(HasSubstr("experts.room" + as_they_come)));
  EXPECT_THAT(notes_of_room("dropped, capacity_factor: 2"),
              ElementsAre(HasSubstr("experts.capacity_factor" + as_they_come),
                          HasSubstr("experts.room" + as_they_come)));
}

TEST(ServedKeys, TimesOfClientsThatDoNotThinkAreNoted) {
  const auto notes = [](const std::string& think) {
    return read(experiment_of(mesh,
                              "      requests: {arrivals: closed, count: 2, prompt: 8, generate: "
                              "2, think_times: fixed" +
                                  think + "}\n"))
        .notes;
  };
  EXPECT_THAT(notes(""), ElementsAre(HasSubstr("think_times has no effect with think: 0")));
  EXPECT_THAT(notes(", think: 1 us"), IsEmpty());
}

TEST(ServedKeys, PoliciesOfTenantsThatShareNoTileAreNoted) {
  const auto with = [](const std::string& npus, const std::string& policy) {
    const std::string requests =
        "      requests: {arrivals: fixed, count: 4, prompt: 8, generate: 8}\n";
    return read(experiment_of(mesh, requests +
                                        "      npus: [0, 1]\n      tensor: 2\n"
                                        "    - name: other\n      language_model: {layers: 2, "
                                        "hidden: 64, heads: 4, sequence: 512, vocabulary: 64}\n" +
                                        requests + "      npus: " + npus +
                                        "\n      tensor: 2\n  scheduler: {policy: " + policy +
                                        "}\n"));
  };
  const Experiment apart = with("[2, 3]", "time-sharing");
  const Experiment usual = with("[2, 3]", "first-come");
  EXPECT_THAT(apart.notes, ElementsAre("workload.scheduler.policy has no effect with tenants on "
                                       "NPUs of their own"));
  EXPECT_THAT(usual.notes, IsEmpty());
  EXPECT_EQ(run_on(1, apart).result_digest, run_on(1, usual).result_digest);
  EXPECT_THAT(with("[1, 2]", "time-sharing").notes, IsEmpty());
}

}  // namespace
}  // namespace tessera::sim::served_keys_test
