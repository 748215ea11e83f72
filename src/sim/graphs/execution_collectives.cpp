#include "graphs/execution_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "graphs/natural_dimensions.hpp"
#include "graphs/traced_collective.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/compat/astra.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::sim {
namespace {

using config::between;
using config::ChoiceKey;
using config::DerivedKey;
using config::Key;
using config::OptionalKey;
using config::OtherKey;
using config::Section;

const OtherKey shape{"collectives.shape", "list of integer", "the machine's",
                     "sizes of the dimensions that collectives traverse"};

// Sizes of the dimensions that collectives go over.
std::vector<NaturalDimension> read_shape(Section& section, const machine::Topology& topology,
                                         const std::vector<EntityId>& nodes) {
  const auto npus = static_cast<std::uint32_t>(nodes.size());
  std::vector<NaturalDimension> dimensions = natural_dimensions(topology, nodes);
  std::vector<std::int64_t> sizes;
  for (const NaturalDimension& dimension : dimensions) {
    sizes.push_back(dimension.size);
  }
  const std::vector<std::int64_t> given = section.get_list<std::int64_t>(shape.key(), sizes);
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

std::string read_algorithm(Section& section, std::string_view key, const std::string& name) {
  if (!collective::algorithms().contains(name)) {
    section.error(key,
                  unknown_name("collective algorithm", name, collective::algorithms().names()));
    return "ring";
  }
  return name;
}

const OtherKey algorithms{"collectives.algorithms", "list of name",
                          "ring, direct or halving-doubling by block",
                          "algorithm of each dimension: see tessera list collectives"};
const OtherKey all_to_all{"collectives.all_to_all", "list of name", "as algorithms",
                          "algorithm of each dimension for all-to-all"};

// One for each dimension.
std::vector<std::string> read_algorithms(Section& section, const OtherKey& declared,
                                         const std::vector<std::string>& usual) {
  const std::string_view key = declared.key();
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

const OtherKey queues_key{"collectives.queues", "list of integer", "1 each",
                          "number of queues of each dimension: its chunks go to them in turn, and "
                          "each holds active_chunks divided by the queues of the first dimension"};

// [dimensions]
std::vector<std::uint32_t> read_queues(Section& section, std::size_t dimensions) {
  const std::vector<std::int64_t> given =
      section.get_list<std::int64_t>(queues_key.key(), std::vector<std::int64_t>(dimensions, 1));
  constexpr std::int64_t most = 1024;
  if (given.size() != dimensions ||
      std::any_of(given.begin(), given.end(), [](auto n) { return n < 1 || n > most; })) {
    section.error("queues", "one number from 1 to " + std::to_string(most) + " for each of the " +
                                std::to_string(dimensions) + " dimensions is needed");
    return std::vector<std::uint32_t>(dimensions, 1);
  }
  return {given.begin(), given.end()};
}

const OtherKey protocols_key{"collectives.protocols", "list", "none",
                             "protocols with which the library moves data, by size of an NPU's "
                             "vector"};
const OptionalKey<Bytes> up_to{"collectives.protocols[].up_to", "no limit, for the last one",
                               "size of the largest vector that this protocol moves",
                               config::at_least(Bytes(1))};
const DerivedKey<SimTime> own_delay{
    "collectives.protocols[].endpoint_delay", "collectives.endpoint_delay",
    "delay before the first message of a dimension, and after each message",
    config::at_least(SimTime::zero())};
const Key<double> data_share{"collectives.protocols[].data_share", 1,
                             "share of data in the bytes on links", between(1e-6, 1.0)};

// By size, each for what is larger than the one before takes.
std::vector<executor::CollectiveProtocol> read_protocols(Section& section, SimTime endpoint) {
  std::vector<executor::CollectiveProtocol> protocols;
  std::vector<Section> sections = section.sections(protocols_key.key());
  for (std::size_t number = 0; number < sections.size(); ++number) {
    Section& own = sections[number];
    executor::CollectiveProtocol protocol;
    const auto end = up_to.read(own);
    const bool is_last = number + 1 == sections.size();
    if (end.has_value() == is_last) {
      own.error("up_to", is_last ? "the last protocol is for all sizes beyond"
                                 : "all protocols but the last end at a size");
    } else if (end && !protocols.empty() && *end <= protocols.back().up_to) {
      own.error("up_to", "protocols must be in the order of their sizes");
    }
    protocol.up_to = end.value_or(Bytes(0));
    protocol.endpoint = own_delay.read(own, endpoint);
    const double share = data_share.read(own);
    protocol.data_ppm = static_cast<std::uint32_t>(
        std::lround(share * static_cast<double>(collective::StepCosts::whole_ppm)));
    protocols.push_back(protocol);
  }
  return protocols;
}

const Key<std::string> other_algorithm{
    "collectives.other_algorithm", executor::GraphOptions{}.other_algorithm,
    "algorithm of communicators whose members fill no box of the dimensions"};
const ChoiceKey<bool> flat_communicators{
    "collectives.communicators",
    {{"dimensions", false}, {"flat", true}},
    "dimensions",
    "path of collectives: dimensions: through the dimensions of the machine; flat: over the "
    "members in their order, by other_algorithm"};
const Key<std::uint32_t> algorithm_window{"collectives.algorithm_window", 0,
                                          "messages of an NPU in flight in direct; 0: all",
                                          between(0U, 1'000'000U)};
const OtherKey programs{"collectives.programs", "list of file", "none",
                        "collectives written by hand, which replace algorithms for communicators "
                        "of their kind and number of members"};
// One for a kind and a number of members.
void read_programs(Section& section, const config::TextLoader& load,
                   std::vector<collective::Program>& read) {
  const std::vector<std::string> paths = section.get_files(programs.key());
  for (std::size_t number = 0; number < paths.size(); ++number) {
    collective::Program program =
        collective::read_program(paths[number], load, read_traced_collective);
    const auto is_for_the_same = [&](const collective::Program& other) {
      return other.kind == program.kind && other.members == program.members;
    };
    if (std::any_of(read.begin(), read.end(), is_for_the_same)) {
      section.error(programs.key(), section.raw(programs.key()).items[number],
                    "given twice: " + to_string(program.kind) + " of " +
                        std::to_string(program.members) + " members has a program before it");
    }
    read.push_back(std::move(program));
  }
}

const Key<std::uint32_t> chunks{
    "collectives.chunks", collective::StackedOptions{}.chunks,
    "parts into which a collective is cut, which traverse the dimensions one after another",
    between(1U, 16'383U)};
const Key<std::uint32_t> active_chunks{
    "collectives.active_chunks", collective::TurnOptions{}.at_a_time,
    "chunks of one collective in one dimension at a time", between(1U, 16'383U)};
const ChoiceKey<collective::ChunkQueue> queue{
    "collectives.queue",
    {{"fifo", collective::ChunkQueue::fifo},
     {"lifo", collective::ChunkQueue::lifo},
     {"smallest-first", collective::ChunkQueue::smallest_first}},
    collective::TurnOptions{}.queue,
    "which chunk goes first when several wait for a dimension: fifo, lifo or smallest-first"};
const ChoiceKey<collective::DimensionOrder> order{
    "collectives.order",
    {{"ascending", collective::DimensionOrder::ascending},
     {"round-robin", collective::DimensionOrder::round_robin},
     {"themis", collective::DimensionOrder::themis}},
    collective::StackedOptions{}.order,
    "order of dimensions for each chunk: ascending, round-robin, or themis, the least loaded "
    "first"};
const ChoiceKey<collective::Decomposition> decomposition{
    "collectives.decomposition",
    {{"bandwidth-aware", collective::Decomposition::bandwidth_aware},
     {"baseline", collective::Decomposition::baseline}},
    collective::StackedOptions{}.decomposition,
    "decomposition of an all-reduce: bandwidth-aware: reduce-scatter up and all-gather down the "
    "dimensions; baseline: an all-reduce in each dimension"};
const OtherKey bandwidths = config::counted_in(
    "B/s", OtherKey("collectives.bandwidths", "list of bandwidth", "of the links",
                    "bandwidths of the dimensions that themis assumes"));
const Key<SimTime> endpoint_delay{"collectives.endpoint_delay", SimTime::zero(),
                                  "delay before the first message of a dimension, and after each "
                                  "message",
                                  config::at_least(SimTime::zero())};
const Key<Bandwidth> local_memory{
    "collectives.local_memory", Bandwidth(),
    "bandwidth at which messages are added up, in three passes; 0: additions take no time"};
const ChoiceKey<const collective::Conventions*> compatible{
    "collectives.compatible",
    {{"none", &collective::own_conventions()}, {"astra", &collective::astra_conventions()}},
    "none",
    "astra: rules of the public code of ASTRA-sim 2.0"};

}  // namespace

std::vector<ParameterInfo> collective_parameters() {
  return {shape,           algorithms,       all_to_all,     flat_communicators,
          other_algorithm, algorithm_window, programs,       chunks,
          active_chunks,   queues_key,       queue,          order,
          decomposition,   bandwidths,       endpoint_delay, protocols_key,
          up_to,           own_delay,        data_share,     local_memory,
          compatible};
}

void read_collectives(Section section, const machine::Topology& topology,
                      const std::vector<EntityId>& nodes, const config::TextLoader& load,
                      executor::GraphOptions& options) {
  const std::vector<NaturalDimension> dimensions = read_shape(section, topology, nodes);
  std::vector<std::string> usual;
  for (const NaturalDimension& dimension : dimensions) {
    usual.push_back(dimension.algorithm);
  }
  options.algorithms = read_algorithms(section, algorithms, usual);
  options.all_to_all = read_algorithms(section, all_to_all, options.algorithms);
  options.other_algorithm =
      read_algorithm(section, other_algorithm.key(), other_algorithm.read(section));
  options.flat_communicators = flat_communicators.read(section);
  options.algorithm_window = algorithm_window.read(section);
  read_programs(section, load, options.programs);
  options.collectives.chunks = chunks.read(section);
  options.turns.at_a_time = active_chunks.read(section);
  options.turns.queue = queue.read(section);
  options.collectives.order = order.read(section);
  options.collectives.decomposition = decomposition.read(section);

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
  std::vector<Bandwidth> given = section.get_list<Bandwidth>(bandwidths.key(), rates);
  if (given.size() != dimensions.size()) {
    section.error("bandwidths", "one for each of the " + std::to_string(dimensions.size()) +
                                    " dimensions is needed");
    given = rates;
  }
  if (given != rates && options.collectives.order != collective::DimensionOrder::themis) {
    config::note_without_effect(section, bandwidths.key(), "any order but themis");
  }
  collective::StepCosts costs;
  costs.endpoint = endpoint_delay.read(section);
  options.protocols = read_protocols(section, costs.endpoint);
  costs.local_memory = local_memory.read(section);
  options.collectives.conventions = compatible.read(section);
  costs.tick = options.collectives.conventions->tick();
  const std::vector<std::uint32_t> queues = read_queues(section, dimensions.size());
  if (!queues.empty()) {
    const std::uint32_t asked = options.turns.at_a_time;
    options.turns.at_a_time = (asked + queues[0] - 1) / queues[0];
    if (const std::uint32_t held = options.turns.at_a_time * queues[0]; held != asked) {
      section.tell(section.path() + ".active_chunks: each queue holds " +
                   std::to_string(options.turns.at_a_time) +
                   " chunks, those of the first dimension " + std::to_string(held) + " together");
    }
  }
  const bool ends_inside_a_round = std::any_of(
      queues.begin(), queues.end(),
      [&](std::uint32_t of_dimension) { return options.collectives.chunks % of_dimension != 0; });
  if (ends_inside_a_round && options.collectives.conventions == &collective::astra_conventions()) {
    section.tell(section.path() +
                 ".queues: each collective begins with the first queue of every dimension; "
                 "ASTRA-sim continues with the queue after that of the previous chunk (compatible: "
                 "astra)");
  }
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    options.dimensions.push_back({dimensions[d].size, given[d], queues[d]});
    options.step_costs.push_back(costs);
    options.step_costs.back().free_additions =
        options.collectives.conventions->free_additions(options.algorithms[d]);
  }
}

}  // namespace tessera::sim
