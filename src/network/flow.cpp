// The `flow` network: messages as fluid flows that share links fairly.
//
// Method: a message first waits for the latency of its route and loads no link meanwhile; then it
// flows at its max-min share of all links on the route until it is over (max_min.hpp). Shares
// change at once whenever a flow begins or ends; what happens at one instant is shared out once.
//
// One entity, the hub, solves for all. It works ahead of the links: what begins or ends on them at
// time t is handled at t - d, where d is half of the smallest latency. So a sender, whose message
// waits for its latency anyway, tells the hub in time, and the hub the receiver; nothing is late,
// and the result is that of one global solver. The price is a lookahead of d, and that the hub is
// one rank's work (docs/design/0012-flow-network.md).

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "max_min.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/routing.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {
namespace {

constexpr unsigned begin_kind = 1;  // at the hub: a message has paid its latency
constexpr unsigned share_kind = 2;  // all of an instant is known
constexpr unsigned end_kind = 3;    // the next flow may be over
constexpr EntityId hub = EntityId(0);
constexpr SimTime tick = SimTime::from_ps(1);
constexpr SimTime least_latency = SimTime::from_ps(2);
constexpr double ps_per_second = 1e12;
constexpr unsigned port_bits = 8;

// What the hub must know of a message; the event's tag is the sender's.
struct Begin {
  EntityId target;
  EntityId source;
  std::uint64_t bytes_and_port = 0;  // the port to deliver to in the lowest bits
  std::uint64_t word = 0;
};

struct FlowOptions {
  std::string routing;
  Overheads overheads;
  bool by_latency = false;  // weight 1 / latency of the route, as SimGrid's CM02
};

// A flow at the hub.
struct Flow {
  EntityId target;
  EntityId source;
  std::uint64_t bytes = 0;
  std::uint64_t word = 0;
  double left = 0;  // bytes, at `since`
  double rate = 0;  // bytes a ps
  SimTime since;
  SimTime end;  // at this rate
  std::uint32_t version = 0;
  std::uint16_t tag = 0;
  std::uint8_t port = 0;
  bool active = false;
};

struct PlannedEnd {
  SimTime time;
  std::uint32_t flow = 0;
  std::uint32_t version = 0;
  friend bool operator>(const PlannedEnd& a, const PlannedEnd& b) {
    return a.time != b.time ? a.time > b.time : a.flow > b.flow;
  }
};

// What a link has done.
struct LinkTotal {
  std::uint64_t bytes = 0;  // of flows that are over
  SimTime busy;             // before `since`
  SimTime since;            // while there are flows
};

class FlowNetwork final : public Network {
 public:
  FlowNetwork(const NetworkSetup& setup, const FlowOptions& options, SimTime ahead)
      : topology_(*setup.machine.topology),
        slot_(setup.slot),
        options_(options),
        ahead_(ahead),
        routing_(machine::make_routing(options.routing, topology_)),
        hub_index_(static_cast<std::uint32_t>(
            std::find(setup.members.begin(), setup.members.end(), hub) - setup.members.begin())),
        has_hub_(hub_index_ < setup.members.size()),
        shares_(has_hub_ ? capacities() : std::vector<double>{}) {
    totals_.resize(first_link_.empty() ? 0 : first_link_.back());
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case begin_kind:
        begin(context, event.as<Begin>(), event.tag);
        break;
      case share_kind:
        share(context);
        break;
      case end_kind:
        end_flows(context);
        break;
      default:
        inject(context, event.as<SendRequest>(), event.tag);
    }
  }

  // The hub keeps account of all links.
  void visit_links(SimTime end, const LinkUseSink& sink) const override {
    if (!has_hub_) {
      return;
    }
    const std::vector<std::uint64_t> under_way = bytes_under_way(end);
    for (std::uint32_t node = 0; node < topology_.nodes(); ++node) {
      for (unsigned port = 0; port < topology_.ports(EntityId(node)); ++port) {
        const std::uint32_t link = first_link_[node] + port;
        const LinkTotal& total = totals_[link];
        SimTime busy = total.busy;
        if (shares_.flows_on(link) > 0 && end > total.since) {
          busy += end - total.since;
        }
        const std::uint64_t bytes = total.bytes + under_way[link];
        if (bytes > 0) {
          sink({EntityId(node), port, SimTime::zero(), end, Bytes(bytes), busy, Bytes(0)});
        }
      }
    }
  }
  void report_bins(LinkUseSink) override {}

  void save(std::uint32_t index, pdes::StateWriter& writer) const override;
  void restore(std::uint32_t index, pdes::StateReader& reader) override;
  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(hops_);
    writer.put(messages_);
  }
  void add_totals(pdes::StateReader& reader) override {
    hops_ += reader.get<std::uint64_t>();
    messages_ += reader.get<std::uint64_t>();
  }
  std::uint64_t packet_hops() const override { return hops_; }
  std::uint64_t messages() const override { return messages_; }

 private:
  std::vector<double> capacities() {
    std::vector<double> capacities;
    for (std::uint32_t node = 0; node < topology_.nodes(); ++node) {
      first_link_.push_back(static_cast<std::uint32_t>(capacities.size()));
      for (unsigned port = 0; port < topology_.ports(EntityId(node)); ++port) {
        const machine::LinkClass& link_class =
            topology_.link_classes()[topology_.link(EntityId(node), port).link_class];
        capacities.push_back(static_cast<double>(link_class.bandwidth.bytes_per_second()) /
                             ps_per_second);
      }
    }
    first_link_.push_back(static_cast<std::uint32_t>(capacities.size()));
    return capacities;
  }

  void inject(pdes::Context& context, const SendRequest& request, std::uint16_t tag) {
    ++messages_;
    if (request.target == context.self()) {
      context.send_self(SimTime::zero(), request.deliver, Arrival{context.self(), 0, request.word},
                        tag);
      return;
    }
    ensure(request.bytes >> (64 - port_bits) == 0, "a message whose size has its bits");
    const machine::Path path =
        machine::path_between(topology_, *routing_, context.self(), request.target);
    hops_ += path.hops;
    context.send(hub, options_.overheads.message + path.latency - ahead_,
                 pdes::Port(slot_, begin_kind),
                 Begin{request.target, context.self(),
                       request.bytes << port_bits | request.deliver.code(), request.word},
                 tag);
  }

  // Links of a route, and its weight.
  std::vector<MaxMin::Link> route_of(EntityId from, EntityId to, double& weight) const {
    std::vector<MaxMin::Link> route;
    SimTime latency;
    for (const machine::Hop& hop : machine::hops_between(topology_, *routing_, from, to)) {
      route.push_back(first_link_[hop.node.value()] + hop.port);
      latency += topology_.link_classes()[topology_.link(hop.node, hop.port).link_class].latency;
    }
    weight = options_.by_latency ? 1 / static_cast<double>(latency.ps()) : 1.0;
    return route;
  }

  void begin(pdes::Context& context, const Begin& begin, std::uint16_t tag) {
    std::uint32_t number = 0;
    if (free_.empty()) {
      number = static_cast<std::uint32_t>(flows_.size());
      flows_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    Flow& flow = flows_[number];
    flow.target = begin.target;
    flow.source = begin.source;
    flow.bytes = begin.bytes_and_port >> port_bits;
    flow.port = static_cast<std::uint8_t>(begin.bytes_and_port);
    flow.word = begin.word;
    flow.tag = tag;
    flow.left = static_cast<double>(flow.bytes);
    flow.rate = 0;
    flow.since = context.now();
    flow.end = SimTime::never();
    flow.active = true;
    ++flow.version;
    if (flow.bytes == 0) {
      deliver(context, flow);
      flow.active = false;
      free_.push_back(number);
      return;
    }
    take_links(number, context.now());
    ask_to_share(context);
  }

  void take_links(std::uint32_t number, SimTime now) {
    const Flow& flow = flows_[number];
    double weight = 1;
    const std::vector<MaxMin::Link> route = route_of(flow.source, flow.target, weight);
    for (const MaxMin::Link link : route) {
      if (shares_.flows_on(link) == 0) {
        totals_[link].since = now;
      }
    }
    shares_.add(number, route, weight, MaxMin::no_limit);
  }

  void ask_to_share(pdes::Context& context) {
    if (!asked_) {
      asked_ = true;
      context.send_self(tick, pdes::Port(slot_, share_kind), std::uint32_t{0});
    }
  }

  // Of the instant one tick ago.
  void share(pdes::Context& context) {
    asked_ = false;
    const SimTime instant = context.now() - tick;
    shares_.solve([&](MaxMin::Flow number, double rate) {
      Flow& flow = flows_[number];
      flow.left -= flow.rate * static_cast<double>((instant - flow.since).ps());
      flow.left = std::max(flow.left, 0.0);
      flow.since = instant;
      flow.rate = rate;
      ++flow.version;
      flow.end = instant +
                 SimTime::from_ps(static_cast<std::int64_t>(std::llround(flow.left / flow.rate)));
      ends_.push({flow.end, number, flow.version});
    });
    wake(context);
  }

  bool is_current(const PlannedEnd& end) const {
    const Flow& flow = flows_[end.flow];
    return flow.active && flow.version == end.version;
  }

  // Comes back when the first flow is over.
  void wake(pdes::Context& context) {
    while (!ends_.empty() && !is_current(ends_.top())) {
      ends_.pop();
    }
    if (ends_.empty() || ends_.top().time >= woken_at_) {
      return;
    }
    woken_at_ = ends_.top().time;
    context.send_self(std::max(SimTime::zero(), woken_at_ - context.now()),
                      pdes::Port(slot_, end_kind), std::uint32_t{0});
  }

  void end_flows(pdes::Context& context) {
    if (context.now() >= woken_at_) {
      woken_at_ = SimTime::never();
    }
    bool any = false;
    while (!ends_.empty() && (!is_current(ends_.top()) || ends_.top().time <= context.now())) {
      const PlannedEnd end = ends_.top();
      ends_.pop();
      if (is_current(end)) {
        leave_links(end.flow, context.now());
        deliver(context, flows_[end.flow]);
        flows_[end.flow].active = false;
        free_.push_back(end.flow);
        any = true;
      }
    }
    if (any) {
      ask_to_share(context);
    }
    wake(context);
  }

  void leave_links(std::uint32_t number, SimTime now) {
    const Flow& flow = flows_[number];
    double weight = 1;
    const std::vector<MaxMin::Link> route = route_of(flow.source, flow.target, weight);
    shares_.remove(number);
    for (const MaxMin::Link link : route) {
      LinkTotal& total = totals_[link];
      total.bytes += flow.bytes;
      if (shares_.flows_on(link) == 0) {
        total.busy += now - total.since;
      }
    }
  }

  void deliver(pdes::Context& context, const Flow& flow) const {
    context.send(flow.target, ahead_, pdes::Port::from_code(flow.port),
                 Arrival{flow.source, 0, flow.word}, flow.tag);
  }

  std::vector<std::uint64_t> bytes_under_way(SimTime end) const {
    std::vector<std::uint64_t> bytes(totals_.size());
    for (const Flow& flow : flows_) {
      if (!flow.active) {
        continue;
      }
      const double left =
          flow.left -
          flow.rate * static_cast<double>(std::max(SimTime::zero(), end - flow.since).ps());
      const auto done = static_cast<std::uint64_t>(
          std::max(0.0, static_cast<double>(flow.bytes) - std::max(0.0, left)));
      double weight = 1;
      for (const MaxMin::Link link : route_of(flow.source, flow.target, weight)) {
        bytes[link] += done;
      }
    }
    return bytes;
  }

  const machine::Topology& topology_;
  unsigned slot_;
  FlowOptions options_;
  SimTime ahead_;
  std::unique_ptr<machine::Routing> routing_;
  std::uint32_t hub_index_;
  bool has_hub_;
  std::vector<std::uint32_t> first_link_;  // [nodes + 1]; at the hub
  MaxMin shares_;
  std::vector<LinkTotal> totals_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<PlannedEnd, std::vector<PlannedEnd>, std::greater<>> ends_;
  SimTime woken_at_ = SimTime::never();
  bool asked_ = false;
  std::uint64_t hops_ = 0;
  std::uint64_t messages_ = 0;
};

// The hub's state belongs to its entity, whichever rank that is on.
void FlowNetwork::save(std::uint32_t index, pdes::StateWriter& writer) const {
  if (index != hub_index_) {
    return;
  }
  writer.put_all(totals_);
  writer.put_all(flows_);
  writer.put_all(free_);
  writer.put(woken_at_);
  writer.put(static_cast<std::uint8_t>(asked_ ? 1 : 0));
}

void FlowNetwork::restore(std::uint32_t index, pdes::StateReader& reader) {
  if (index != hub_index_) {
    return;
  }
  totals_ = reader.get_all<LinkTotal>();
  flows_ = reader.get_all<Flow>();
  free_ = reader.get_all<std::uint32_t>();
  woken_at_ = reader.get<SimTime>();
  asked_ = reader.get<std::uint8_t>() != 0;
  for (std::uint32_t number = 0; number < flows_.size(); ++number) {
    if (!flows_[number].active) {
      continue;
    }
    const Flow& flow = flows_[number];
    double weight = 1;
    const std::vector<MaxMin::Link> route = route_of(flow.source, flow.target, weight);
    shares_.restore(number, route, weight, MaxMin::no_limit, flow.rate);
    if (!flow.end.is_never()) {
      ends_.push({flow.end, number, flow.version});
    }
  }
}

class FlowModel final : public NetworkModel {
 public:
  explicit FlowModel(FlowOptions options) : options_(std::move(options)) {}
  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    return std::make_unique<FlowNetwork>(setup, options_, *reach(setup.machine));
  }
  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t, bool) const override {
    return machine.topology->links() * (sizeof(LinkTotal) + 64);
  }
  std::string routing() const override { return options_.routing; }
  Overheads overheads() const override { return options_.overheads; }
  std::optional<SimTime> reach(const machine::Machine& machine) const override {
    return SimTime::from_ps(
        std::max<std::int64_t>(1, machine.topology->smallest_latency().ps() / 2));  // 1: refused
  }

 private:
  FlowOptions options_;
};

std::unique_ptr<NetworkModel> make(config::Section& section, const machine::Machine& machine) {
  FlowOptions options;
  options.routing = read_routing(section, machine);
  options.overheads = read_overheads(section);
  options.by_latency = section.get_name("weights", {"equal", "latency"}, "equal") == "latency";
  if (machine.topology->smallest_latency() < least_latency) {
    section.error("model",
                  "flow works ahead of the links by half of the smallest latency, which must "
                  "be 2 ps at least; this machine's is " +
                      to_string(machine.topology->smallest_latency()));
  }
  return std::make_unique<FlowModel>(std::move(options));
}

const Registration registration(
    networks(),
    {"flow",
     "messages as flows that share links max-min fairly, latency paid first",
     {routing_parameter(),
      message_overhead_parameter(),
      collective_overhead_parameter(),
      {"weights", "", "equal",
       "of flows that share a link: equal, or latency: 1 / latency of the route (SimGrid's "
       "CM02)"}}},
    make);

}  // namespace
}  // namespace tessera::network
