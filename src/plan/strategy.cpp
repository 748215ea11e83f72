#include <algorithm>
#include <limits>

#include "placement_request.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/schedule.hpp"

namespace tessera::plan {
namespace {

std::uint32_t read_count(config::Section& section, std::string_view key, std::int64_t otherwise) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::uint32_t>(
      section.get_or<std::int64_t>(key, otherwise, config::between<std::int64_t>(1, most)));
}

void read_batch(config::Section& section, const workload::Workload& workload, Strategy& strategy) {
  strategy.micro_batch = read_count(section, "micro_batch", 1);
  const std::uint64_t step = std::uint64_t{strategy.micro_batch} * strategy.degrees.data;
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

// Attention heads cannot be cut.
void check_heads(config::Section& section, const workload::Workload& workload,
                 std::uint32_t tensor) {
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      if (op.sharding == workload::Sharding::heads && op.product.count % tensor != 0) {
        section.error("tensor", "the " + std::to_string(op.product.count) + " heads of '" +
                                    layer.name + "/" + op.name + "' cannot be shared out among " +
                                    std::to_string(tensor) + " tiles");
        return;
      }
    }
  }
}

}  // namespace

std::vector<ParameterInfo> strategy_parameters() {
  std::vector<ParameterInfo> parameters{
      {"pipeline", "", "1", "stages of the pipeline"},
      {"tensor", "", "1", "tensor-parallel degree"},
      {"data", "", "1", "data-parallel degree"},
      {"micro_batch", "samples", "1", "size of a micro-batch in one replica"},
      {"schedule", "", "1f1b", "order of forward and backward passes"},
      {"recompute", "", "none", "none, or full: repeat the forward pass before the backward one"},
      {"shard_optimizer", "", "false", "keep and update 1/data of the optimizer state (ZeRO 1)"},
      {"overlap_gradients", "", "false", "reduce gradients of a layer while earlier layers go on"},
      {"boundary", "", "full",
       "full: each shard sends the whole boundary activation; scattered: its part, gathered again "
       "by the next stage"},
      {"capacity", "", "check", "check, or ignore: run although SRAM and DRAM are too small"},
      {"collectives.tensor", "", "ring", "algorithm in tensor groups"},
      {"collectives.data", "", "ring", "algorithm in data groups"}};
  for (ParameterInfo& parameter : placement_parameters()) {
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

Strategy read_strategy(config::Section& section, const workload::Workload& workload,
                       const machine::Topology& topology) {
  Strategy strategy;
  strategy.degrees.pipeline = read_count(section, "pipeline", 1);
  strategy.degrees.tensor = read_count(section, "tensor", 1);
  strategy.degrees.data = read_count(section, "data", 1);
  check_heads(section, workload, strategy.degrees.tensor);
  read_batch(section, workload, strategy);
  strategy.schedule = section.get_name("schedule", schedules().names(), "1f1b");
  strategy.recompute = section.get_name("recompute", {"none", "full"}, "none") == "full";
  strategy.shard_optimizer = section.get_or<bool>("shard_optimizer", false);
  strategy.overlap_gradients = section.get_or<bool>("overlap_gradients", false);
  strategy.scatter_boundary =
      section.get_name("boundary", {"full", "scattered"}, "full") == "scattered";
  strategy.check_capacity = section.get_name("capacity", {"check", "ignore"}, "check") == "check";

  config::Section collectives = section.section("collectives");
  const std::vector<std::string> algorithms = collective::algorithms().names();
  strategy.tensor_algorithm = collectives.get_name("tensor", algorithms, "ring");
  strategy.data_algorithm = collectives.get_name("data", algorithms, "ring");

  read_placement(section.section("placement"), workload, topology, strategy);

  const std::uint64_t tiles = topology.computing_nodes();
  const Wide wanted = static_cast<Wide>(strategy.degrees.pipeline) * strategy.degrees.tensor *
                      strategy.degrees.data;
  if (wanted > tiles) {
    section.error("pipeline",
                  "pipeline * tensor * data = " + std::to_string(strategy.degrees.pipeline) +
                      " * " + std::to_string(strategy.degrees.tensor) + " * " +
                      std::to_string(strategy.degrees.data) + " tiles, but the machine has " +
                      std::to_string(tiles));
  }
  if (strategy.degrees.pipeline > workload.layers.size() && !workload.layers.empty()) {
    section.error("pipeline", "more stages (" + std::to_string(strategy.degrees.pipeline) +
                                  ") than layers to put in them (" +
                                  std::to_string(workload.layers.size()) +
                                  " with embedding and head)");
  }
  return strategy;
}

}  // namespace tessera::plan
