#include "programs/job.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "graphs/experiment.hpp"
#include "graphs/job.hpp"
#include "graphs/unused_collectives.hpp"
#include "jobs/families.hpp"
#include "jobs/npu_memories.hpp"
#include "jobs/tiles.hpp"
#include "programs/library_use.hpp"
#include "programs/settle_placement.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/sharing.hpp"
#include "tessera/plan/graph_source.hpp"
#include "tessera/plan/placed_time.hpp"
#include "tessera/plan/placement/route_costs.hpp"
#include "tessera/plan/traffic.hpp"
#include "tessera/workload/sections.hpp"

namespace tessera::sim {
namespace {

using config::Section;

// The platform's own compute model; it must outlive what is given.
plan::OperationTime operation_time_of(const Platform& platform) {
  return [&platform](const machine::Tile& tile, const workload::Operation& operation) {
    return platform.compute->duration(platform.machine, tile, operation);
  };
}

}  // namespace

plan::OperationTime arithmetic_time_of(const compute::ComputeModel& compute,
                                       const machine::Machine& machine) {
  return [&](const machine::Tile& tile, const workload::Operation& operation) {
    return compute.arithmetic_time(machine, tile, operation);
  };
}

namespace {

plan::MemorySharing memory_sharing(const Platform& platform) {
  if (!platform.memory) {
    return plan::MemorySharing::channel;
  }
  return !platform.memory->shares_channels()  ? plan::MemorySharing::none
         : !platform.memory->serves_at_node() ? plan::MemorySharing::all
                                              : plan::MemorySharing::channel;
}

// Calls `use` with what messages take on the idle machine.
template <class Use>
auto with_transfers(const Platform& platform, const Use& use) {
  const machine::Topology& topology = *platform.machine.topology;
  const auto routing = machine::make_routing(platform.network->routing(), topology);
  return use(plan::Transfers{[&](EntityId from, EntityId to) {
                               return machine::hops_between(topology, *routing, from, to);
                             },
                             platform.network->overheads().message,
                             platform.network->overheads().collective,
                             platform.network->overheads().library, memory_sharing(platform)});
}

std::string layers_of_stage(const workload::Workload& workload, const plan::Stage& stage) {
  std::string text;
  for (const plan::LayerRange& layers : stage.chunks) {
    text += (text.empty() ? "" : "; ") + workload.layers[layers.first].name + " … " +
            workload.layers[layers.end - 1].name;
  }
  return text;
}

std::string memory_table(const PlannedWork& work) {
  TextTable table({"stage", "layers", "weights", "gradients", "optimizer", "activations", "kept of",
                   "in SRAM", "at its peak"});
  for (std::size_t number = 0; number < work.plan.stages.size(); ++number) {
    const plan::Stage& stage = work.plan.stages[number];
    const plan::StageMemory& memory = stage.memory;
    const std::string held = memory.holds_weights && memory.holds_activations ? "all"
                             : memory.holds_weights                           ? "weight state"
                             : memory.holds_activations                       ? "activations"
                                                                              : "nothing";
    table.add({std::to_string(number), layers_of_stage(work.workload, stage),
               to_short_string(memory.weights), to_short_string(memory.gradients),
               to_short_string(memory.optimizer), to_short_string(memory.activations()),
               std::to_string(memory.in_flight) + " micro-batches", held,
               to_short_string(memory.peak.total())});
  }
  return table.to_string();
}

// Of what peaks consist, of parts that are held anywhere.
std::string peak_table(const plan::Plan& plan) {
  std::vector<plan::MemoryPart> parts;
  std::vector<std::string> head{"stage"};
  for (std::size_t number = 0; number < plan::memory_parts; ++number) {
    const auto part = static_cast<plan::MemoryPart>(number);
    if (std::any_of(plan.stages.begin(), plan.stages.end(),
                    [&](const plan::Stage& stage) { return stage.memory.peak[part] > Bytes(0); })) {
      parts.push_back(part);
      head.push_back(to_string(part));
    }
  }
  const bool offloads = plan.strategy.offload.is_on();
  if (offloads) {
    head.emplace_back("on the host");
  }
  TextTable table(std::move(head));
  for (std::size_t number = 0; number < plan.stages.size(); ++number) {
    std::vector<std::string> row{std::to_string(number)};
    for (const plan::MemoryPart part : parts) {
      row.push_back(to_short_string(plan.stages[number].memory.peak[part]));
    }
    if (offloads) {
      row.push_back(to_short_string(plan.stages[number].memory.offloaded()));
    }
    table.add(row);
  }
  return table.to_string();
}

// Empty where routes are too many to be walked.
std::string traffic_table(const machine::Machine& machine, const plan::Plan& plan) {
  if (!plan::RouteCosts::affordable(*machine.topology)) {
    return "";
  }
  const auto rounded = [](double value) { return format_number(std::round(value * 1000) / 1000); };
  const plan::PlacementTraffic traffic = plan::hop_weighted_traffic(machine, plan, plan.placement);
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
  return "\n# traffic of one iteration, layout " + plan.strategy.layout + "\n" + table.to_string();
}

compute::WorkTraits traits_of(const workload::Workload& workload) {
  const bool is_fused = std::ranges::any_of(workload.layers, [](const workload::Layer& layer) {
    return std::ranges::any_of(layer.operators, [](const workload::Operator& op) {
      return op.kernel == workload::Kernel::fused_attention;
    });
  });
  const bool is_narrow = std::ranges::any_of(workload.layers, [](const workload::Layer& layer) {
    return std::ranges::any_of(layer.operators, &workload::Operator::narrow);
  });
  std::set<DataType> types{workload.data_type};
  if (is_narrow) {
    types.insert(workload.product_type);
  }
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      types.insert(op.own_type.value_or(workload.data_type));
    }
  }
  return {.has_programs = true,
          .has_background = true,
          .has_fused_attention = is_fused,
          .product_types = std::move(types),
          .vector_passes = std::set<std::string>{"add"}};
}

class ProgramsReader final : public JobReader {
 public:
  ProgramsReader(const JobSetup& setup, WorkloadReader reader)
      : setup_(setup), read_(std::move(reader)) {}

  std::unique_ptr<Job> read() override;
  void plan(Job& job) override;
  std::unique_ptr<Job> as_programs() const override;
  void take_placement(PlannedWork of_programs) override;
  bool uses_host() const override { return strategy_ && strategy_->offload.is_on(); }
  bool uses_framework() const override { return true; }
  compute::WorkTraits traits() const override { return traits_; }
  std::string replay_objection() const override { return replay_objection_; }

 private:
  void check_peaks(const workload::Workload& workload);
  void note_algorithms_of_graphs(Section& strategy);
  void note_unused_sram(Section& strategy);
  void use_graphs(GraphsJob& job, plan::Plan plan, plan::BytesByChannel in_channels);
  ConfigError placed(const ConfigError& error);

  JobSetup setup_;
  WorkloadReader read_;
  workload::Workload workload_;
  std::optional<plan::Strategy> strategy_;
  std::string placed_by_;  // see PlannedWork; of graphs
  compute::WorkTraits traits_;
  std::string replay_objection_;
};

std::unique_ptr<Job> ProgramsReader::read() {
  Section workload_section = setup_.section.section("workload");
  std::optional<workload::Workload> workload = read_(workload_section);
  if (!workload) {
    return nullptr;  // it has been complained about
  }
  workload_ = std::move(*workload);
  const Platform& platform = setup_.platform;
  Section strategy_section = setup_.section.section("strategy");
  strategy_ = plan::read_strategy(
      strategy_section, workload_, *platform.machine.topology,
      setup_.tiles.are_all ? std::vector<EntityId>{} : setup_.tiles.nodes.listed());
  if (strategy_->aggregation != plan::Aggregation::none && setup_.machine.has("faults") &&
      setup_.machine.section("faults").has("links")) {
    strategy_section.error("aggregation",
                           "a tile cannot stand for others on a machine with faulty links "
                           "(machine.faults.links); slow nodes are fine");
  }
  if (strategy_->offload.is_on() && !platform.machine.host.is_there()) {
    strategy_section.error("offload", "needs the link to the host: machine.host.bandwidth");
  }
  if (strategy_->software.host_waits != plan::HostWaits::passes &&
      !(platform.compute && platform.compute->has_hosts())) {
    Section software = strategy_section.section("software");
    config::note_without_effect(software, "host_waits",
                                "a machine without hosts (machine.compute.issue)");
    strategy_->software.host_waits = plan::HostWaits::passes;
  }
  note_unused_sram(strategy_section);
  check_peaks(workload_);
  traits_ = traits_of(workload_);
  traits_.has_closed_collectives = strategy_->aggregation != plan::Aggregation::none;
  std::unique_ptr<Job> job = std::make_unique<ProgramsJob>(setup_.tiles.nodes);
  if (setup_.section.has("execution")) {
    executor::GraphOptions usual;
    usual.data_type = workload_.data_type;
    usual.slots[static_cast<std::size_t>(executor::Lane::memory)] = 0;  // programs wait by slot
    Section execution = setup_.section.section("execution");
    auto graph = read_execution(execution, platform.machine, setup_.tiles.nodes.listed(), usual,
                                setup_.load);
    traits_.product_types->insert(graph->options.data_type);
    note_algorithms_of_graphs(strategy_section);
    auto graphs =
        std::make_unique<GraphsJob>(std::move(graph), workload_.samples,
                                    static_cast<double>(workload_.flops_per_sample().count()) *
                                        static_cast<double>(workload_.samples));
    graphs->keep_tokens(workload_.samples * workload_.tokens_a_sample);
    job = std::move(graphs);
    traits_.has_programs = traits_.has_closed_collectives = false;
    replay_objection_ = "graphs are simulated whole";
  }
  job->name = workload_.name;
  return job;
}

void ProgramsReader::note_algorithms_of_graphs(Section& strategy) {
  Section collectives = strategy.section("collectives");
  for (const auto& [key, algorithm] :
       {std::pair{"tensor", strategy_->tensor_algorithm}, {"data", strategy_->data_algorithm}}) {
    if (algorithm != plan::usual_algorithm) {
      config::note_without_effect(collectives, key,
                                  "graphs, whose collectives use execution.collectives");
    }
  }
}

void ProgramsReader::note_unused_sram(Section& strategy) {
  const machine::Machine& machine = setup_.platform.machine;
  const std::vector<const machine::Tile*> kinds = kinds_of(machine, setup_.tiles.nodes);
  const bool is_streamed =
      !machine.channels.empty() && std::ranges::any_of(kinds, [](const machine::Tile* tile) {
        return tile->sram > Bytes() && !tile->streams_nothing();
      });
  if (strategy_->sram != plan::SramAllocation::resident && !is_streamed) {
    config::note_without_effect(strategy, "sram",
                                "tiles that stream nothing into SRAM (tile.operands, tile.sram, "
                                "dram)");
  }
  if (std::ranges::all_of(kinds, &machine::Tile::loads_operands)) {
    note_key_of_tiles(machine, setup_.machine, "sram", &machine::Tile::sram,
                      &machine::Tile::loads_operands,
                      "cores that load operands themselves (machine.compute.operands: memory)");
  }
}

void ProgramsReader::check_peaks(const workload::Workload& workload) {
  for (const machine::Tile* tile : kinds_of(setup_.platform.machine, setup_.tiles.nodes)) {
    if (tile->peak.empty()) {
      // Else it has been complained about.
      if (!setup_.machine.has("tile") && tile->name.empty()) {
        setup_.machine.error("tile", "missing; tile.peak must give the rate of " +
                                         to_string(workload.data_type) +
                                         ", in which the workload computes");
      }
    } else if (tile->peak.find(workload.data_type) == tile->peak.end()) {
      std::vector<std::string> types;
      for (const auto& [type, peak] : tile->peak) {
        types.push_back(to_string(type));
      }
      setup_.section.error("workload", "the workload computes in " + to_string(workload.data_type) +
                                           ", but the machine gives a peak for " + join(types) +
                                           " only (machine." + tile->peak_key() + ")");
    }
  }
}

std::unique_ptr<Job> ProgramsReader::as_programs() const {
  const bool are_settled = setup_.section.has("execution") && strategy_->layout == "optimized";
  return are_settled ? std::make_unique<ProgramsJob>(setup_.tiles.nodes) : nullptr;
}

void ProgramsReader::take_placement(PlannedWork of_programs) {
  strategy_->placement.tiles = of_programs.plan.strategy.placement.tiles;
  placed_by_ = std::move(of_programs.placed_by);
  workload_ = std::move(of_programs.workload);
}

void ProgramsReader::plan(Job& job) {
  const Platform& platform = setup_.platform;
  try {
    plan::Plan plan = plan_of(platform, workload_, *strategy_);
    job.ideal_time =
        plan::ideal_time(platform.machine, plan,
                         arithmetic_time_of(*platform.compute, platform.machine), job.iterations);
    plan::BytesByChannel in_channels;
    if (strategy_->check_capacity) {
      in_channels = plan::bytes_in_channels(platform.machine, plan);
    }
    if (traits_.has_programs) {
      traits_.has_background = overlaps_collectives(plan);
    }
    if (PlannedWork* const planned = job.planned()) {
      *planned = {std::move(workload_), std::move(plan), std::move(in_channels)};
    } else {
      use_graphs(dynamic_cast<GraphsJob&>(job), std::move(plan), std::move(in_channels));
    }
  } catch (const ConfigError& error) {
    throw placed(error);
  }
}

std::string name_of_stage(std::size_t stage) {
  return "stage " + std::to_string(stage);
}

std::vector<StagePeak> peaks_of(const machine::Machine& machine, const plan::Plan& plan) {
  std::vector<StagePeak> peaks;
  for (std::uint32_t stage = 0; stage < plan.stages.size(); ++stage) {
    const std::vector<plan::Pass> passes = plan.strategy.passes(stage, plan.training);
    peaks.push_back({name_of_stage(stage), plan::peak_over(machine, plan, stage, passes)});
  }
  return peaks;
}

std::vector<JobDescription::Peak> described_peaks(const plan::Plan& plan) {
  std::vector<JobDescription::Peak> peaks;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const plan::StageMemory& memory = plan.stages[stage].memory;
    peaks.push_back({name_of_stage(stage), memory.peak, memory.offloaded()});
  }
  return peaks;
}

void ProgramsReader::use_graphs(GraphsJob& job, plan::Plan plan, plan::BytesByChannel in_channels) {
  job.keep_peaks(peaks_of(setup_.platform.machine, plan), described_peaks(plan));
  job.keep_in_channels(std::move(in_channels));
  job.keep_plan_notes({note_of_placement(placed_by_),
                       plan::note_of_peaks(setup_.platform.machine, plan),
                       plan::note_of_recomputation(workload_, plan.strategy)});
  Section workload = setup_.section.section("workload");
  Section execution = setup_.section.section("execution");
  add_source(
      job.graph(),
      plan::make_graph_source(std::make_shared<plan::Plan>(std::move(plan)), job.graph().nodes),
      {setup_.platform.machine}, workload, execution);
  note_unused_collectives(execution.section("collectives"), setup_.platform, job.graph());
  list_operations_of_cores(setup_.platform, job.graph());
}

// The plan knows no places. A complaint of it that begins with the path of a key, as in
// "placement.group: ...", is put there, any other at the strategy.
ConfigError ProgramsReader::placed(const ConfigError& error) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  Section strategy = setup_.section.section("strategy");
  for (Diagnostic& diagnostic : diagnostics) {
    if (!diagnostic.file.empty()) {
      continue;
    }
    const std::string key = diagnostic.message.substr(0, diagnostic.message.find(": "));
    const std::size_t dot = key.find('.');
    Section part = dot == std::string::npos ? strategy : strategy.section(key.substr(0, dot));
    const std::string last = key.substr(dot == std::string::npos ? 0 : dot + 1);
    const bool is_there = part.has(last);
    const config::Place place =
        is_there ? part.place_of(last) : setup_.section.place_of("strategy");
    diagnostic = {place.file, place.line, place.column,
                  strategy.path() + (is_there ? "." : ": ") + diagnostic.message};
  }
  return ConfigError(diagnostics);
}

}  // namespace

plan::Plan plan_of(const Platform& platform, const workload::Workload& workload,
                   const plan::Strategy& strategy) {
  return plan_of(platform, workload, strategy, network::sharing_of(*platform.network));
}

plan::Plan plan_of(const Platform& platform, const workload::Workload& workload,
                   const plan::Strategy& strategy, plan::Sharing sharing) {
  return with_transfers(platform, [&](const plan::Transfers& transfers) {
    return plan::make_plan(platform.machine, workload, strategy, operation_time_of(platform),
                           transfers, sharing);
  });
}

SimTime estimated_iteration(const Platform& platform, const plan::Plan& plan,
                            plan::Sharing sharing) {
  return with_transfers(platform, [&](const plan::Transfers& transfers) {
    return plan::placed_time(platform.machine, plan, operation_time_of(platform), transfers,
                             sharing);
  });
}

JobDescription ProgramsJob::describe(const Platform& platform) const {
  const plan::Plan& plan = planned_.plan;
  const plan::Degrees& degrees = plan.strategy.degrees;
  JobDescription text;
  text.entities = {{"tiles at work", std::to_string(degrees.tiles())},
                   {"pipeline stages", std::to_string(plan.stages.size())},
                   {"micro-batches a replica", std::to_string(plan.strategy.micro_batches)},
                   {"instructions an iteration", std::to_string(plan.instructions())},
                   {"parameters", std::to_string(planned_.workload.parameters())}};
  text.tables = "\n# memory of one tile of each stage\n" + memory_table(planned_) +
                "\n# of one tile, when it holds most\n" + peak_table(plan) +
                traffic_table(platform.machine, plan);
  text.peaks = described_peaks(plan);
  text.ideal = "ideal iteration (arithmetic only)";
  return text;
}

std::string ProgramsJob::brief() const {
  const plan::Plan& plan = planned_.plan;
  const plan::Degrees& degrees = plan.strategy.degrees;
  return "plan: pipeline " + std::to_string(degrees.pipeline) + ", tensor " +
         std::to_string(degrees.tensor) + ", data " + std::to_string(degrees.data) + "; schedule " +
         plan.strategy.schedule + ", layout " + plan.strategy.layout + ", " +
         std::to_string(plan.strategy.micro_batches) + " micro-batches, " +
         std::to_string(plan.instructions()) + " instructions an iteration";
}

std::shared_ptr<const workload::GraphSource> ProgramsJob::graphs(const Platform&) const {
  // Not owned: who asks keeps the job.
  return plan::make_graph_source(
      std::shared_ptr<const plan::Plan>(std::shared_ptr<void>(), &planned_.plan), nodes_.listed());
}

void ProgramsJob::number(NextNumbers& next) {
  planned_.plan.first_operation = next.operation;
  next.operation += static_cast<std::uint32_t>(planned_.plan.operations.size());
}

Job::BytesByNode ProgramsJob::kept(const Platform& platform, const ServingMemory&) const {
  return bytes_by_node(platform.machine, planned_.in_channels);
}

std::unique_ptr<JobReader> make_programs_reader(const JobSetup& setup, WorkloadReader read) {
  return std::make_unique<ProgramsReader>(setup, std::move(read));
}

namespace {

const FamilyRegistration layers_family(
    {[]() -> const NamedParts& { return workload::workloads(); },
     WorkKind{.parts = {"workload", "strategy"},
              .read =
                  [](const JobSetup& setup) {
                    return make_programs_reader(setup, workload::read_workload);
                  },
              .complain = [](Section& workload) { workload::read_workload(workload); },
              .layers = workload::read_workload,
              .describe = workload::section_of_kind,
              .lists = {{"workloads", [] { return workload::workloads().infos(); }}}}});

}  // namespace
}  // namespace tessera::sim
