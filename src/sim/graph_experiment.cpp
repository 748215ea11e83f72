// Reads the section `execution` of experiments whose workload is graphs; docs/user-guide.md has its
// keys with their defaults.
#include "graph_experiment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "job_tiles.hpp"
#include "natural_dimensions.hpp"
#include "npu_memories.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/routing.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/workload/graph_look.hpp"
#include "tessera/workload/graph_workload.hpp"
#include "traced_collective.hpp"

namespace tessera::sim {
namespace {

using config::Section;

// Names that a trace can tell apart; the last stands for all beyond.
constexpr std::size_t most_names = 65535;
constexpr const char* other_names = "(other names)";

void read_lanes(Section section, executor::GraphOptions& options) {
  for (std::size_t lane = 0; lane < executor::lanes; ++lane) {
    std::uint32_t& slots = options.slots[lane];
    slots = static_cast<std::uint32_t>(
        section.get_or<std::int64_t>(to_string(static_cast<executor::Lane>(lane)), slots,
                                     config::between<std::int64_t>(0, 1'000'000)));
  }
  options.newest_collective_first =
      section.get_name("collective_queue", {"fifo", "lifo"}, "fifo") == "lifo";
}

// Sizes of the dimensions that collectives go over.
std::vector<NaturalDimension> read_shape(Section& section, const machine::Topology& topology,
                                         const std::vector<EntityId>& nodes) {
  const auto npus = static_cast<std::uint32_t>(nodes.size());
  std::vector<NaturalDimension> dimensions = natural_dimensions(topology, nodes);
  std::vector<std::int64_t> sizes;
  for (const NaturalDimension& dimension : dimensions) {
    sizes.push_back(dimension.size);
  }
  const std::vector<std::int64_t> given = section.get_list<std::int64_t>("shape", sizes);
  if (given == sizes) {
    return dimensions;
  }
  std::int64_t product = 1;
  for (const std::int64_t size : given) {
    if (size < 1 || product > std::int64_t{npus}) {
      product = 0;
      break;
    }
    product *= size;
  }
  if (product != std::int64_t{npus}) {
    section.error("shape", "its product must be the number of NPUs, " + std::to_string(npus));
    return dimensions;
  }
  dimensions.clear();
  for (const std::int64_t size : given) {
    dimensions.push_back({static_cast<std::uint32_t>(size), "ring"});
  }
  return dimensions;
}

std::string read_algorithm(Section& section, const char* key, const std::string& name) {
  if (!collective::algorithms().contains(name)) {
    section.error(key,
                  unknown_name("collective algorithm", name, collective::algorithms().names()));
    return "ring";
  }
  return name;
}

// One for each dimension.
std::vector<std::string> read_algorithms(Section& section, const char* key,
                                         const std::vector<std::string>& usual) {
  std::vector<std::string> names = section.get_list<std::string>(key, usual);
  if (names.size() != usual.size()) {
    section.error(key,
                  "one for each of the " + std::to_string(usual.size()) + " dimensions is needed");
    return usual;
  }
  for (std::string& name : names) {
    name = read_algorithm(section, key, name);
  }
  return names;
}

// [dimensions]
std::vector<std::uint32_t> read_queues(Section& section, std::size_t dimensions) {
  const std::vector<std::int64_t> given =
      section.get_list<std::int64_t>("queues", std::vector<std::int64_t>(dimensions, 1));
  constexpr std::int64_t most = 1024;
  if (given.size() != dimensions ||
      std::any_of(given.begin(), given.end(), [](auto n) { return n < 1 || n > most; })) {
    section.error("queues", "one number from 1 to " + std::to_string(most) + " for each of the " +
                                std::to_string(dimensions) + " dimensions is needed");
    return std::vector<std::uint32_t>(dimensions, 1);
  }
  return {given.begin(), given.end()};
}

// By size, each for what is larger than the one before takes.
std::vector<executor::CollectiveProtocol> read_protocols(Section& section, SimTime endpoint) {
  std::vector<executor::CollectiveProtocol> protocols;
  std::vector<Section> sections = section.sections("protocols");
  for (std::size_t number = 0; number < sections.size(); ++number) {
    Section& own = sections[number];
    executor::CollectiveProtocol protocol;
    const auto up_to = own.get_optional<Bytes>("up_to", config::at_least(Bytes(1)));
    const bool is_last = number + 1 == sections.size();
    if (up_to.has_value() == is_last) {
      own.error("up_to", is_last ? "the last protocol is for all sizes beyond"
                                 : "all protocols but the last end at a size");
    } else if (up_to && !protocols.empty() && *up_to <= protocols.back().up_to) {
      own.error("up_to", "protocols must be in the order of their sizes");
    }
    protocol.up_to = up_to.value_or(Bytes(0));
    protocol.endpoint =
        own.get_or<SimTime>("endpoint_delay", endpoint, config::at_least(SimTime::zero()));
    const double share = own.get_or<double>("data_share", 1.0, config::between(1e-6, 1.0));
    protocol.data_ppm = static_cast<std::uint32_t>(
        std::lround(share * static_cast<double>(collective::StepCosts::whole_ppm)));
    protocols.push_back(protocol);
  }
  return protocols;
}

void read_collectives(Section section, const machine::Topology& topology,
                      const std::vector<EntityId>& nodes, const config::TextLoader& load,
                      executor::GraphOptions& options) {
  const std::vector<NaturalDimension> dimensions = read_shape(section, topology, nodes);
  std::vector<std::string> usual;
  for (const NaturalDimension& dimension : dimensions) {
    usual.push_back(dimension.algorithm);
  }
  options.algorithms = read_algorithms(section, "algorithms", usual);
  options.all_to_all = read_algorithms(section, "all_to_all", options.algorithms);
  options.other_algorithm = read_algorithm(section, "other_algorithm",
                                           section.get_or<std::string>("other_algorithm", "ring"));
  options.flat_communicators =
      section.get_name("communicators", {"dimensions", "flat"}, "dimensions") == "flat";
  options.algorithm_window = static_cast<std::uint32_t>(section.get_or<std::int64_t>(
      "algorithm_window", 0, config::between<std::int64_t>(0, 1'000'000)));
  for (const std::string& path : section.get_files("programs")) {
    options.programs.push_back(collective::read_program(path, load, read_traced_collective));
  }
  options.collectives.chunks = static_cast<std::uint32_t>(
      section.get_or<std::int64_t>("chunks", 1, config::between<std::int64_t>(1, 16'383)));
  options.turns.at_a_time = static_cast<std::uint32_t>(
      section.get_or<std::int64_t>("active_chunks", 1, config::between<std::int64_t>(1, 16'383)));
  const std::string queue = section.get_name("queue", {"fifo", "lifo", "smallest-first"}, "fifo");
  options.turns.queue = queue == "lifo"             ? collective::ChunkQueue::lifo
                        : queue == "smallest-first" ? collective::ChunkQueue::smallest_first
                                                    : collective::ChunkQueue::fifo;
  const std::string order =
      section.get_name("order", {"ascending", "round-robin", "themis"}, "ascending");
  options.collectives.order = order == "themis"        ? collective::DimensionOrder::themis
                              : order == "round-robin" ? collective::DimensionOrder::round_robin
                                                       : collective::DimensionOrder::ascending;
  options.collectives.decomposition =
      section.get_name("decomposition", {"bandwidth-aware", "baseline"}, "bandwidth-aware") ==
              "baseline"
          ? collective::Decomposition::baseline
          : collective::Decomposition::bandwidth_aware;

  std::vector<Bandwidth> rates;
  const auto routing = machine::make_routing(topology.default_routing(), topology);
  std::uint32_t stride = 1;
  for (const NaturalDimension& dimension : dimensions) {
    rates.push_back(
        dimension.size > 1
            ? machine::path_between(topology, *routing, nodes[0], nodes[stride]).bottleneck
            : Bandwidth());
    stride *= dimension.size;
  }
  std::vector<Bandwidth> given = section.get_list<Bandwidth>("bandwidths", rates);
  if (given.size() != dimensions.size()) {
    section.error("bandwidths", "one for each of the " + std::to_string(dimensions.size()) +
                                    " dimensions is needed");
    given = rates;
  }
  collective::StepCosts costs;
  costs.endpoint =
      section.get_or<SimTime>("endpoint_delay", SimTime::zero(), config::at_least(SimTime::zero()));
  options.protocols = read_protocols(section, costs.endpoint);
  costs.local_memory = section.get_or<Bandwidth>("local_memory", Bandwidth());
  const bool astra = section.get_name("compatible", {"none", "astra"}, "none") == "astra";
  costs.whole_ns = astra;
  options.collectives.as_astra = astra;
  options.turns.as_astra = astra;
  const std::vector<std::uint32_t> queues = read_queues(section, dimensions.size());
  if (!queues.empty()) {
    options.turns.at_a_time = (options.turns.at_a_time + queues[0] - 1) / queues[0];
  }
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    options.dimensions.push_back({dimensions[d].size, given[d], queues[d]});
    options.step_costs.push_back(costs);
    options.step_costs.back().free_additions =
        astra && options.algorithms[d] == "halving-doubling" ? 1 : 0;
  }
}

// Algorithms need not offer every kind: whether they do for what graphs ask for.
void check_algorithms(const workload::GraphLook& look, const executor::GraphOptions& options,
                      Section collectives) {
  for (std::size_t number = 0; number < look.collectives.size(); ++number) {
    if (look.collectives[number] == 0) {
      continue;
    }
    const auto asked = static_cast<workload::GraphCollective>(number);
    if (options.flat_communicators) {
      const std::string& name = options.other_algorithm;
      if (!collective::algorithms().at(name)({})->offers(executor::kind_of(asked))) {
        collectives.error("other_algorithm", name + " has no " + to_string(asked));
        return;
      }
      continue;
    }
    for (const collective::ChunkPlan& chunk : collective::plan_chunks(
             executor::kind_of(asked), Bytes(1), options.dimensions, options.collectives)) {
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

void note_look(const MemoryParts& parts, Section& section, Section collectives,
               executor::GraphWork& work) {
  const machine::Machine& machine = parts.machine;
  const memory::RemoteMemory* const remote = parts.remote;
  const std::optional<workload::GraphLook> known = work.source->known();
  work.look = known ? *known : workload::look_through(*work.source);
  if (known) {
    work.look.reach = workload::reach_of_some(*work.source);
  }
  const workload::GraphLook& look = work.look;
  for (const std::string& name : look.names) {
    if (work.names.size() + 1 < most_names) {
      work.name_numbers[name] = static_cast<std::uint16_t>(work.names.size());
      work.names.push_back(name);
    }
  }
  work.names.emplace_back(other_names);
  check_algorithms(look, work.options, std::move(collectives));
  for (const machine::Tile* tile : kinds_of(machine, work.nodes)) {
    if (look.flops > 0 && tile->peak.find(work.options.data_type) == tile->peak.end()) {
      section.error("kind", "its graphs compute, in " + to_string(work.options.data_type) +
                                " (execution.data_type), but machine." + tile->peak_key() +
                                " has no rate for that");
    }
  }
  if (look.local_accesses > 0 && machine.channels.empty()) {
    section.error("kind", "its graphs load from and store to local memory " +
                              std::to_string(look.local_accesses) +
                              " times, but the machine has none (machine.dram)");
  }
  work.remote_in_channels = remote_in_channels(parts);
  if (look.remote_accesses > 0 && remote == nullptr && !work.remote_in_channels) {
    work.remote_of = remote_memories_of(machine, work.nodes);
  }
  if (look.remote_accesses > 0 && remote == nullptr && !work.remote_in_channels &&
      work.remote_of.empty()) {
    section.error("kind", "its graphs load from and store to remote memory " +
                              std::to_string(look.remote_accesses) +
                              " times, but the machine has none (machine.remote_memory, nodes of "
                              "kind memory, or machine.dram at nodes that do not compute)");
  } else if (look.gathered_accesses > 0 && (remote == nullptr || !remote->gathers())) {
    section.error("kind",
                  "its graphs let switches gather what they load, but those of "
                  "machine.remote_memory cannot");
  }
}

}  // namespace

std::vector<ParameterInfo> execution_parameters() {
  return {{"times", "", "model", "of nodes that compute: model, or recorded"},
          {"sends", "", "eager",
           "are over: eager, at once; delivered, after the time of their message, in the lane of "
           "collectives"},
          {"remote", "", "",
           "memory nodes: request (sent), or free: loads take the data's way alone; stores "
           "(acknowledged), or posted"},
          {"data_type", "", "fp16", "of work whose type a graph does not tell"},
          {"window", "", "512",
           "nodes of an NPU that are read at a time, more where dependencies ask for it", true},
          {"lanes", "", "host, compute, memory: 1; collective, message: 0",
           "nodes at a time; 0: all that are ready, as memory of programs; and collective_queue: "
           "fifo, lifo"},
          {"collectives", "", "",
           "shape, algorithms, all_to_all, communicators, other_algorithm, algorithm_window, "
           "programs, protocols, "
           "chunks, "
           "active_chunks, queues, queue, order, decomposition, bandwidths, endpoint_delay, "
           "local_memory, "
           "compatible"}};
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
  options.times = execution.get_name("times", {"model", "recorded"}, "model") == "recorded"
                      ? executor::NodeTimes::recorded
                      : executor::NodeTimes::model;
  options.sends = execution.get_name("sends", {"eager", "delivered"}, "eager") == "delivered"
                      ? executor::Sends::delivered
                      : executor::Sends::eager;
  Section remote = execution.section("remote");
  options.remote.requests = remote.get_name("request", {"sent", "free"}, "sent") == "sent";
  options.remote.acknowledged =
      remote.get_name("stores", {"acknowledged", "posted"}, "acknowledged") == "acknowledged";
  options.data_type =
      data_type_from(execution.get_name("data_type", data_type_names(), to_string(usual.data_type)))
          .value_or(usual.data_type);
  options.window = static_cast<std::uint32_t>(
      execution.get_or<std::int64_t>("window", 512, config::between<std::int64_t>(1, 1'000'000)));
  read_lanes(execution.section("lanes"), options);
  read_collectives(execution.section("collectives"), topology, work->nodes, load, options);
  return work;
}

std::unique_ptr<workload::GraphSource> read_graph_source(Section& workload,
                                                         const MemoryParts& parts,
                                                         const std::vector<EntityId>& npus,
                                                         const config::TextLoader& load) {
  const std::string kind = workload.get_name("kind", workload::graph_workloads().names());
  workload.get_or<std::string>("name", kind);
  auto source = workload::graph_workloads().at(kind)(
      workload,
      {static_cast<std::uint32_t>(npus.size()), load, [&] { return npu_memories(parts, npus); }});
  workload.finish();
  return source;
}

std::string ignored_nodes(const workload::GraphLook& look) {
  std::vector<std::string> parts;
  if (look.without_action > 0) {
    parts.push_back(std::to_string(look.without_action) +
                    " nodes are metadata or of no type and do nothing");
  }
  if (look.without_work > 0) {
    parts.push_back(std::to_string(look.without_work) +
                    " nodes compute, but give neither work nor a time (on the host: no time) and "
                    "take none");
  }
  return parts.empty() ? "" : "of " + std::to_string(look.nodes) + " nodes " + join(parts);
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
}

}  // namespace tessera::sim
