// Work that is graphs.
#include <algorithm>
#include <iterator>
#include <utility>

#include "graphs/experiment.hpp"
#include "graphs/job.hpp"
#include "graphs/library_choice.hpp"
#include "notes/through_host_note.hpp"
#include "tessera/executor/graph/forecast.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {
namespace {

// State of an NPU beside its graph: a few tables, most of them empty or short; and of a node that
// has been read, with what depends on it (measured).
constexpr std::size_t npu_bytes = 2048;
constexpr std::size_t node_bytes = 192;
// Of a graph that is gone through, one at a time: number and place of each node.
constexpr std::size_t place_bytes = 48;

class GraphsWork final : public Work {
 public:
  GraphsWork(const Platform& platform, const GraphsJob& job, const executor::GraphWork& graph,
             std::uint64_t samples, std::optional<double> flops)
      : platform_(platform), job_(job), graph_(graph), samples_(samples), flops_(flops) {
    for (std::uint32_t npu = 0; npu < graph.npus(); ++npu) {
      if (has_work(npu)) {
        at_work_.push_back(graph.nodes[npu]);
      }
    }
  }

  std::uint64_t tiles() const override { return at_work_.size(); }
  std::vector<EntityId> nodes() const override { return at_work_; }
  std::vector<StagePeak> known_peaks() const override { return job_.peaks(); }
  std::uint64_t roles() const override { return graph_.npus(); }
  bool has_work(std::uint32_t role) const override { return graph_.survey.at_work[role]; }
  std::uint32_t iterations() const override {
    return job_.iterations * graph_.source->iterations();
  }
  std::uint64_t instructions() const override {
    return graph_.survey.nodes / graph_.source->iterations();
  }
  double peak_flops_per_s() const override {
    std::map<DataType, double> flops = graph_.survey.flops_of_types;
    if (graph_.survey.untyped_work > 0) {
      double typed = 0;
      for (const auto& [type, count] : flops) {
        typed += count;
      }
      flops[graph_.options.data_type] += std::max(0.0, graph_.survey.flops - typed);
    }
    return mixed_peak(platform_, at_work_, flops, graph_.options.data_type);
  }
  std::uint64_t samples() const override { return samples_; }
  std::uint64_t tokens() const override { return job_.tokens(); }
  double flops_of_sample() const override {
    return flops_.value_or(flops_done()) / static_cast<double>(samples());
  }
  double flops_done() const override { return graph_.survey.flops / graph_.source->iterations(); }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    std::copy_if(job_.plan_notes().begin(), job_.plan_notes().end(), std::back_inserter(notes),
                 [](const std::string& note) { return !note.empty(); });
    if (!graph_.survey.is_issued && platform_.compute && platform_.compute->has_hosts()) {
      notes.push_back(no_hosts + "graphs: what hosts issue, and when, is known only for plans");
    }
    if (const std::string ignored = ignored_nodes(graph_.survey); !ignored.empty()) {
      notes.push_back(ignored);
    }
    if (graph_.assumes_type) {
      notes.push_back("work that states no data type is assumed to be in " +
                      to_string(graph_.options.data_type) + " (execution.data_type)");
    }
    if (platform_.machine.power && platform_.machine.power->link_w > 0) {
      notes.emplace_back(
          "machine.power.link: an NPU that waits for memory and a collective at once counts as "
          "waiting for memory, and one that waits for a message as using its links, whether the "
          "message is being sent or not; a plan that is not a graph is counted differently");
    }
    if (graph_.survey.without_shape > 0 && platform_.compute->uses_shapes()) {
      notes.push_back(
          std::to_string(graph_.survey.without_shape) +
          " nodes compute products of unknown shape, which machine.compute treats as vector work");
    }
    note_coherence(notes);
    const auto& options = graph_.options;
    bool adds = false;
    for (std::size_t kind = 0; kind < collective::kinds; ++kind) {
      adds = adds || (graph_.survey.collectives[kind] > 0 &&
                      collective::adds_up(static_cast<collective::Kind>(kind)));
    }
    const bool is_free =
        std::all_of(options.step_costs.begin(), options.step_costs.end(),
                    [](const auto& costs) { return costs.local_memory == Bandwidth(); });
    if (adds && is_free) {
      notes.emplace_back(free_additions + " (execution.collectives.local_memory)");
    }
    if (platform_.network->shares_evenly() && has_all_to_alls_by_rings(graph_)) {
      notes.emplace_back(
          "ring all-to-alls forward what arrived in the previous step: where their messages "
          "contend, each arrives later with even shares of a link (machine.network.model) than if "
          "sent one after the other, as packets are");
    }
    note_library(notes);
    note_unused_way_of(platform_.machine, "graphs", notes);
    return notes;
  }
  std::vector<std::string> phases() const override { return {"compute"}; }  // graphs tell no more
  std::vector<executor::Activity> activities() const override {
    return {executor::Activity::compute, executor::Activity::memory,
            executor::Activity::host,    executor::Activity::collective,
            executor::Activity::message, executor::Activity::bubble};
  }
  std::vector<Part> parts() const override { return {{"all", tiles()}}; }
  std::size_t part_of(std::uint32_t) const override { return 0; }
  const std::vector<std::string>& names() const override { return graph_.names; }
  std::vector<EntityId> samples_of_parts() const override {
    constexpr std::size_t most = 8;
    return {graph_.nodes.begin(), graph_.nodes.begin() + static_cast<std::ptrdiff_t>(
                                                             std::min(most, graph_.nodes.size()))};
  }
  void describe(EntityId node, trace::NodeRow& row) const override {
    if (platform_.machine.topology->computes(node)) {
      row.stage = 0;
    }
  }

  std::size_t shared_bytes() const override {
    std::size_t bytes = graph_.nodes.size() * sizeof(EntityId);
    for (const executor::GraphGroup& group : graph_.groups) {
      bytes += group.members.size() * sizeof(std::uint32_t);
    }
    return bytes + nodes_a_tile() * place_bytes;
  }
  std::size_t bytes_a_tile() const override {
    return npu_bytes +
           std::min(nodes_a_tile(), graph_.options.window + graph_.survey.reach) * node_bytes;
  }
  std::size_t compute_bytes(std::uint64_t nodes) const override {
    return platform_.compute->predicted_bytes(nodes);
  }
  void visit_messages(const MessageVisit& visit) const override {
    const std::optional<WorkForecast> first = forecast();
    for (const WorkForecast::Talk& talk : first->talks) {
      visit({.from = talk.from,
             .to = talk.to,
             .bytes = talk.bytes,
             .at_once = talk.peers,
             .made_s = job_.ideal_time.seconds()});
    }
  }
  Wide operand_bytes() const override {
    Wide sum = 0;
    graph_.survey.computed_bytes.visit([&](std::size_t npu, Wide bytes) {
      const machine::Tile& tile = platform_.machine.tile_of(graph_.nodes[npu]);
      if (tile.operands_in_dram && !tile.loads_operands) {
        sum += bytes * job_.iterations;
      }
    });
    return sum;
  }
  SparseCounts predicted_events() const override {
    return {platform_.machine.topology->nodes(), 1};
  }
  std::uint64_t events_of_tile() const override {
    constexpr std::uint64_t of_node = 2;  // begun, and over
    return of_node * instructions() / std::max<std::uint64_t>(1, tiles());
  }
  std::unique_ptr<compute::Compute> make_compute(std::span<const EntityId> members) const override {
    return make_model_cores(platform_, graph_.operations, members);
  }
  // Else models are asked for times alone.
  std::span<const workload::Operation> operations() const override { return graph_.operations; }
  bool tells_when_cores_begin() const override { return true; }
  std::unique_ptr<executor::Executor> make_executor(
      std::span<const EntityId> members, executor::Observer* observer,
      const executor::OutlookSetup& outlook) const override {
    return executor::make_graph_executor(setup_of(members, observer, outlook));
  }
  std::optional<WorkForecast> forecast() const override {
    constexpr std::uint64_t most_nodes = 200'000;
    const executor::GraphForecast first =
        executor::forecast_graphs(setup_of({}, nullptr, {}), most_nodes);
    WorkForecast forecast;
    for (const executor::GraphForecast::Run& run : first.runs) {
      forecast.runs.push_back({graph_.nodes[run.npu], run.end});
    }
    for (const executor::GraphForecast::Talk& talk : first.talks) {
      forecast.talks.push_back({graph_.nodes[talk.from], graph_.nodes[talk.to], talk.messages,
                                talk.bytes, talk.begin, talk.end, talk.peers});
    }
    const double all = static_cast<double>(graph_.survey.nodes) * job_.iterations;
    forecast.part = all > 0 ? std::min(1.0, static_cast<double>(first.nodes) / all) : 1;
    return forecast;
  }
  bool knows_pairs() const override { return !graph_.nodes_answer(); }
  void visit_pairs(const std::function<void(EntityId, EntityId)>& visit) const override {
    executor::visit_graph_pairs(setup_of({}, nullptr, {}), visit);
    const machine::Machine& machine = platform_.machine;
    const bool accesses = graph_.survey.local_accesses + graph_.survey.remote_accesses > 0;
    if (machine.channels.empty() || (!accesses && graph_.operations.empty())) {
      return;
    }
    for (const EntityId node : at_work_) {
      if (machine.channel_of[node.value()] >= machine.channels.size()) {
        continue;  // it has none
      }
      const EntityId memory = machine.channels[machine.channel_of[node.value()]].node;
      visit(node, memory);
      visit(memory, node);
    }
  }

 private:
  // Keys of coherence that nothing goes by.
  void note_coherence(std::vector<std::string>& notes) const {
    if (!graph_.coherence) {
      return;
    }
    const memory::CoherenceOptions& options = graph_.coherence->options();
    const memory::CoherenceOptions usual;
    if (!graph_.coherent_in_channels && options.piece != usual.piece) {
      notes.emplace_back(
          "machine.coherence.piece has no effect: it applies to devices with channels "
          "(machine.dram.memories)");
    }
    if (options.flit == 0 && options.headers != usual.headers) {
      notes.emplace_back(
          "machine.coherence.headers has no effect: it applies to flits (machine.coherence.flit)");
    }
    if (graph_.survey.remote_loads == 0 && options.reads != usual.reads) {
      notes.emplace_back(
          "machine.coherence.reads has no effect: it applies to loads, and these graphs only "
          "store");
    }
  }
  void note_library(std::vector<std::string>& notes) const {
    const collective::LibrarySettings& library = platform_.network->overheads().library;
    bool models_any = false;
    for (std::size_t kind = 0; kind < collective::kinds; ++kind) {
      models_any =
          models_any || (graph_.survey.collectives[kind] > 0 &&
                         collective::models(library.library, static_cast<collective::Kind>(kind)));
    }
    if (models_any) {
      notes.emplace_back(
          "machine.network.library chooses rings or trees for all-reduces, all-gathers and "
          "reduce-scatters of whole groups, with the latencies of the machine's links and no "
          "protocols; where switches reduce (NVLS), collectives take the library's time and occupy "
          "no link");
    }
  }
  std::uint64_t nodes_a_tile() const {
    return graph_.survey.nodes / std::max(1U, graph_.npus()) + 1;
  }

  executor::GraphSetup setup_of(std::span<const EntityId> members, executor::Observer* observer,
                                const executor::OutlookSetup& outlook) const {
    const machine::Machine& machine = platform_.machine;
    std::shared_ptr<const machine::Routing> routing =
        machine::make_routing(platform_.network->routing(), *machine.topology);
    return {
        machine,
        graph_,
        members,
        [&platform = platform_](EntityId node, const workload::Operation& operation, bool beside) {
          const machine::Tile& tile = platform.machine.tile_of(node);
          const compute::ComputeModel& model = platform.compute->of(tile);
          return beside && model.slows_beside()
                     ? model.duration_beside(platform.machine, tile, operation, {})
                     : model.duration(platform.machine, tile, operation);
        },
        [&platform = platform_, routing](EntityId from, EntityId to, Bytes bytes) {
          return platform.network->idle_time(
              machine::path_between(*platform.machine.topology, *routing, from, to), bytes);
        },
        [&platform = platform_](Bytes bytes, bool in_switch) {
          return platform.remote_memory->access_time(
              bytes, in_switch ? memory::InSwitch::collective : memory::InSwitch::none);
        },
        job_.iterations,
        platform_.network->overheads().collective,
        platform_.network->lumps_rings(),
        executor_slot,
        network_slot,
        memory_slot,
        observer,
        coherent_slot,
        outlook,
        host_times(),
        library_of_groups(platform_.network->overheads().library, machine, routing),
        is_core(),
        [&platform = platform_](EntityId node, const workload::Operation& operation) {
          const machine::Tile& tile = platform.machine.tile_of(node);
          return platform.machine.speeds.contains(node)
                     ? SimTime::zero()
                     : platform.compute->of(tile).least_duration(platform.machine, tile, operation);
        },
        compute_slot};
  }

  std::function<bool(EntityId)> is_core() const {
    if (graph_.operations.empty()) {
      return {};
    }
    return [&platform = platform_](EntityId node) {
      return npu::core_of(platform.compute->of(platform.machine.tile_of(node))) != nullptr;
    };
  }

  std::function<compute::HostTimes(EntityId)> host_times() const {
    if (!platform_.compute || !platform_.compute->has_hosts()) {
      return {};
    }
    return [&platform = platform_](EntityId node) {
      return platform.compute->of(platform.machine.tile_of(node)).host_times();
    };
  }

  const Platform& platform_;
  const GraphsJob& job_;
  const executor::GraphWork& graph_;
  std::uint64_t samples_;
  std::optional<double> flops_;
  std::vector<EntityId> at_work_;
};

}  // namespace

std::unique_ptr<Work> GraphsJob::work(const Platform& platform) const {
  return std::make_unique<GraphsWork>(platform, *this, *graph_,
                                      std::max<std::uint64_t>(1, samples_), flops_);
}

}  // namespace tessera::sim
