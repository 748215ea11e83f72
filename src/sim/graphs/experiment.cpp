// Reads the section `execution` of experiments whose workload is graphs; docs/manual/graphs.md has
// its keys with their defaults.
#include "graphs/experiment.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "graphs/execution_collectives.hpp"
#include "jobs/npu_memories.hpp"
#include "jobs/tiles.hpp"
#include "results/trace_names.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/config/data_type_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/text.hpp"
#include "tessera/executor/collectives/group_dimensions.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/workload/graph_survey.hpp"
#include "tessera/workload/graph_workload.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::sim {
namespace {

using config::ChoiceKey;
using config::DerivedKey;
using config::Section;

struct LaneKey {
  executor::Lane lane;
  DerivedKey<std::uint32_t> slots;
};

// Of nodes at a time.
LaneKey lane_key(executor::Lane lane, const char* usual) {
  return {lane,
          {"lanes." + to_string(lane), usual,
           "nodes of an NPU that run at a time; 0: all that are ready",
           config::between(0U, 1'000'000U)}};
}

const std::array<LaneKey, executor::lanes> lane_keys{
    lane_key(executor::Lane::host, "1"), lane_key(executor::Lane::compute, "1"),
    lane_key(executor::Lane::memory, "1; for programs of a strategy 0"),
    lane_key(executor::Lane::collective, "0"), lane_key(executor::Lane::message, "0")};
const ChoiceKey<bool> newest_first{
    "lanes.collective_queue",
    {{"fifo", false}, {"lifo", true}},
    "fifo",
    "order of collectives of one priority that wait for their lane: fifo, the lowest number "
    "first, or lifo"};

void read_lanes(Section section, executor::GraphOptions& options) {
  for (const LaneKey& key : lane_keys) {
    std::uint32_t& slots = options.slots[static_cast<std::size_t>(key.lane)];
    slots = key.slots.read(section, slots);
  }
  options.newest_collective_first = newest_first.read(section);
}

// Algorithms need not offer every kind: whether they do for what graphs ask for.
void check_algorithms(const workload::GraphSurvey& survey, const executor::GraphOptions& options,
                      Section collectives) {
  for (std::size_t number = 0; number < survey.collectives.size(); ++number) {
    if (survey.collectives[number] == 0) {
      continue;
    }
    const auto asked = static_cast<collective::Kind>(number);
    if (options.flat_communicators) {
      const std::string& name = options.other_algorithm;
      if (!collective::algorithms().at(name)({})->offers(asked)) {
        collectives.error("other_algorithm", name + " has no " + to_string(asked));
        return;
      }
      continue;
    }
    for (const collective::ChunkPlan& chunk :
         collective::plan_chunks(asked, Bytes(1), options.dimensions, options.collectives)) {
      for (const collective::Phase& phase : chunk.phases) {
        const bool exchanges = phase.kind == collective::Kind::all_to_all;
        const std::string& name =
            (exchanges ? options.all_to_all : options.algorithms)[phase.dimension];
        if (!collective::algorithms().at(name)({})->offers(phase.kind)) {
          collectives.error(exchanges ? "all_to_all" : "algorithms",
                            name + " has no " + to_string(phase.kind) + ", which dimension " +
                                std::to_string(phase.dimension) + " needs for " + to_string(asked));
          return;
        }
      }
    }
  }
}

// Those that nodes say, and the one of the others.
void check_types(const executor::GraphWork& work, const machine::Machine& machine,
                 Section& section) {
  std::set<DataType> types = work.survey.types;
  if (work.survey.takes_usual_type()) {
    types.insert(work.options.data_type);
  }
  for (const machine::Tile* tile : kinds_of(machine, work.nodes)) {
    for (const DataType type : types) {
      if (!tile->peak.contains(type) && !tile->peak.contains(element_type(type))) {
        section.error("kind",
                      "its graphs compute, in " + to_string(type) +
                          (work.survey.types.contains(type) ? "" : " (execution.data_type)") +
                          ", but machine." + tile->peak_key() + " has no rate for that");
      }
    }
  }
}

void note_look(const MemoryParts& parts, Section& section, Section collectives,
               executor::GraphWork& work) {
  const machine::Machine& machine = parts.machine;
  const memory::RemoteMemory* const remote = parts.remote;
  const std::optional<workload::GraphSurvey> known = work.source->known();
  work.survey = known ? *known : workload::look_through(*work.source);
  if (work.survey.reach == 0) {
    work.survey.reach = workload::reach_of_some(*work.source);
  }
  const workload::GraphSurvey& survey = work.survey;
  for (const std::string& name : survey.names) {
    if (work.names.size() + 1 < most_names) {
      work.name_numbers[name] = static_cast<std::uint16_t>(work.names.size());
      work.names.push_back(name);
    }
  }
  work.names.emplace_back(other_names);
  check_algorithms(survey, work.options, std::move(collectives));
  if (survey.flops > 0) {
    check_types(work, machine, section);
  }
  if (survey.local_accesses > 0 && machine.channels.empty()) {
    section.error("kind", "its graphs load from and store to local memory " +
                              std::to_string(survey.local_accesses) +
                              " times, but the machine has none (machine.dram)");
  }
  work.remote_in_channels = remote_in_channels(parts);
  if (survey.remote_accesses > 0 && remote == nullptr && !work.remote_in_channels) {
    work.remote_of = remote_memories_of(machine, work.nodes);
  }
  if (survey.remote_accesses > 0 && remote == nullptr && !work.remote_in_channels &&
      work.remote_of.empty()) {
    section.error("kind", "its graphs load from and store to remote memory " +
                              std::to_string(survey.remote_accesses) +
                              " times, but the machine has none (machine.remote_memory, nodes of "
                              "kind memory, or machine.dram at nodes that do not compute)");
  } else if (survey.gathered_accesses > 0 && (remote == nullptr || !remote->gathers())) {
    section.error("kind",
                  "its graphs let switches gather what they load, but those of "
                  "machine.remote_memory cannot");
  }
}

const ChoiceKey<executor::NodeTimes> times{
    "times",
    {{"model", executor::NodeTimes::model}, {"recorded", executor::NodeTimes::recorded}},
    executor::GraphOptions{}.times,
    "times of nodes that compute: from the model, or as recorded in the trace"};
const ChoiceKey<executor::Sends> sends{
    "sends",
    {{"eager", executor::Sends::eager}, {"delivered", executor::Sends::delivered}},
    executor::GraphOptions{}.sends,
    "when sends complete: eager: at once; delivered: after the time of their message, occupying "
    "the lane of collectives"};
const ChoiceKey<bool> requests{"remote.request",
                               {{"sent", true}, {"free", false}},
                               executor::RemoteAccess{}.requests,
                               "requests of loads from memory nodes: sent: as a message before "
                               "the data comes back; free: loads take only the time of the "
                               "data's path"};
const ChoiceKey<bool> acknowledged{"remote.stores",
                                   {{"acknowledged", true}, {"posted", false}},
                                   executor::RemoteAccess{}.acknowledged,
                                   "when stores to memory nodes complete: acknowledged: with the "
                                   "answer; posted: when the data has been sent"};
const ChoiceKey<DataType> data_type =
    ChoiceKey<DataType>("data_type", config::data_types(),
                        "fp16; with a strategy, that of its workload",
                        "type of work for which a graph states no type")
        .derived();

bool has_all_to_alls(const executor::GraphWork& work) {
  return work.survey.collectives[static_cast<std::size_t>(collective::Kind::all_to_all)] > 0;
}

// Whether there are communicators that are no box of the machine's dimensions.
bool has_other_communicators(const executor::GraphWork& work) {
  const executor::GraphOptions& options = work.options;
  if (options.flat_communicators) {
    return true;
  }
  std::vector<std::uint32_t> sizes;
  for (const collective::StackedDimension& dimension : options.dimensions) {
    sizes.push_back(dimension.size);
  }
  return std::any_of(work.groups.begin(), work.groups.end(), [&](const auto& group) {
    return options.collectives.conventions->is_flat(group.members.size(), work.npus()) ||
           executor::box_of(group.members, sizes).empty();
  });
}

// Whether some communicator may go by `other_algorithm`.
bool uses_other_algorithm(const executor::GraphWork& work) {
  return has_all_to_alls(work) || has_other_communicators(work);
}

// Of what these graphs do.
void note_keys_without_effect(const executor::GraphWork& work, Section& execution) {
  if (execution.has(data_type.key()) && work.options.data_type != work.usual_type &&
      work.survey.untyped_work == 0) {
    config::note_without_effect(execution, data_type.key(),
                                work.survey.device_work == 0
                                    ? "graphs that compute nothing"
                                    : "graphs that state the type of all that they compute");
  }
  if (work.options.sends == executor::Sends::delivered && work.survey.sends == 0) {
    config::note_without_effect(execution, sends.key(), "graphs that send no messages");
  }
  if (work.options.times == executor::NodeTimes::recorded && work.survey.recorded == 0) {
    config::note_without_effect(execution, times.key(),
                                work.survey.is_issued
                                    ? "a plan, which has no recorded times"
                                    : "graphs without recorded times of nodes that have work");
  }
  if (work.options.other_algorithm != executor::GraphOptions{}.other_algorithm &&
      !uses_other_algorithm(work)) {
    Section collectives = execution.section("collectives");
    config::note_without_effect(collectives, "other_algorithm",
                                "communicators that all fill a box of the dimensions");
  }
  if (work.survey.remote_accesses > 0 || !execution.has("remote")) {
    return;
  }
  constexpr std::string_view without = "graphs that access no remote memory";
  Section remote = execution.section("remote");
  if (remote.keys().empty()) {
    config::note_without_effect(execution, "remote", without);
  }
  if (!work.options.remote.requests) {
    config::note_without_effect(remote, requests.key(), without);
  }
  if (!work.options.remote.acknowledged) {
    config::note_without_effect(remote, acknowledged.key(), without);
  }
}

const config::Key<std::uint32_t> window = config::of_cost(config::Key<std::uint32_t>(
    "window", executor::GraphOptions{}.window,
    "nodes of an NPU that are read at a time; more where dependencies require it",
    config::between(1U, 1'000'000U)));

}  // namespace

std::vector<ParameterInfo> execution_parameters() {
  std::vector<ParameterInfo> list{times, sends, requests, acknowledged, data_type, window};
  for (const LaneKey& key : lane_keys) {
    list.push_back(key.slots);
  }
  list.push_back(newest_first);
  const std::vector<ParameterInfo> collectives = collective_parameters();
  list.insert(list.end(), collectives.begin(), collectives.end());
  return list;
}

std::unique_ptr<executor::GraphWork> read_execution(Section execution,
                                                    const machine::Machine& machine,
                                                    const std::vector<EntityId>& npus,
                                                    const executor::GraphOptions& usual,
                                                    const config::TextLoader& load) {
  auto work = std::make_unique<executor::GraphWork>();
  const machine::Topology& topology = *machine.topology;
  work->nodes = npus;
  executor::GraphOptions& options = work->options;
  options = usual;
  work->usual_type = usual.data_type;
  options.times = times.read(execution);
  options.sends = sends.read(execution);
  Section remote = execution.section("remote");
  options.remote.requests = requests.read(remote);
  options.remote.acknowledged = acknowledged.read(remote);
  options.data_type = data_type.read(execution, to_string(usual.data_type));
  options.window = window.read(execution);
  read_lanes(execution.section("lanes"), options);
  read_collectives(execution.section("collectives"), topology, work->nodes, load, options);
  return work;
}

std::unique_ptr<workload::GraphSource> read_graph_source(Section& workload,
                                                         const MemoryParts& parts,
                                                         const std::vector<EntityId>& npus,
                                                         const config::TextLoader& load) {
  const std::string kind =
      workload::kind_key([] { return workload::graph_workloads().names(); }).read(workload);
  workload::title_key().read(workload, kind);
  auto source = workload::graph_workloads().at(kind)(
      workload,
      {static_cast<std::uint32_t>(npus.size()), load, [&] { return npu_memories(parts, npus); }});
  workload.finish();
  return source;
}

bool has_all_to_alls_by_rings(const executor::GraphWork& work) {
  const executor::GraphOptions& options = work.options;
  const auto is_ring = [](const std::string& name) { return name.starts_with("ring"); };
  const std::vector<std::string>& own =
      options.all_to_all.empty() ? options.algorithms : options.all_to_all;
  const bool in_dimensions =
      !options.flat_communicators && std::any_of(own.begin(), own.end(), is_ring);
  return has_all_to_alls(work) &&
         (in_dimensions ||
          (has_other_communicators(work) &&
           is_ring(options.collectives.conventions->all_to_all(options.other_algorithm))));
}

std::string ignored_nodes(const workload::GraphSurvey& survey) {
  std::vector<std::string> parts;
  if (survey.without_action > 0) {
    parts.push_back(std::to_string(survey.without_action) +
                    " are metadata or have no type, and do nothing");
  }
  if (survey.without_work > 0) {
    parts.push_back(
        std::to_string(survey.without_work) +
        " compute but state neither work nor a time (on the host: no time), and take none");
  }
  return parts.empty() ? "" : "of " + std::to_string(survey.nodes) + " nodes, " + join(parts);
}

// Whether rates of the NPUs differ from type to type.
bool depends_on_type(const machine::Machine& machine, const std::vector<EntityId>& npus) {
  return std::ranges::any_of(kinds_of(machine, npus), [](const machine::Tile* tile) {
    return std::ranges::any_of(
        tile->peak, [&](const auto& rate) { return rate.second != tile->peak.begin()->second; });
  });
}

void add_source(executor::GraphWork& work, std::shared_ptr<const workload::GraphSource> source,
                const MemoryParts& parts, Section& workload, Section execution) {
  work.source = std::move(source);
  std::vector<std::uint32_t> everybody;
  for (std::uint32_t npu = 0; npu < work.npus(); ++npu) {
    everybody.push_back(npu);
  }
  work.groups.push_back({"", std::move(everybody)});
  for (const auto& [name, members] : work.source->groups()) {
    work.group_numbers[name] = static_cast<std::uint32_t>(work.groups.size());
    work.groups.push_back({name, members});
  }
  note_look(parts, workload, execution.section("collectives"), work);
  note_keys_without_effect(work, execution);
  work.assumes_type = work.survey.untyped_work > 0 && !execution.has(data_type.key()) &&
                      depends_on_type(parts.machine, work.nodes);
}

void list_operations_of_cores(const Platform& platform, executor::GraphWork& work) {
  const std::vector<const machine::Tile*> kinds = kinds_of(platform.machine, work.nodes);
  const bool any =
      platform.compute && std::any_of(kinds.begin(), kinds.end(), [&](const machine::Tile* tile) {
        return npu::core_of(platform.compute->of(*tile)) != nullptr;
      });
  if (any) {
    executor::list_operations(work);
  }
}

}  // namespace tessera::sim
