// The `flow` network: messages as fluid flows that share links fairly.
//
// Method: a message first waits for the latency of its route and loads no link meanwhile; then it
// flows at its max-min share of all links on the route until it is over (fluid_flows.hpp). Shares
// change at once whenever a flow begins or ends; what happens at one instant is shared out once.
//
// Of each part of the machine whose flows meet no others (parts.hpp) one node, the hub, solves for
// all. It works ahead of the links: what begins or ends on them at time t is handled at t - d,
// where d is half of the smallest latency. So a sender, whose message waits for its latency anyway,
// tells the hub in time, and the hub the receiver; nothing is late, and the result is that of one
// global solver. The price is a lookahead of d, and that a part is one rank's work
// (docs/design/0012-flow-network.md).

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "flow/network.hpp"
#include "tessera/config/key.hpp"

namespace tessera::network {
namespace {

constexpr SimTime least_latency = SimTime::from_ps(2);

// A message touches its ends and the hub of its links.
class FlowTraffic final : public PredictedTraffic {
 public:
  FlowTraffic(const machine::Topology& topology, const FlowOptions& options)
      : routing_(machine::make_routing(options.routing, topology)),
        parts_(topology),
        with_nodes_(options.lumps_rings) {}
  void learn_routes(const PairVisit& pairs) override {
    parts_.learn(*routing_, pairs, with_nodes_);
  }
  void visit_runs(EntityId from, EntityId to, Bytes, const VisitRun& visit) const override {
    constexpr std::uint64_t at_hub = 3;  // it begins, rates are shared out, it is over
    visit({.first = from.value(), .events = 1});
    if (from != to) {
      const EntityId hub = parts_.hub(parts_.numbers().number(from, routing_->next_port(from, to)));
      if (hub.valid()) {
        visit({.first = hub.value(), .events = at_hub});
      }
    }
    visit({.first = to.value(), .events = 1});
  }

 private:
  std::unique_ptr<machine::Routing> routing_;
  FlowParts parts_;
  bool with_nodes_;
};

class FlowModel final : public NetworkModel {
 public:
  explicit FlowModel(FlowOptions options) : options_(std::move(options)) {}
  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    return std::make_unique<FlowNetwork>(setup, options_, *reach(setup.machine));
  }
  // As if one rank had all hubs, and all links were used.
  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t, bool) const override {
    const machine::Topology& topology = *machine.topology;
    return topology.links() * (FlowParts::bytes_a_link() + FlowHub::bytes_a_link()) +
           std::min(topology.nodes(), FlowParts::most_hubs) * FlowHub::bytes_alone;
  }
  std::unique_ptr<PredictedTraffic> predict_traffic(
      const machine::Machine& machine) const override {
    return std::make_unique<FlowTraffic>(*machine.topology, options_);
  }
  bool needs_pairs() const override { return true; }
  bool keeps_bins() const override { return false; }
  bool shares_evenly() const override { return true; }
  // Nobody says when a lumped ring sends next.
  bool promises() const override { return !options_.lumps_rings; }
  std::string routing() const override { return options_.routing; }
  Overheads overheads() const override { return options_.overheads; }
  bool limits_rates() const override { return true; }
  bool lumps_rings() const override { return options_.lumps_rings; }
  SimTime idle_time(const machine::Path& path, Bytes bytes) const override {
    const Bandwidth rate = std::min(path.bottleneck, options_.limit.value_or(path.bottleneck));
    SimTime time = serialization_time(bytes, rate);
    if (options_.window) {
      const double round_trips =
          static_cast<double>(bytes.count()) / static_cast<double>(options_.window->count());
      time = std::max(
          time,
          SimTime::from_ps(std::llround(2 * static_cast<double>(path.latency.ps()) * round_trips)));
    }
    return options_.overheads.message + path.latency + time;
  }
  std::optional<SimTime> reach(const machine::Machine& machine) const override {
    return SimTime::from_ps(
        std::max<std::int64_t>(1, machine.topology->smallest_latency().ps() / 2));  // 1: refused
  }

 private:
  FlowOptions options_;
};

const config::ChoiceKey<bool> by_latency{"weights",
                                         {{"equal", false}, {"latency", true}},
                                         "equal",
                                         "weights of flows that share a link: equal, or latency: 1 "
                                         "/ latency of the route (SimGrid's CM02)"};
const config::OptionalKey<Bandwidth> flow_limit{"flow_limit", "none",
                                                "upper limit of the rate of each flow",
                                                config::at_least(Bandwidth::bytes_per_second(1))};
const config::OptionalKey<Bytes> window{"window", "none",
                                        "bytes of a flow in flight at once, which limits its rate "
                                        "to window / (2 * latency of the route)",
                                        config::at_least(Bytes(1))};
const config::ChoiceKey<InTurn> pairs{
    "pairs",
    {{"collectives-in-turn", InTurn::connected},
     {"together", InTurn::none},
     {"in-turn", InTurn::all}},
    FlowOptions{}.in_turn,
    "messages from one node to another: together (concurrent), in-turn (serialised, as on one "
    "connection), or collectives-in-turn (those of collectives serialised, others concurrent)"};
const config::ChoiceKey<bool> lumps_rings{
    "uncontended_steps",
    {{"each", false}, {"lumped", true}},
    "each",
    "steps of rings (in graphs): each (every message is simulated), or lumped (undisturbed ones "
    "are computed together, with the same times except where messages end at the same picosecond)"};

std::unique_ptr<NetworkModel> make_flow(config::Section& section, const machine::Machine& machine) {
  FlowOptions options;
  options.routing = read_routing(section, machine);
  options.overheads = read_overheads(section);
  options.limit = flow_limit.read(section);
  options.window = window.read(section);
  options.by_latency = by_latency.read(section);
  options.in_turn = pairs.read(section);
  options.lumps_rings = lumps_rings.read(section);
  if (machine.topology->smallest_latency() < least_latency) {
    section.error("model",
                  "flow works ahead of the links by half of the smallest latency, which must "
                  "be 2 ps at least; this machine's is " +
                      to_string(machine.topology->smallest_latency()));
  }
  return std::make_unique<FlowModel>(std::move(options));
}

const Registration flow_registration(
    networks(),
    {"flow",
     "messages as flows that share links max-min fairly, each after its latency",
     {routing_parameter(), message_overhead_parameter(), collective_overhead_parameter(),
      collective_member_overhead_parameter(), collective_fill_parameter(), library_parameter(),
      nvswitch_generation_parameter(), nvls_parameter(), by_latency, flow_limit, window, pairs,
      lumps_rings}},
    make_flow);

}  // namespace
}  // namespace tessera::network
