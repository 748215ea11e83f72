#include "zero.hpp"

#include <limits>
#include <string>

#include "tessera/config/key.hpp"

namespace tessera::plan {
namespace {

using config::ChoiceKey;
using config::counted_in;
using config::Key;
using Count = std::uint32_t;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

const Key<Count> zero{"zero", 0,
                      "what is sharded over the replicas: 1: optimizer state; 2: also gradients; "
                      "3: also weights",
                      config::between(0U, 3U)};
const Key<Count> shard = counted_in(
    "replicas", Key<Count>("shard", 0,
                           "replicas (of data * context) in a sharding group of zero; gradients "
                           "are also summed over the groups (hybrid sharding); 0: all",
                           config::between<Count>(0, std::numeric_limits<std::int32_t>::max())));
const ChoiceKey<ShardMembers> shard_members{
    "shard_members",
    {{"near", ShardMembers::near}, {"across", ShardMembers::across}},
    Strategy{}.shard_members,
    "members of a group of shard: near: consecutive replicas (a server); across: replicas whose "
    "distance is the number of groups (the same position in each server: a rail)"};
const ChoiceKey<Prefetch> prefetch{
    "prefetch",
    {{"both", Prefetch::both}, {"forward", Prefetch::forward}, {"none", Prefetch::none}},
    Strategy{}.prefetch,
    "with zero 3: passes that gather a layer's weights while the layer before it is computed: "
    "both, forward or none; in other passes the gather begins when that layer has ended"};
const Key<Count> prefetch_layers = counted_in(
    "layers",
    Key<Count>("prefetch_layers", Strategy{}.prefetch_layers,
               "with prefetch and gather layer: layers whose weights are gathered or in flight "
               "while one is computed; 1 is the bound of FSDP's limit_all_gathers",
               config::between<Count>(1, most_layers_ahead)));
const ChoiceKey<Scatter> scatter{
    "scatter",
    {{"each", Scatter::each}, {"run", Scatter::run}},
    Strategy{}.scatter,
    "with zero 2 and 3: each: gradients are scattered after each micro-batch; run: accumulated "
    "whole over consecutive micro-batches of a chunk (interleaved: as many as stages), then "
    "scattered"};
const ChoiceKey<GatherUnit> gather{
    "gather",
    {{"layer", GatherUnit::layer}, {"operator", GatherUnit::operators}},
    Strategy{}.gather,
    "with zero 3: weights are gathered by layer (FSDP) or by operator (DeepSpeed's parameters), "
    "each in its own collective"};
const Key<std::int64_t> keep_below =
    counted_in("parameters",
               Key<std::int64_t>("keep_below", 0,
                                 "with gather operator: operators with fewer parameters are kept "
                                 "on every replica and not gathered",
                                 config::at_least<std::int64_t>(0)));
const Key<std::int64_t> reuse_distance = counted_in(
    "parameters",
    Key<std::int64_t>("reuse_distance", unlimited,
                      "with gather operator: operators with more parameters than this between "
                      "recomputation and backward pass are gathered for each of the two",
                      config::at_least<std::int64_t>(0)));
const Key<double> list_copies{
    "list_copies", 0,
    "with gather operator: memory traffic for each byte of weights gathered and gradients "
    "reduced, where a framework copies between tensors and communication buffers",
    config::between(0.0, 100.0)};

const Key<bool> keep_apart{
    "keep_apart", false,
    "with keep_below: gradients of what is kept are reduced tensor by tensor; each replica "
    "updates a part, and then all of it is gathered and copied tensor by tensor"};
const Key<double> gradient_copies{
    "gradient_copies", 0,
    "with zero 2 and 3: memory traffic for each byte of gradients before they are reduced, where "
    "a framework joins them in one buffer",
    config::between(0.0, 100.0)};

void read_shard(config::Section& section, Strategy& strategy) {
  strategy.shard = shard.read(section);
  strategy.shard_members = shard_members.read(section);
  const std::uint32_t replicas = strategy.degrees.data;
  if (strategy.shard == 0) {
    return;
  }
  std::string fault;
  if (replicas % strategy.shard != 0) {
    fault = std::to_string(strategy.shard) +
            " does not divide data * context = " + std::to_string(replicas);
  } else if (strategy.zero == 0) {
    fault = "is of 'zero: 1' to 'zero: 3', which share something out";
  } else if (strategy.expert > 1) {
    fault = "hybrid sharding is not modelled where replicas share out experts";
  }
  if (!fault.empty()) {
    section.error("shard", fault);
    strategy.shard = 0;
  }
}

}  // namespace

std::vector<ParameterInfo> zero_parameters() {
  return {zero,   shard,      shard_members,  prefetch,    prefetch_layers, scatter,
          gather, keep_below, reuse_distance, list_copies, keep_apart,      gradient_copies};
}

void read_zero(config::Section& section, Strategy& strategy) {
  strategy.zero = zero.read(section);
  read_shard(section, strategy);
  strategy.prefetch = prefetch.read(section);
  strategy.scatter = scatter.read(section);
  strategy.gather = gather.read(section);
  strategy.gradient_copies = gradient_copies.read(section);
  if (strategy.gather == GatherUnit::operators) {
    if (strategy.scatter == Scatter::run) {
      section.error(scatter.key(), "run is only for 'gather: layer'");
    }
    strategy.keep_below = static_cast<std::uint64_t>(keep_below.read(section));
    strategy.reuse_distance = static_cast<std::uint64_t>(reuse_distance.read(section));
    strategy.list_copies = list_copies.read(section);
    strategy.keep_apart = keep_apart.read(section);
    if (section.has(prefetch_layers.key())) {
      section.raw(prefetch_layers.key());
      section.error(prefetch_layers.key(), "is only for 'gather: layer'");
    }
    return;
  }
  strategy.prefetch_layers = prefetch_layers.read(section);
  for (const char* key : {"keep_below", "reuse_distance", "list_copies", "keep_apart"}) {
    if (section.has(key)) {
      section.raw(key);
      section.error(key, "is only for 'gather: operator'");
    }
  }
}

}  // namespace tessera::plan
