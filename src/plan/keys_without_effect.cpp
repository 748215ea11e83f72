#include "keys_without_effect.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/config/without_effect.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {
namespace {

using config::note_without_effect;
using config::Section;

bool has_experts(const workload::Workload& workload) {
  return std::any_of(
      workload.layers.begin(), workload.layers.end(), [](const workload::Layer& layer) {
        return std::any_of(layer.operators.begin(), layer.operators.end(),
                           [](const workload::Operator& op) { return op.experts > 0; });
      });
}

// What the groups are for whose degree is 1, and what is of training.
void note_degrees(Section& section, const workload::Workload& workload, const Strategy& strategy) {
  const bool alone = strategy.degrees.tensor == 1;
  const std::array<std::pair<std::string_view, bool>, 3> of_tensor{
      {{"sequence_parallel", strategy.sequence_parallel},
       {"overlap_tensor", strategy.overlap_tensor},
       {"async_tensor", strategy.async_tensor}}};
  for (const auto& [key, is_set] : of_tensor) {
    if (is_set && alone) {
      note_without_effect(section, key, "tensor: 1");
    }
  }
  if (strategy.async_tensor && !alone && !strategy.sequence_parallel) {
    note_without_effect(section, "async_tensor", "sequence_parallel: false");
  }
  if (strategy.expert > 1 && !has_experts(workload)) {
    note_without_effect(section, "expert", "work without experts");
  }
  if (strategy.degrees.data == 1) {
    if (strategy.zero > 0) {
      note_without_effect(section, "zero", "data: 1");
    }
    if (strategy.overlap_gradients) {
      note_without_effect(section, "overlap_gradients", "data: 1");
    }
  }
}

// What parts of a tensor group send each other's stage.
void note_boundary(Section& section, const Strategy& strategy) {
  if (strategy.boundary == Boundary::full) {
    return;
  }
  if (strategy.degrees.pipeline == 1) {
    note_without_effect(section, "boundary", "pipeline: 1");
  } else if (strategy.degrees.tensor == 1) {
    note_without_effect(section, "boundary", "tensor: 1");
  } else if (strategy.sequence_parallel) {  // tensors are cut already
    note_without_effect(section, "boundary", "sequence_parallel: true");
  }
}

// What selective recomputation drops.
bool has_cheap_work(const workload::Workload& workload) {
  return std::ranges::any_of(workload.layers, [](const workload::Layer& layer) {
    return std::ranges::any_of(layer.operators, &workload::Operator::recomputed_selectively);
  });
}

void note_recomputation(Section& section, const workload::Workload& workload,
                        const Strategy& strategy) {
  if (workload.training && strategy.recompute == Recompute::selective &&
      !has_cheap_work(workload)) {
    note_without_effect(
        section, "recompute",
        "layers in which selective recomputes nothing, such as those with flash attention");
  }
}

// Rather than an unlimited one.
bool has_reuse_distance(const Strategy& strategy) {
  return strategy.reuse_distance < std::numeric_limits<std::int64_t>::max();
}

void note_inference(Section& section, const Strategy& strategy) {
  if (strategy.offload.is_on()) {
    note_without_effect(section, "offload", "inference");
  }
  if (strategy.recompute != Recompute::none) {
    note_without_effect(section, "recompute", "inference");
  }
  if (strategy.overlap_gradients && strategy.degrees.data > 1) {
    note_without_effect(section, "overlap_gradients", "inference");
  }
  if (strategy.overlap_tensor && strategy.degrees.tensor > 1) {
    note_without_effect(section, "overlap_tensor", "inference");
  }
}

// Nothing is shared out but weights, and these are not gathered a second time. FSDP2 has buffers
// for its units at any level.
void note_sharing_of_inference(Section& section, const Strategy& strategy) {
  if (strategy.sharing() == 1) {
    return;  // which is said of training, too
  }
  if ((strategy.zero == 1 || strategy.zero == 2) && !strategy.has_units()) {
    note_without_effect(section, "zero", "inference, which shards only weights (zero: 3)");
    if (strategy.shard > 0) {
      note_without_effect(section, "shard", "zero: 1 and zero: 2 of inference");
      if (strategy.shard_members != Strategy{}.shard_members) {
        note_without_effect(section, "shard_members", "zero: 1 and zero: 2 of inference");
      }
    }
  }
  if (strategy.zero >= 2 && strategy.gradient_copies > 0) {
    note_without_effect(section, "gradient_copies", "inference");
  }
  if (strategy.scatters_runs()) {
    note_without_effect(section, "scatter", "inference");
  }
  if (strategy.zero < 3) {
    return;
  }
  if (strategy.prefetch == Prefetch::forward) {
    note_without_effect(section, "prefetch", "inference");
  }
  if (strategy.keep_apart && strategy.keep_below > 0) {
    note_without_effect(section, "keep_apart", "inference");
  }
  if (has_reuse_distance(strategy)) {
    note_without_effect(section, "reuse_distance", "inference");
  }
}

// Where ZeRO has nobody to share out to.
std::string_view why_alone(const Strategy& strategy) {
  return strategy.degrees.data == 1 ? "data: 1" : "shard: 1";
}

void note_sharing_out(Section& section, const Strategy& strategy, bool is_training) {
  if (strategy.zero < 3) {
    if (strategy.prefetch != Prefetch::both) {
      note_without_effect(section, "prefetch", "less than zero: 3");
    }
    if (strategy.prefetch_layers > 1) {
      note_without_effect(section, "prefetch_layers", "less than zero: 3");
    }
    if (strategy.gather != GatherUnit::layer) {
      note_without_effect(section, "gather", "less than zero: 3");
    }
    if (has_reuse_distance(strategy)) {
      note_without_effect(section, "reuse_distance", "less than zero: 3");
    }
  }
  if (strategy.zero == 3 && strategy.prefetch_layers > 1 && strategy.prefetch == Prefetch::none) {
    note_without_effect(section, "prefetch_layers", "prefetch: none");
  }
  if (is_training && strategy.zero == 3 && has_reuse_distance(strategy) &&
      strategy.recompute == Recompute::none) {
    note_without_effect(section, "reuse_distance", "recompute: none");
  }
  if (strategy.gradient_copies > 0 && (strategy.zero < 2 || strategy.sharing() == 1)) {
    note_without_effect(section, "gradient_copies",
                        strategy.zero < 2 ? "less than zero: 2" : why_alone(strategy));
  }
  if (strategy.scatter == Scatter::run && (strategy.zero < 2 || strategy.sharing() == 1)) {
    note_without_effect(section, "scatter",
                        strategy.zero < 2 ? "less than zero: 2" : why_alone(strategy));
  }
  if (strategy.keep_apart && strategy.keep_below == 0) {
    note_without_effect(section, "keep_apart", "keep_below: 0");
  }
  if (strategy.shard == 1 && strategy.degrees.data > 1) {
    note_without_effect(section, "zero", "shard: 1");
  }
  if (strategy.shard_members != ShardMembers::near && !strategy.is_hybrid()) {
    note_without_effect(section, "shard_members", "a single group of all replicas (shard)");
  }
}

// What is said of backward passes, and of losses.
void note_software_of_training(Section& section, const Software& software) {
  const std::array<std::pair<std::string_view, bool>, 6> of_training{
      {{"compiled", software.compiled},
       {"narrow_inputs", software.keeps_narrow_inputs},
       {"boundary_buffers", software.buffers_all_micro_batches},
       {"context_sums", software.passes_context_sums},
       {"freed_blocks", software.reuses_fitting_blocks_only},
       {"early_stop", software.stops_early}}};
  for (const auto& [key, is_set] : of_training) {
    if (is_set) {
      note_without_effect(section, key, "inference");
    }
  }
}

// With dropout behind the last product, experts in it, or a kind of work that does not say.
bool needs_all_again(const workload::Workload& workload) {
  return std::ranges::all_of(workload.layers, [](const workload::Layer& layer) {
    return std::ranges::all_of(layer.operators, &workload::Operator::needed_again);
  });
}

bool fuses_attention(const workload::Workload& workload) {
  return std::ranges::any_of(workload.layers, [](const workload::Layer& layer) {
    return std::ranges::any_of(layer.operators, [](const workload::Operator& op) {
      return op.kernel == workload::Kernel::fused_attention;
    });
  });
}

bool shares_kv_heads(const workload::Workload& workload) {
  return std::ranges::any_of(workload.layers, [](const workload::Layer& layer) {
    return std::ranges::any_of(layer.operators, has_fewer_kv_heads);
  });
}

void note_software(Section software, const workload::Workload& workload, const Strategy& strategy) {
  if (strategy.software.keeps_gathered_inputs && !strategy.sequence_parallel) {
    note_without_effect(software, "gathered_inputs", "sequence_parallel: false");
  }
  if (strategy.software.is_fsdp2() && !strategy.has_units()) {
    note_without_effect(software, "sharding", strategy.zero == 0 ? "zero: 0" : why_alone(strategy));
  }
  if (strategy.software.repeats_kv_heads && !shares_kv_heads(workload)) {
    note_without_effect(software, "kv_heads", "equal numbers of key-value heads and query heads");
  }
  if (!workload.training) {
    if (strategy.software.keeps_gathered_inputs && strategy.sequence_parallel) {
      note_without_effect(software, "gathered_inputs", "inference");
    }
    if (strategy.software.repeats_kv_heads && shares_kv_heads(workload)) {
      note_without_effect(software, "kv_heads", "inference");
    }
    note_software_of_training(software, strategy.software);
    return;
  }
  if (strategy.software.compiled && strategy.recompute != Recompute::alternate) {
    note_without_effect(software, "compiled", "any recompute but alternate");
  }
  if (strategy.software.stops_early && strategy.recompute != Recompute::full) {
    note_without_effect(software, "early_stop", "any recompute but full");
  } else if (strategy.software.stops_early && needs_all_again(workload)) {
    note_without_effect(software, "early_stop", "layers that backward passes need in full");
  }
  if (strategy.software.keeps_narrow_inputs && workload.product_type == workload.data_type) {
    note_without_effect(software, "narrow_inputs", "products in the workload's data_type");
  }
  if (strategy.software.passes_context_sums && strategy.context == 1) {
    note_without_effect(software, "context_sums", "context: 1");
  } else if (strategy.software.passes_context_sums && !fuses_attention(workload)) {
    note_without_effect(software, "context_sums", "attention by single operations");
  }
  if (strategy.software.buffers_all_micro_batches && strategy.degrees.pipeline == 1) {
    note_without_effect(software, "boundary_buffers", "pipeline: 1");
  }
}

void note_placement(Section placement, const Strategy& strategy) {
  const PlacementRequest& request = strategy.placement;
  if (strategy.layout == "linear" || strategy.layout == "replicas") {
    if (request.group) {
      note_without_effect(placement, "group", strategy.layout);
    }
    if (request.tensor_group) {
      note_without_effect(placement, "tensor_group", strategy.layout);
    }
    if (request.tensor_members != TensorMembers::near) {
      note_without_effect(placement, "tensor_members", strategy.layout);
    }
  }
  if (strategy.layout != "replicas") {
    if (request.band) {
      note_without_effect(placement, "band", strategy.layout);
    }
    if (request.replica_order != ReplicaOrder::rows) {
      note_without_effect(placement, "replica_order", strategy.layout);
    }
  }
  if (strategy.layout != "optimized") {
    if (request.optimization.seed != Optimization{}.seed) {
      note_without_effect(placement, "seed", strategy.layout);
    }
    if (request.optimization.moves) {
      note_without_effect(placement, "moves", strategy.layout);
    }
    if (request.optimization.start != "best") {
      note_without_effect(placement, "start", strategy.layout);
    }
  }
}

}  // namespace

void note_keys_without_effect(Section& section, const workload::Workload& workload,
                              const Strategy& strategy) {
  note_degrees(section, workload, strategy);
  note_boundary(section, strategy);
  note_recomputation(section, workload, strategy);
  if (!workload.training) {
    note_inference(section, strategy);
    note_sharing_of_inference(section, strategy);
  }
  if (!strategy.offload.is_on() && strategy.offload.fraction != Offload{}.fraction) {
    Section offload = section.section("offload");
    note_without_effect(offload, "fraction", "layers: 0");
  }
  if (strategy.offload.is_on() && strategy.offload.fraction.millionths() == 0) {
    Section offload = section.section("offload");
    note_without_effect(offload, "layers", "fraction: 0");
  }
  note_sharing_out(section, strategy, workload.training);
  note_software(section.section("software"), workload, strategy);
  note_wires_without_effect(section.section("wires"), workload, strategy);
  note_placement(section.section("placement"), strategy);
}

std::string note_of_recomputation(const workload::Workload& workload, const Strategy& strategy) {
  const auto keeps = [](const workload::Layer& layer) {
    return std::any_of(layer.operators.begin(), layer.operators.end(),
                       [](const workload::Operator& op) { return op.kept_results > 0; });
  };
  if (!workload.training || strategy.recompute != Recompute::alternate ||
      std::any_of(workload.layers.begin(), workload.layers.end(), keeps)) {
    return "";
  }
  return "recompute: alternate keeps results only in layers of language models: here everything is "
         "recomputed, as with full";
}

std::string note_of_offload(const workload::Workload& workload, const Plan& plan) {
  const Offload& offload = plan.strategy.offload;
  std::size_t most = 0;
  for (const Stage& stage : plan.stages) {
    for (const LayerRange& chunk : stage.chunks) {
      most = std::max(most, chunk.end - chunk.first);
    }
  }
  if (!workload.training || offload.layers < std::max<std::size_t>(most, 1)) {
    return "";
  }
  return "strategy.offload.layers is " + std::to_string(offload.layers) +
         ", but no chunk has more than " + std::to_string(most) +
         (most == 1 ? " layer" : " layers") + ", and the last of each stays on the device";
}

}  // namespace tessera::plan
