#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "commands.hpp"
#include "cut_options.hpp"
#include "tensor_tables.hpp"
#include "tessera/core/text.hpp"
#include "tessera/plan/route_costs.hpp"
#include "tessera/plan/traffic.hpp"
#include "tessera/sim/cuts.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/sim/weights.hpp"

namespace tessera::cli {
namespace {

Options describe() {
  Options options("check",
                  "Validate an experiment; print its configuration with all defaults, what it "
                  "consists of, the memory a run needs, how far its traffic goes, and the "
                  "partition.",
                  "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options.add("ranks", "for a run on N ranks", text_value("1"), "N");
  add_cut_options(options);
  return options;
}

std::string layers_of(const workload::Workload& workload, const plan::Stage& stage) {
  std::string text;
  for (const plan::LayerRange& layers : stage.chunks) {
    text += (text.empty() ? "" : "; ") + workload.layers[layers.first].name + " … " +
            workload.layers[layers.end - 1].name;
  }
  return text;
}

std::string memory_table(const sim::Job& job) {
  TextTable table({"stage", "layers", "weights", "gradients", "optimizer", "activations", "kept of",
                   "in SRAM"});
  for (std::size_t number = 0; number < job.plan.stages.size(); ++number) {
    const plan::Stage& stage = job.plan.stages[number];
    const plan::StageMemory& memory = stage.memory;
    const std::string held = memory.holds_weights && memory.holds_activations ? "all"
                             : memory.holds_weights                           ? "weight state"
                             : memory.holds_activations                       ? "activations"
                                                                              : "nothing";
    table.add({std::to_string(number), layers_of(job.workload, stage),
               to_short_string(memory.weights), to_short_string(memory.gradients),
               to_short_string(memory.optimizer), to_short_string(memory.activations()),
               std::to_string(memory.in_flight) + " micro-batches", held});
  }
  return table.to_string();
}

std::string rounded(double value) {
  return format_number(std::round(value * 1000) / 1000);
}

// Empty where routes are too many to be walked.
std::string traffic_table(const machine::Machine& machine, const sim::Job& job) {
  if (!plan::RouteCosts::affordable(*machine.topology)) {
    return "";
  }
  const plan::PlacementTraffic traffic =
      plan::hop_weighted_traffic(machine, job.plan, job.plan.placement);
  TextTable table({"traffic", "bytes", "hops a byte", "most hops", "time of all links [s]"});
  const auto add = [&](const std::string& name, const plan::HopTraffic& sum) {
    if (sum.bytes > 0) {
      table.add({name, to_short_string(Bytes(static_cast<std::uint64_t>(sum.bytes))),
                 rounded(sum.mean_hops()), std::to_string(sum.longest_hops),
                 rounded(sum.link_seconds())});
    }
  };
  for (std::size_t kind = 0; kind < traffic.messages.size(); ++kind) {
    add(to_string(static_cast<plan::Traffic>(kind)), traffic.messages[kind]);
  }
  add("memory", traffic.memory);
  add("all", traffic.total());
  return "\n# traffic of one iteration, layout " + job.plan.strategy.layout + "\n" +
         table.to_string();
}

// Of more ranks than a screen shows, the first and last.
std::string rank_table(const sim::Experiment& experiment, const machine::Partition& partition) {
  constexpr std::size_t most_rows = 64;
  const std::vector<std::uint32_t> weights = sim::node_weights(experiment);
  TextTable table({"rank", "nodes", "share of weight"});
  const std::size_t ranks = partition.members.size();
  std::vector<double> sums(ranks);
  double total = 0;
  for (std::size_t node = 0; node < partition.owner.size(); ++node) {
    const double weight = weights.empty() ? 1 : weights[node];
    sums[partition.owner[node]] += weight;
    total += weight;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (ranks > most_rows && rank == most_rows / 2) {
      table.add({"…"});
      rank = ranks - most_rows / 2;
    }
    table.add({std::to_string(rank), std::to_string(partition.members[rank].size()),
               rounded(100 * sums[rank] / total) + " %"});
  }
  return table.to_string();
}

void add_graphs(const executor::GraphWork& work, TextTable& entities) {
  const workload::GraphLook& look = work.look;
  entities.add({"NPUs", std::to_string(work.npus())});
  entities.add({"iterations in a graph", std::to_string(work.source->iterations())});
  entities.add({"nodes of graphs", std::to_string(look.nodes)});
  entities.add({"FLOPs", format_number(look.flops)});
  for (std::size_t kind = 0; kind < look.collectives.size(); ++kind) {
    if (look.collectives[kind] > 0) {
      entities.add({"nodes of " + to_string(static_cast<workload::GraphCollective>(kind)),
                    std::to_string(look.collectives[kind])});
    }
  }
  entities.add({"communicators", std::to_string(work.groups.size())});
}

// What tenants ask for and take.
std::string tenant_table(const executor::ServingWork& work) {
  TextTable table(
      {"tenant", "NPUs", "requests", "weights of an NPU [B]", "cache of an NPU [tokens]"});
  for (const executor::ServedTenant& tenant : work.tenants) {
    const auto count = tenant.requests->count();
    const auto blocks = tenant.batching.blocks;
    table.add({tenant.name, std::to_string(tenant.npus.size()),
               count ? std::to_string(*count) : "as long as others",
               std::to_string(tenant.model->weights().count()),
               !tenant.of_language ? "-"
               : blocks            ? std::to_string(*blocks * tenant.batching.block)
                                   : "any"});
  }
  return table.to_string();
}

// How the operators of a chip are cut.
std::string operator_table(const executor::ChipWork& work) {
  TextTable table(
      {"operator", "multiply-adds", "parts of the output", "steps of each", "operands"});
  for (const executor::ChipOperator& op : work.operators) {
    Bytes operands;
    for (const npu::Operand& operand : op.tiles->operands()) {
      operands += operand.bytes;
    }
    table.add({op.name, std::to_string(op.tiles->macs()), std::to_string(op.tiles->groups()),
               std::to_string(op.tiles->steps()), to_short_string(operands)});
  }
  return table.to_string();
}

// The model that the operators were lowered from.
void add_model(const sim::ModelLook& look, TextTable& entities) {
  entities.add({"model", look.path + ", optimised: " + look.level});
  entities.add({"nodes of its file", std::to_string(look.file_nodes)});
  entities.add(
      {"nodes", std::to_string(look.nodes) + ", of these views: " + std::to_string(look.views)});
  entities.add({"parameters", std::to_string(look.parameters)});
  entities.add({"FLOPs of matrices", std::to_string(look.matrix.count())});
  entities.add({"other FLOPs", std::to_string(look.vector.count())});
  entities.add({"bytes of its tensors, as in the file", to_short_string(look.traffic)});
  if (!look.unknown.empty()) {
    entities.add({"not understood, memory traffic alone", join(look.unknown)});
  }
  for (const std::string& notice : look.notices) {
    entities.add({"notice", notice});
  }
}

void add_programs(const sim::Job& job, TextTable& entities) {
  entities.add({"tiles at work", std::to_string(job.plan.strategy.degrees.tiles())});
  entities.add({"pipeline stages", std::to_string(job.plan.stages.size())});
  entities.add({"micro-batches a replica", std::to_string(job.plan.strategy.micro_batches)});
  entities.add({"instructions an iteration", std::to_string(job.plan.instructions())});
  entities.add({"parameters", std::to_string(job.workload.parameters())});
}

// What there is to do, and how long it takes at least.
void print_job(const machine::Machine& machine, const sim::Job& job, const std::string& head,
               TextTable& entities, TextTable& run) {
  if (job.chip) {
    entities.add({"cores", std::to_string(job.chip->cores.size())});
    if (job.model) {
      add_model(*job.model, entities);
    }
    std::cout << entities.to_string() << "\n# operators\n" << operator_table(*job.chip);
    run.add({head + "ideal iteration (arithmetic or memory)", to_string(job.ideal_time)});
  } else if (job.serving) {
    std::cout << entities.to_string() << "\n# tenants\n" << tenant_table(*job.serving);
  } else if (job.graph) {
    add_graphs(*job.graph, entities);
    std::cout << entities.to_string();
    if (const workload::TensorPlacement* tensors = job.graph->source->tensors()) {
      std::cout << tensor_tables(*tensors);
    }
  } else {
    add_programs(job, entities);
    std::cout << entities.to_string() << "\n# memory of one tile of each stage\n"
              << memory_table(job) << traffic_table(machine, job);
    run.add({head + "ideal iteration (arithmetic only)", to_string(job.ideal_time)});
  }
}

// What each cut would give; empty where nothing can be predicted.
std::string cut_table(const sim::Experiment& experiment, int ranks) {
  const std::vector<sim::CutPrediction> cuts = sim::predict_cuts(experiment, ranks);
  if (cuts.empty()) {
    return "";
  }
  TextTable table({"cut", "speed-up", "waits of a rank", "messages", "imbalance"});
  for (const sim::CutPrediction& cut : cuts) {
    table.add({cut.name, rounded(cut.speed_up()), std::to_string(cut.waits),
               std::to_string(cut.messages), rounded(cut.imbalance)});
  }
  return "\n# cuts over " + std::to_string(ranks) + " ranks, predicted for an iteration\n" +
         table.to_string();
}

void print(const sim::Experiment& experiment, int ranks) {
  const sim::CutChoice cut = sim::choose_cut(experiment, ranks, ranks);
  const sim::Forecast forecast = sim::forecast(experiment, cut.partition);
  const machine::Machine& machine = experiment.machine;
  std::cout << "# configuration, with defaults\n" << experiment.resolved << "\n";
  std::cout << "# entities\n";
  TextTable entities({"what", "number"});
  entities.add({"nodes", std::to_string(machine.topology->nodes())});
  entities.add({"directed links", std::to_string(forecast.links)});
  entities.add({"DRAM channels", std::to_string(machine.channels.size())});
  TextTable run({"what", "value"});
  if (experiment.tenants.empty()) {
    print_job(machine, experiment, "", entities, run);
  } else {
    entities.add({"tenants", std::to_string(experiment.tenants.size())});
    std::cout << entities.to_string();
  }
  for (const sim::Tenant& tenant : experiment.tenants) {
    std::cout << "\n# tenant " << tenant.name << "\n";
    TextTable own({"what", "number"});
    own.add({"tiles", std::to_string(tenant.tiles.size())});
    own.add({"begins at", to_string(tenant.start)});
    own.add({"iterations", std::to_string(tenant.job.iterations)});
    print_job(machine, tenant.job, tenant.name + ": ", own, run);
  }
  std::cout << "\n# the run\n";
  run.add({"lookahead", to_string(forecast.lookahead)});
  run.add({"predicted memory of the largest rank",
           std::to_string(forecast.largest_bytes / (1U << 20)) + " MiB"});
  run.add({"partition", experiment.options.partition});
  if (ranks > 1) {
    run.add({"cut", cut.reason});
  }
  run.add({"synchronization", experiment.options.synchronization});
  run.add({"weights", experiment.options.weights});
  run.add({"directed links cut",
           std::to_string(forecast.partition.cut_links) + " (" +
               rounded(100 * static_cast<double>(forecast.partition.cut_links) /
                       static_cast<double>(std::max<std::uint64_t>(1, forecast.links))) +
               " % of all)"});
  run.add({"imbalance by weight", rounded(forecast.partition.imbalance)});
  std::cout << run.to_string();
  if (ranks > 1) {
    std::cout << cut_table(experiment, ranks) << "\n# ranks\n"
              << rank_table(experiment, forecast.partition);
  }
  std::cout << "ok\n";
}

}  // namespace

int check_command(const Words& words, comm::Communicator& world) {
  Options options = describe();
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::int64_t asked = options.number("ranks", 1, std::numeric_limits<int>::max());
  const int ranks = world.size() > 1 ? world.size() : static_cast<int>(asked);
  sim::Experiment experiment =
      sim::read_experiment(options.subject(), options.settings(), shared_loader(world));
  apply_cut_options(options, experiment, world);
  if (world.rank() == 0) {
    print(experiment, ranks);
  }
  return 0;
}

}  // namespace tessera::cli
