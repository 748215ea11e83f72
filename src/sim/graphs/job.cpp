#include "graphs/job.hpp"

#include <algorithm>
#include <set>

#include "cuts/cutter_of_jobs.hpp"
#include "graphs/coherence.hpp"
#include "graphs/cut.hpp"
#include "graphs/experiment.hpp"
#include "graphs/tensor_tables.hpp"
#include "graphs/unused_collectives.hpp"
#include "jobs/families.hpp"
#include "jobs/npu_memories.hpp"
#include "jobs/tiles.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/workload/graph_workload.hpp"
#include "tessera/workload/keys.hpp"
#include "tessera/workload/sections.hpp"

namespace tessera::sim {
namespace {

using config::Section;

class GraphsReader final : public JobReader {
 public:
  explicit GraphsReader(const JobSetup& setup) : setup_(setup) {}

  std::unique_ptr<Job> read() override {
    Section workload = setup_.section.section("workload");
    if (setup_.section.has("strategy")) {
      setup_.section.raw("strategy");
      setup_.section.error("strategy",
                           "the workload is graphs, which hold their own; execution says how "
                           "they run");
    }
    Section execution = setup_.section.section("execution");
    auto graph = read_execution(execution, setup_.platform.machine, setup_.tiles.nodes.listed(), {},
                                setup_.load);
    const MemoryParts parts = memory_parts(setup_.platform);
    const std::uint64_t samples = workload::samples_of_graphs().read(workload);
    std::unique_ptr<workload::GraphSource> source =
        read_graph_source(workload, parts, graph->nodes, setup_.load);
    if (source) {
      add_source(*graph, std::move(source), parts, workload, execution);
      note_unused_collectives(execution.section("collectives"), setup_.platform, *graph);
      note_operations(*graph);
      list_operations_of_cores(setup_.platform, *graph);
      use_coherence(setup_.platform, setup_.machine, *graph);
      uses_coherence_ = graph->coherence.has_value();
      uses_remote_memory_ = graph->survey.remote_accesses > 0;
      check_remote_access(*graph, execution.section("remote"));
    }
    auto job = std::make_unique<GraphsJob>(std::move(graph), samples);
    job->name = workload::read_title(workload);
    return job;
  }
  bool uses_coherence() const override { return uses_coherence_; }
  bool uses_remote_memory() const override { return uses_remote_memory_; }
  compute::WorkTraits traits() const override { return traits_; }
  std::string replay_objection() const override {
    return "is for pipelines of micro-batches; this is a graph";
  }

 private:
  // Nodes compute in the type that they say, or in that of all graphs; what is no product is
  // additions.
  void note_operations(const executor::GraphWork& graph) {
    std::set<DataType>& types = traits_.product_types.emplace(graph.survey.types);
    if (graph.survey.takes_usual_type()) {
      types.insert(graph.options.data_type);
    }
    traits_.computes_nothing = graph.survey.device_work == 0;
    traits_.has_fused_attention = graph.survey.has_fused_attention;
    traits_.accesses_nothing = traits_.computes_nothing && graph.survey.local_accesses == 0 &&
                               graph.survey.remote_accesses == 0;
    if (!graph.survey.has_vector_work) {
      traits_.vector_passes->clear();
    }
  }

  JobSetup setup_;
  compute::WorkTraits traits_{.has_background = true,
                              .vector_passes = std::set<std::string>{"add"}};
  bool uses_coherence_ = false;
  bool uses_remote_memory_ = false;
};

}  // namespace

JobDescription GraphsJob::describe(const Platform&) const {
  const workload::GraphSurvey& survey = graph_->survey;
  JobDescription text;
  text.entities = {{"NPUs", std::to_string(graph_->npus())},
                   {"iterations in a graph", std::to_string(graph_->source->iterations())},
                   {"nodes of graphs", std::to_string(survey.nodes)},
                   {"FLOPs", format_number(survey.flops)}};
  for (std::size_t kind = 0; kind < survey.collectives.size(); ++kind) {
    if (survey.collectives[kind] > 0) {
      text.entities.emplace_back("nodes of " + to_string(static_cast<collective::Kind>(kind)),
                                 std::to_string(survey.collectives[kind]));
    }
  }
  text.entities.emplace_back("communicators", std::to_string(graph_->groups.size()));
  if (const workload::TensorPlacement* const tensors = graph_->source->tensors()) {
    text.tables = tensor_tables(*tensors);
  }
  text.peaks = described_peaks_;
  return text;
}

bool GraphsJob::promises(const Platform& platform) const {
  // Cores have accesses with tags of their own, above the places of tasks.
  constexpr std::uint64_t most_places = 0x8000;
  const bool has_tags =
      graph_->operations.empty() || graph_->options.window + graph_->survey.reach < most_places;
  return has_tags && !graph_->nodes_answer() && !platform.network->lumps_rings();
}

std::string GraphsJob::brief() const {
  return "graphs: " + std::to_string(graph_->npus()) + " NPUs, " +
         std::to_string(graph_->survey.nodes) + " nodes, " + std::to_string(graph_->groups.size()) +
         " communicators";
}

std::string GraphsJob::warning() const {
  return ignored_nodes(graph_->survey);
}

SparseTable GraphsJob::cut(const Platform& platform, int ranks,
                           const machine::Weights& weights) const {
  refuse_too_many_ranks(cutter(), graph_->npus(), "NPUs", ranks);
  return cut_by_communicators(*graph_, platform.machine.topology->nodes(),
                              static_cast<std::uint32_t>(ranks), weights);
}

std::optional<memory::CoherentGroup> GraphsJob::coherent_group() const {
  return graph_->coherent_in_channels
             ? std::optional(memory::CoherentGroup{graph_->nodes, graph_->remote_of})
             : std::nullopt;
}

void GraphsJob::number(NextNumbers& next) {
  graph_->first_group = next.group;
  next.group += static_cast<std::uint32_t>(graph_->groups.size());
  graph_->first_operation = next.operation;
  next.operation += static_cast<std::uint32_t>(graph_->operations.size());
}

Job::BytesByNode GraphsJob::kept(const Platform& platform, const ServingMemory&) const {
  const machine::Machine& machine = platform.machine;
  BytesByNode kept = bytes_by_node(machine, in_channels_);
  const workload::TensorPlacement* const tensors = graph_->source->tensors();
  if (tensors == nullptr) {
    return kept;
  }
  const std::vector<EntityId> holders = holders_of(memory_parts(platform), graph_->nodes);
  for (std::uint32_t npu = 0; npu < graph_->npus(); ++npu) {
    const workload::TensorPlacement::Class& own = tensors->classes[tensors->class_of[npu]];
    if (has_own_channel(machine, graph_->nodes[npu])) {
      kept[graph_->nodes[npu]] += own.local;
    }
    if (!holders.empty()) {
      kept[holders[npu]] += own.remote;
    }
  }
  return kept;
}

namespace {

const FamilyRegistration graphs_family(
    {[]() -> const NamedParts& { return workload::graph_workloads(); },
     WorkKind{.read = [](const JobSetup& setup) { return std::make_unique<GraphsReader>(setup); },
              .describe = workload::section_of_kind,
              .lists = {{"graphs", [] { return workload::graph_workloads().infos(); }},
                        {"execution", [] {
                           return std::vector<PartInfo>{
                               {"execution", "how graphs are executed", execution_parameters()}};
                         }}}}});

const Registration communicators_cutter(
    cutters(),
    {"communicators", "NPUs that communicate most stay together (METIS); for execution graphs", {}},
    cutter_of_jobs("communicators", "cuts execution graphs, and there are none"));

}  // namespace
}  // namespace tessera::sim
