#include <algorithm>
#include <limits>

#include "cutter.hpp"
#include "placement_request.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/plan/strategy.hpp"

namespace tessera::plan {
namespace {

std::uint32_t read_count(config::Section& section, std::string_view key, std::int64_t otherwise) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::uint32_t>(
      section.get_or<std::int64_t>(key, otherwise, config::between<std::int64_t>(1, most)));
}

void read_batch(config::Section& section, const workload::Workload& workload, Strategy& strategy) {
  strategy.micro_batch = read_count(section, "micro_batch", 1);
  const std::uint64_t step = std::uint64_t{strategy.micro_batch} * strategy.data_parallel();
  if (workload.samples == 0) {
    return;  // the workload has already been complained about
  }
  if (workload.samples % step != 0) {
    section.error("micro_batch",
                  "the batch of " + std::to_string(workload.samples) +
                      " samples is not a multiple of data * micro_batch = " + std::to_string(step));
    return;
  }
  const std::uint64_t count = workload.samples / step;
  if (count > std::numeric_limits<std::int32_t>::max()) {
    section.error("micro_batch", std::to_string(count) + " micro-batches are too many");
    return;
  }
  strategy.micro_batches = static_cast<std::uint32_t>(count);
}

// Attention heads cannot be cut; explicit sharding cuts something else. Heads of keys and values
// that several heads of queries share are not copied to more tiles than there are (as in
// Megatron-LM, whose num_query_groups must be a multiple of its tensor degree).
void check_heads(config::Section& section, const workload::Workload& workload,
                 const Strategy& strategy) {
  const Cutter cutter(workload, strategy);
  const std::uint32_t tensor = strategy.degrees.tensor;
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      if (op.sharding != workload::Sharding::heads || cutter.explicit_cut(op) != nullptr) {
        continue;
      }
      if (op.product.count % tensor != 0) {
        section.error("tensor", "the " + std::to_string(op.product.count) + " heads of '" +
                                    layer.name + "/" + op.name + "' cannot be shared out among " +
                                    std::to_string(tensor) + " tiles");
        return;
      }
      if (op.kv_heads % tensor != 0) {
        section.error("tensor", "the " + std::to_string(op.kv_heads) +
                                    " heads of keys and values of '" + layer.name + "/" + op.name +
                                    "' cannot be shared out among " + std::to_string(tensor) +
                                    " tiles, and are not copied");
        return;
      }
    }
  }
}

// Experts are shared out whole, over part of the replicas.
void check_experts(config::Section& section, const workload::Workload& workload,
                   const Strategy& strategy) {
  if (strategy.degrees.data % strategy.expert != 0) {
    section.error("expert", std::to_string(strategy.expert) + " does not divide data * context = " +
                                std::to_string(strategy.degrees.data));
    return;
  }
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      if (op.experts % strategy.expert != 0) {
        section.error("expert", "the " + std::to_string(op.experts) + " experts of '" + layer.name +
                                    "/" + op.name + "' cannot be shared out among " +
                                    std::to_string(strategy.expert));
        return;
      }
    }
  }
}

void read_schedule(config::Section& section, bool training, Strategy& strategy) {
  strategy.chunks = read_count(section, "chunks", 1);
  const std::string usual = training ? (strategy.chunks > 1 ? "interleaved" : "1f1b") : "streaming";
  strategy.schedule = section.get_name("schedule", schedules().names(), usual);
  for (const std::string& text : section.get_list<std::string>("order")) {
    try {
      strategy.order.push_back(passes_from(text));
    } catch (const ConfigError& error) {
      section.error("order", error.diagnostics().front().message);
      return;
    }
  }
  if (!schedules().contains(strategy.schedule)) {
    return;  // already complained about
  }
  const PipelineShape shape = strategy.pipeline_shape(training);
  if (!strategy.order.empty()) {
    if (const std::string fault = fault_of(shape, strategy.order); !fault.empty()) {
      section.error("order", fault);
    }
    return;
  }
  if ((strategy.schedule == "streaming") == training) {
    section.error("schedule", training ? "'streaming' is for inference, and the workload trains"
                                       : "inference is 'streaming', without backward passes");
    return;
  }
  const std::string objection = schedules().at(strategy.schedule).objection(shape);
  if (!objection.empty()) {
    section.error("schedule", "'" + strategy.schedule + "' " + objection);
  }
}

void read_boundary(config::Section& section, Strategy& strategy) {
  const std::string name =
      section.get_name("boundary", {"full", "scattered", "broadcast", "reduced"}, "full");
  strategy.boundary = name == "scattered"   ? Boundary::scattered
                      : name == "broadcast" ? Boundary::broadcast
                      : name == "reduced"   ? Boundary::reduced
                                            : Boundary::full;
  if (!strategy.has_adapters()) {
    if (section.has("adapters")) {
      section.raw("adapters");
      section.error("adapters", "is only for 'boundary: broadcast' and 'boundary: reduced'");
    }
    return;
  }
  strategy.adapters = read_count(section, "adapters", 1);
  if (strategy.adapters > strategy.degrees.tensor) {
    section.error("adapters", std::to_string(strategy.adapters) +
                                  " adapters in a tensor group of " +
                                  std::to_string(strategy.degrees.tensor) + " tiles");
    strategy.adapters = 1;
  }
  if (strategy.sequence_parallel) {
    section.error("boundary", "'" + name +
                                  "' sends a whole tensor, but sequence_parallel has cut it along "
                                  "the tokens");
  }
}

// Explicit parallelism of operators: {pattern: {samples, rows, columns, depth}, …}.
void read_cuts(config::Section& section, Strategy& strategy) {
  config::Section rules = section.section("sharding");
  for (const std::string& pattern : rules.keys()) {
    config::Section rule = rules.section(pattern);
    const Cut cut{read_count(rule, "samples", 1), read_count(rule, "rows", 1),
                  read_count(rule, "columns", 1), read_count(rule, "depth", 1)};
    if (cut.tiles() != strategy.degrees.tensor) {
      rules.error(pattern, "samples * rows * columns * depth = " + std::to_string(cut.tiles()) +
                               " must be tensor = " + std::to_string(strategy.degrees.tensor));
    }
    strategy.cuts.push_back({pattern, cut});
  }
}

Recompute recompute_from(const std::string& name) {
  return name == "full"        ? Recompute::full
         : name == "selective" ? Recompute::selective
                               : Recompute::none;
}

Aggregation aggregation_from(const std::string& name) {
  return name == "stage"    ? Aggregation::stage
         : name == "tensor" ? Aggregation::tensor
                            : Aggregation::none;
}

// Those that programs can run: all members in the same step, all kinds.
std::vector<std::string> algorithms_in_step() {
  std::vector<std::string> names;
  for (const std::string& name : collective::algorithms().names()) {
    if (collective::algorithms().at(name)({})->in_step()) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace

std::vector<Pass> Strategy::passes(std::uint32_t stage, bool training) const {
  return order.empty() ? schedules().at(schedule).passes(pipeline_shape(training), stage)
                       : order[stage];
}

std::vector<ParameterInfo> strategy_parameters() {
  std::vector<ParameterInfo> parameters{
      {"pipeline", "", "1", "stages of the pipeline"},
      {"tensor", "", "1", "tensor-parallel degree"},
      {"data", "", "1", "data-parallel degree"},
      {"context", "", "1", "parts that the tokens of a sample are cut in"},
      {"expert", "", "1", "replicas (of data * context) that share out the experts"},
      {"sequence_parallel", "", "false",
       "cut what tensor parallelism leaves whole along the tokens"},
      {"micro_batch", "samples", "1", "size of a micro-batch in one replica"},
      {"chunks", "", "1", "chunks of layers a stage holds"},
      {"schedule", "", "1f1b", "order of forward and backward passes; with chunks: interleaved"},
      {"order", "", "", "instead: the passes of each stage, as text"},
      {"recompute", "", "none",
       "none; selective: what is cheap for the memory it saves; full: all but the layers' inputs"},
      {"zero", "", "0", "share out over data: 1 optimizer state, 2 and gradients, 3 and weights"},
      {"overlap_gradients", "", "false", "reduce gradients of a layer while earlier layers go on"},
      {"overlap_tensor", "", "false", "sum a gradient of inputs while that of weights is computed"},
      {"boundary", "", "full",
       "full: each shard sends the whole boundary activation; scattered: its part, gathered again "
       "by the next stage; broadcast: adapters send it, and broadcast it in the next stage; "
       "reduced: adapters send sums over parts of the group, added up in the next stage"},
      {"adapters", "tiles", "1", "of a tensor group, with boundary broadcast or reduced"},
      {"sharding", "", "", "explicit parallelism: {operator: {samples, rows, columns, depth}}"},
      {"sram", "", "resident",
       "resident: what is kept from pass to pass streams from DRAM where SRAM is too small; "
       "algorithm-1: as PALM's Algorithm 1, all operands of an operator"},
      {"capacity", "", "check", "check, or ignore: run although SRAM and DRAM are too small"},
      {"aggregation", "", "none", "none; tensor or stage: one tile stands for its group"},
      {"collectives.tensor", "", "ring",
       "algorithm in tensor groups, one that goes in step: see tessera list collectives"},
      {"collectives.data", "", "ring", "algorithm in data groups"}};
  for (ParameterInfo& parameter : placement_parameters()) {
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

Strategy read_strategy(config::Section& section, const workload::Workload& workload,
                       const machine::Topology& topology, const std::vector<EntityId>& nodes) {
  Strategy strategy;
  strategy.placement.nodes = nodes;
  strategy.degrees.pipeline = read_count(section, "pipeline", 1);
  strategy.degrees.tensor = read_count(section, "tensor", 1);
  strategy.degrees.data = read_count(section, "data", 1);
  strategy.context = read_count(section, "context", 1);
  const Wide replicas = static_cast<Wide>(strategy.degrees.data) * strategy.context;
  const std::uint64_t tiles = nodes.empty() ? topology.computing_nodes() : nodes.size();
  const Wide wanted = replicas * strategy.degrees.pipeline * strategy.degrees.tensor;
  if (wanted > tiles) {
    const std::string context = strategy.context > 1 ? " * context" : "";
    const std::string contexts =
        strategy.context > 1 ? " * " + std::to_string(strategy.context) : "";
    section.error("pipeline",
                  "pipeline * tensor * data" + context + " = " +
                      std::to_string(strategy.degrees.pipeline) + " * " +
                      std::to_string(strategy.degrees.tensor) + " * " +
                      std::to_string(strategy.degrees.data) + contexts + " tiles, but " +
                      (nodes.empty() ? "the machine has " : "it may use ") + std::to_string(tiles));
    strategy.context = 1;
  } else {
    strategy.degrees.data = static_cast<std::uint32_t>(replicas);
  }
  strategy.expert = read_count(section, "expert", 1);
  strategy.sequence_parallel = section.get_or<bool>("sequence_parallel", false);
  read_cuts(section, strategy);
  check_heads(section, workload, strategy);
  check_experts(section, workload, strategy);
  read_batch(section, workload, strategy);
  read_schedule(section, workload.training, strategy);
  strategy.recompute =
      recompute_from(section.get_name("recompute", {"none", "selective", "full"}, "none"));
  strategy.zero = static_cast<std::uint32_t>(
      section.get_or<std::int64_t>("zero", 0, config::between<std::int64_t>(0, 3)));
  strategy.overlap_gradients = section.get_or<bool>("overlap_gradients", false);
  strategy.overlap_tensor = section.get_or<bool>("overlap_tensor", false);
  read_boundary(section, strategy);
  strategy.sram = section.get_name("sram", {"resident", "algorithm-1"}, "resident") == "resident"
                      ? SramAllocation::resident
                      : SramAllocation::algorithm_1;
  strategy.check_capacity = section.get_name("capacity", {"check", "ignore"}, "check") == "check";
  strategy.aggregation =
      aggregation_from(section.get_name("aggregation", {"none", "tensor", "stage"}, "none"));

  config::Section collectives = section.section("collectives");
  const std::vector<std::string> algorithms = algorithms_in_step();
  strategy.tensor_algorithm = collectives.get_name("tensor", algorithms, "ring");
  strategy.data_algorithm = collectives.get_name("data", algorithms, "ring");

  read_placement(section.section("placement"), workload, topology, strategy);

  const std::uint64_t parts = std::uint64_t{strategy.degrees.pipeline} * strategy.chunks;
  if (parts > workload.layers.size() && !workload.layers.empty()) {
    section.error(
        "pipeline",
        "more stages (" + std::to_string(strategy.degrees.pipeline) +
            (strategy.chunks > 1 ? " of " + std::to_string(strategy.chunks) + " chunks" : "") +
            ") than layers to put in them (" + std::to_string(workload.layers.size()) +
            " with embedding and head)");
  }
  return strategy;
}

}  // namespace tessera::plan
