// The kind `traffic`: tiles send messages of one size at random, whether they wait or not, for so
// many cycles; the run is over when all have come.
//
// Method: an open loop with patterns and injection processes of W. Dally, B. Towles, "Principles
// and Practices of Interconnection Networks", 2004 (patterns: table 3.1), as `tessera traffic` has
// them, with the same random streams: both send the same messages. Deviations from how that
// measures (sim/traffic/traffic.hpp): there is no warm-up, and every message counts, so that the
// first ones meet an empty network and the last ones one that drains.
#include "traffic/job.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "jobs/uncut.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/network/traffic/traffic.hpp"
#include "tessera/sim/traffic/traffic.hpp"
#include "tessera/workload/keys.hpp"
#include "traffic/load.hpp"
#include "traffic/message_counts.hpp"

namespace tessera::sim {
namespace {

using config::Section;

constexpr std::uint64_t most_cycles = 1'000'000'000'000;

struct TrafficKindKeys {
  config::RequiredKey<double> rate{"rate", "offered load in flits per tile and cycle",
                                   config::at_least(0.0)};
  config::RequiredKey<std::uint64_t> cycles{"cycles",
                                            "number of cycles in which messages are injected",
                                            config::between<std::uint64_t>(1, most_cycles)};
};

const TrafficKindKeys& kind_keys() {
  static const TrafficKindKeys keys;
  return keys;
}

// A rectangle of a grid, row by row, is one of its own.
network::TrafficNodes nodes_of(const machine::Topology& topology,
                               const std::vector<EntityId>& tiles) {
  network::TrafficNodes nodes;
  nodes.nodes = static_cast<std::uint32_t>(tiles.size());
  const auto grid = topology.grid();
  if (!grid || tiles.empty()) {
    return nodes;
  }
  const auto [first, last] = std::pair(tiles.front(), tiles.back());
  if (grid->row_of(last) < grid->row_of(first) || grid->column_of(last) < grid->column_of(first)) {
    return nodes;
  }
  const std::uint32_t rows = grid->row_of(last) - grid->row_of(first) + 1;
  const std::uint32_t columns = grid->column_of(last) - grid->column_of(first) + 1;
  if (std::uint64_t{rows} * columns != tiles.size()) {
    return nodes;
  }
  for (std::uint32_t number = 0; number < tiles.size(); ++number) {
    if (tiles[number] != grid->node(grid->row_of(first) + number / columns,
                                    grid->column_of(first) + number % columns)) {
      return nodes;
    }
  }
  nodes.rows = rows;
  nodes.columns = columns;
  return nodes;
}

class TrafficReader final : public JobReader {
 public:
  explicit TrafficReader(const JobSetup& setup) : setup_(setup) {}

  std::unique_ptr<Job> read() override {
    Section workload = setup_.section.section("workload");
    refuse_cutting(setup_.section, "the workload is synthetic traffic, of which nothing is cut");
    const std::string name = workload::read_title(workload);
    const Platform& platform = setup_.platform;
    if (!platform.compute || !platform.network || !platform.memory) {
      return nullptr;  // it has been complained about
    }
    TrafficWork work;
    work.tiles = setup_.tiles.nodes.listed();
    const bool is_complete = read_work(work, workload, *platform.machine.topology);
    leave_other_keys(work, workload);
    if (!is_complete) {
      return nullptr;
    }
    const SimTime span = work.time_of(work.cycles);
    auto job = std::make_unique<TrafficJob>(std::move(work));
    job->name = name;
    job->ideal_time = span;
    job->may_end_sooner = true;  // where nothing is drawn for the last cycles
    return job;
  }
  compute::WorkTraits traits() const override { return compute::WorkTraits::nothing(); }

 private:
  bool read_work(TrafficWork& work, Section& workload, const machine::Topology& topology) {
    read_load(work, workload, topology, *setup_.platform.network, nodes_of(topology, work.tiles));
    work.rate = kind_keys().rate.read(workload);
    work.cycles = kind_keys().cycles.read(workload);
    if (workload.has(kind_keys().rate.name())) {
      work.process = read_process(work, work.rate, kind_keys().rate.name(), workload);
    }
    if (work.tiles.size() < 2) {
      workload.error("kind", "synthetic traffic is between two tiles at least; there is one");
      return false;
    }
    if (work.cycles > static_cast<std::uint64_t>(most_span_ps / work.cycle.ps())) {
      workload.error(kind_keys().cycles.name(), "cycles of " + to_string(work.cycle) +
                                                    " that last longer than simulated time can");
      return false;
    }
    return work.pattern != nullptr && work.process != nullptr;
  }

  // Half of all time, so that what is sent last can come.
  static constexpr std::int64_t most_span_ps = std::numeric_limits<std::int64_t>::max() / 2;

  JobSetup setup_;
};

// With the names of patterns and processes, and their keys.
SectionInfo describe_traffic(const PartInfo& kind) {
  const TrafficKeys& keys = traffic_keys();
  SectionInfo whole = choice_of(kind);
  whole.parameters = {keys.pattern,       keys.process,   kind_keys().rate, keys.message,
                      kind_keys().cycles, keys.flit_size, keys.cycle,       keys.seed};
  for (ParameterInfo& own : pattern_and_process_parameters()) {
    whole.parameters.push_back(std::move(own));
  }
  return whole;
}

// Of the files of `tessera traffic`.
SectionInfo traffic_section() {
  SectionInfo traffic;
  traffic.name = "traffic";
  traffic.help = "synthetic load";
  traffic.parameters = traffic_parameters();
  for (ParameterInfo& own : pattern_and_process_parameters()) {
    traffic.parameters.push_back(std::move(own));
  }
  return traffic;
}

const Registration traffic_kind(
    work_kinds(),
    {"traffic",
     "synthetic traffic between tiles, without computation",
     {traffic_keys().pattern.info(), traffic_keys().process.info(), kind_keys().rate,
      traffic_keys().message, kind_keys().cycles, traffic_keys().flit_size, traffic_keys().cycle,
      traffic_keys().seed}},
    WorkKind{.read = [](const JobSetup& setup) { return std::make_unique<TrafficReader>(setup); },
             .describe = describe_traffic,
             .measures = message_measures(),
             .smallest_is_best = "latency_mean_ps",
             .lists = {{"traffic",
                        [] {
                          return std::vector<PartInfo>{{"traffic",
                                                        "load that `tessera traffic` applies",
                                                        traffic_parameters()}};
                        }},
                       {"patterns", [] { return network::traffic_patterns().infos(); }},
                       {"processes", [] { return network::injection_processes().infos(); }}},
             .files = {{"traffic", traffic_section}}});

std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return {text.data(), end.ptr};
}

}  // namespace

JobDescription TrafficJob::describe(const Platform&) const {
  const double messages =
      std::round(traffic_.rate / static_cast<double>(traffic_.message_flits) *
                 static_cast<double>(traffic_.cycles) * static_cast<double>(traffic_.tiles.size()));
  JobDescription text;
  text.entities = {{"tiles that send", std::to_string(traffic_.tiles.size())},
                   {"pattern, process", traffic_.pattern_name + ", " + traffic_.process_name},
                   {"offered rate", number_text(traffic_.rate) + " flits a tile and cycle"},
                   {"message", std::to_string(traffic_.message_flits) + " flits of " +
                                   to_short_string(traffic_.flit)},
                   {"cycles", std::to_string(traffic_.cycles) + " of " + to_string(traffic_.cycle)},
                   {"messages, about", number_text(messages)}};
  text.ideal = "time in which messages are sent";
  return text;
}

std::string TrafficJob::brief() const {
  return "traffic: " + traffic_.pattern_name + " between " + std::to_string(traffic_.tiles.size()) +
         " tiles, " + std::to_string(traffic_.cycles) + " cycles";
}

std::shared_ptr<const workload::GraphSource> TrafficJob::graphs(const Platform&) const {
  throw ConfigError("synthetic traffic is no Chakra graph: its messages wait for nothing");
}

}  // namespace tessera::sim
