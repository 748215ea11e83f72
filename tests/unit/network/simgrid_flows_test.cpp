// Flows under max-min sharing against SimGrid's (tests/validation/reference/simgrid_flows.csv),
// every end within 1e-9 of its time.
//
// Whole picoseconds are too coarse for that where a flow takes microseconds. So all times are
// stretched by a thousand, which changes nothing else: latencies, starts and sizes times 1000.
// The fluid solver runs all scenarios. The whole network runs those that a machine file can say:
// routes that its routing takes too, latencies above zero, whole rates, no caps of single flows.

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "flow/fluid_flows.hpp"
#include "harness.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::network::simgrid_flows_test {
namespace {

constexpr double stretched = 1000;
constexpr double ps_per_second = 1e12 * stretched;  // in the file's time
constexpr double tolerance = 1e-9;

// Largest relative difference of an end, which the page of results shows.
class Worst {
 public:
  void expect(double ours, double theirs, const std::string& what) {
    EXPECT_NEAR(ours, theirs, theirs * tolerance) << what;
    worst_ = std::max(worst_, std::abs(ours - theirs) / theirs);
  }
  void record(std::size_t flows) const {
    std::ostringstream text;
    text << worst_;
    ::testing::Test::RecordProperty("worst", text.str());
    ::testing::Test::RecordProperty("flows", std::to_string(flows));
  }

 private:
  double worst_ = 0;
};

struct FileLink {
  double bandwidth = 0;  // [B/s]
  double latency = 0;    // [s]
};

struct FileFlow {
  std::vector<std::uint32_t> route;
  double bytes = 0;
  double start = 0;
  double cap = 0;
  double end_plain = 0;
  double end_cm02 = 0;
};

struct Scenario {
  std::vector<FileLink> links;
  std::vector<FileFlow> flows;
  double latency(const FileFlow& flow) const {
    return std::accumulate(flow.route.begin(), flow.route.end(), 0.0,
                           [&](double sum, auto link) { return sum + links[link].latency; });
  }
};

double number(const std::string& text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_EQ(result.ptr, text.data() + text.size()) << text;
  return value;
}

// Rows of a file without comments and the names of columns.
std::vector<std::vector<std::string>> rows_of(const std::string& name) {
  std::ifstream file(std::string(TESSERA_REFERENCE) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") || line.starts_with("scenario,")) {
      continue;
    }
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; std::getline(words, word, ',');) {
      rows.back().push_back(word);
    }
  }
  return rows;
}

std::map<std::string, Scenario> scenarios() {
  std::map<std::string, Scenario> all;
  for (const auto& row : rows_of("simgrid_links.csv")) {
    all[row.at(0)].links.push_back({number(row.at(2)), number(row.at(3))});
  }
  for (const auto& row : rows_of("simgrid_flows.csv")) {
    FileFlow flow;
    std::istringstream route(row.at(2));
    for (std::uint32_t link = 0; route >> link;) {
      flow.route.push_back(link);
    }
    flow.bytes = number(row.at(3));
    flow.start = number(row.at(4));
    flow.cap = number(row.at(5));
    flow.end_plain = number(row.at(6));
    flow.end_cm02 = number(row.at(7));
    all[row.at(0)].flows.push_back(flow);
  }
  return all;
}

SimTime time_of(double seconds) {
  return SimTime::from_ps(std::llround(seconds * ps_per_second));
}

// Ends of all flows [s].
std::vector<double> ends_of(const Scenario& scenario, bool by_latency) {
  std::vector<double> capacities;
  for (const FileLink& link : scenario.links) {
    capacities.push_back(link.bandwidth / ps_per_second);
  }
  FluidFlows fluid(capacities, by_latency ? MaxMin::fine : MaxMin::whole);
  std::multimap<SimTime, std::uint32_t> begins;
  for (std::uint32_t flow = 0; flow < scenario.flows.size(); ++flow) {
    const FileFlow& one = scenario.flows[flow];
    begins.emplace(time_of(one.start + scenario.latency(one)), flow);
  }
  std::vector<double> ends(scenario.flows.size());
  std::vector<FluidFlows::Flow> ended;
  auto next = begins.begin();
  while (next != begins.end() || !fluid.next_end().is_never()) {
    const SimTime now =
        next == begins.end() ? fluid.next_end() : std::min(next->first, fluid.next_end());
    ended.clear();
    fluid.take_ended(now, ended);
    for (const FluidFlows::Flow flow : ended) {
      ends[flow] = static_cast<double>(now.ps()) / ps_per_second;
    }
    for (; next != begins.end() && next->first == now; ++next) {
      const FileFlow& flow = scenario.flows[next->second];
      // SimGrid takes no latency as one of a second.
      const SimTime latency = time_of(scenario.latency(flow) > 0 ? scenario.latency(flow) : 1.0);
      fluid.begin(next->second, flow.route, static_cast<std::uint64_t>(flow.bytes),
                  by_latency ? one_over(latency) : 1,
                  flow.cap > 0 ? flow.cap / ps_per_second : MaxMin::no_limit);
    }
    fluid.share(now);
  }
  return ends;
}

TEST(SimgridFlows, FluidFlowsEndWhenTheirsDo) {
  std::size_t flows = 0;
  Worst worst;
  for (const auto& [name, scenario] : scenarios()) {
    const std::vector<double> plain = ends_of(scenario, false);
    const std::vector<double> cm02 = ends_of(scenario, true);
    for (std::size_t flow = 0; flow < scenario.flows.size(); ++flow) {
      const FileFlow& theirs = scenario.flows[flow];
      const std::string what = name + ", flow " + std::to_string(flow);
      worst.expect(plain[flow], theirs.end_plain, what);
      worst.expect(cm02[flow], theirs.end_cm02, what + ", by latency");
    }
    flows += scenario.flows.size();
  }
  worst.record(flows);
  EXPECT_EQ(flows, 1266U);
}

// The ends of links that routes join, by number: links that follow each other meet in a node.
class Nodes {
 public:
  explicit Nodes(const Scenario& scenario) : parent_(2 * scenario.links.size()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    for (const FileFlow& flow : scenario.flows) {
      for (std::size_t hop = 1; hop < flow.route.size(); ++hop) {
        parent_[root(end_of(flow.route[hop - 1]))] = root(start_of(flow.route[hop]));
      }
    }
    for (std::uint32_t end = 0; end < parent_.size(); ++end) {
      numbers_.try_emplace(root(end), static_cast<std::uint32_t>(numbers_.size()));
    }
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(numbers_.size()); }
  std::uint32_t from(std::uint32_t link) const { return numbers_.at(root(start_of(link))); }
  std::uint32_t to(std::uint32_t link) const { return numbers_.at(root(end_of(link))); }

 private:
  static std::uint32_t start_of(std::uint32_t link) { return 2 * link; }
  static std::uint32_t end_of(std::uint32_t link) { return 2 * link + 1; }
  std::uint32_t root(std::uint32_t end) const {
    while (parent_[end] != end) {
      end = parent_[end];
    }
    return end;
  }
  std::vector<std::uint32_t> parent_;
  std::map<std::uint32_t, std::uint32_t> numbers_;
};

std::string link_text(std::uint32_t from, std::uint32_t to, double bandwidth, SimTime latency) {
  return "{from: \"n[" + std::to_string(from) + "]\", to: \"n[" + std::to_string(to) +
         "]\", directions: one, bandwidth: " +
         std::to_string(static_cast<std::int64_t>(bandwidth)) +
         " B/s, latency: " + std::to_string(latency.ps()) + " ps}";
}

bool can_be_said(const Scenario& scenario, const Nodes& nodes) {
  bool can = true;
  for (std::uint32_t number = 0; number < scenario.links.size(); ++number) {
    const FileLink& link = scenario.links[number];
    can = can && link.latency > 0 && link.bandwidth == std::floor(link.bandwidth) &&
          nodes.from(number) != nodes.to(number);
  }
  return can && std::none_of(scenario.flows.begin(), scenario.flows.end(),
                             [](const FileFlow& flow) { return flow.cap > 0; });
}

// With a slow way round, so that every node can be reached from every other.
std::string topology_of(const Scenario& scenario, const Nodes& nodes) {
  std::string text = "{kind: graph, ways: {through: all}, nodes: [{name: n, count: " +
                     std::to_string(nodes.count()) + "}], links: [";
  for (std::uint32_t link = 0; link < scenario.links.size(); ++link) {
    text += link_text(nodes.from(link), nodes.to(link), scenario.links[link].bandwidth,
                      time_of(scenario.links[link].latency)) +
            ", ";
  }
  for (std::uint32_t node = 0; node < nodes.count(); ++node) {
    text += (node == 0 ? "" : ", ") +
            link_text(node, (node + 1) % nodes.count(), 1, SimTime::from_ps(1'000'000'000'000));
  }
  return text + "]}";
}

bool takes_routes(const testing::Described& described, const Scenario& scenario,
                  const Nodes& nodes) {
  const machine::Topology& topology = *described.machine.topology;
  const auto routing = machine::make_routing("shortest", topology);
  return std::all_of(scenario.flows.begin(), scenario.flows.end(), [&](const FileFlow& flow) {
    const auto hops =
        machine::hops_between(topology, *routing, EntityId(nodes.from(flow.route.front())),
                              EntityId(nodes.to(flow.route.back())));
    return std::equal(hops.begin(), hops.end(), flow.route.begin(), flow.route.end(),
                      [&](const machine::Hop& hop, std::uint32_t link) {
                        return hop.node.value() == nodes.from(link) &&
                               topology.link(hop.node, hop.port).to.value() == nodes.to(link);
                      });
  });
}

void expect_same_ends(const std::string& name, const Scenario& scenario,
                      const testing::Described& described, const Nodes& nodes, bool by_latency,
                      Worst& worst) {
  std::vector<testing::Send> sends;
  for (std::uint16_t flow = 0; flow < scenario.flows.size(); ++flow) {
    const FileFlow& one = scenario.flows[flow];
    sends.push_back({time_of(one.start).ps(), nodes.from(one.route.front()),
                     nodes.to(one.route.back()), static_cast<std::uint64_t>(one.bytes * stretched),
                     flow});
  }
  const testing::Traffic traffic = testing::carry(described, sends);
  EXPECT_EQ(traffic.arrivals.size(), sends.size());
  for (const testing::Arrived& arrival : traffic.arrivals) {
    const FileFlow& flow = scenario.flows[arrival.tag];
    const double end = by_latency ? flow.end_cm02 : flow.end_plain;
    worst.expect(static_cast<double>(arrival.at_ps) / ps_per_second, end,
                 name + ", flow " + std::to_string(arrival.tag));
  }
}

TEST(SimgridFlows, MessagesOfTheNetworkArriveWhenTheirsDo) {
  std::vector<std::string> said;
  std::size_t flows = 0;
  Worst worst;
  for (const auto& [name, scenario] : scenarios()) {
    const Nodes nodes(scenario);
    if (!can_be_said(scenario, nodes)) {
      continue;
    }
    const std::string topology = topology_of(scenario, nodes);
    const testing::Described plain = testing::network_of(topology, "model: flow");
    if (!takes_routes(plain, scenario, nodes)) {
      continue;
    }
    said.push_back(name);
    flows += scenario.flows.size();
    expect_same_ends(name, scenario, plain, nodes, false, worst);
    expect_same_ends(name, scenario, testing::network_of(topology, "model: flow, weights: latency"),
                     nodes, true, worst);
  }
  worst.record(flows);
  EXPECT_EQ(said.size(), 27U) << ::testing::PrintToString(said);
}

}  // namespace
}  // namespace tessera::network::simgrid_flows_test
