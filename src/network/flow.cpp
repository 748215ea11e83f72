// The `flow` network: messages as fluid flows that share links fairly.
//
// Method: a message first waits for the latency of its route and loads no link meanwhile; then it
// flows at its max-min share of all links on the route until it is over (fluid_flows.hpp). Shares
// change at once whenever a flow begins or ends; what happens at one instant is shared out once.
//
// One entity, the hub, solves for all. It works ahead of the links: what begins or ends on them at
// time t is handled at t - d, where d is half of the smallest latency. So a sender, whose message
// waits for its latency anyway, tells the hub in time, and the hub the receiver; nothing is late,
// and the result is that of one global solver. The price is a lookahead of d, and that the hub is
// one rank's work (docs/design/0012-flow-network.md).

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fluid_flows.hpp"
#include "route_cache.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/routing.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"
#include "turns.hpp"

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

// What the hub must know of a message; the event's source and tag are the sender's.
struct Begin {
  EntityId target;
  RateLimit limit;
  std::uint64_t bytes_and_port = 0;  // the port to deliver to in the lowest bits
  std::uint64_t word = 0;
};

struct FlowOptions {
  std::string routing;
  Overheads overheads;
  bool by_latency = false;         // weight 1 / latency of the route, as SimGrid's CM02
  std::optional<Bandwidth> limit;  // of each flow
  std::optional<Bytes> window;     // of each flow: bytes under way in a round trip
  bool in_turn = false;            // messages of one pair of nodes go one after the other
};

// A message at the hub, under the number of its flow.
struct Message {
  EntityId target;
  EntityId source;
  std::uint64_t bytes = 0;
  std::uint64_t word = 0;
  std::uint16_t tag = 0;
  std::uint8_t port = 0;
  bool active = false;
  RateLimit limit;
};

// What a link has done.
struct LinkTotal {
  std::uint64_t bytes = 0;  // of flows that are over
  SimTime busy;             // before `since`
  SimTime since;            // while there are flows
};

std::vector<double> capacities_of(const machine::Topology& topology) {
  std::vector<double> capacities;
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    for (unsigned port = 0; port < topology.ports(EntityId(node)); ++port) {
      const machine::LinkClass& link_class =
          topology.link_classes()[topology.link(EntityId(node), port).link_class];
      capacities.push_back(static_cast<double>(link_class.bandwidth.bytes_per_second()) /
                           ps_per_second);
    }
  }
  return capacities;
}

class FlowNetwork final : public Network {
 public:
  FlowNetwork(const NetworkSetup& setup, const FlowOptions& options, SimTime ahead)
      : topology_(*setup.machine.topology),
        slot_(setup.slot),
        options_(options),
        ahead_(ahead),
        routing_(machine::make_routing(options.routing, topology_)),
        numbers_(topology_),
        hub_index_(static_cast<std::uint32_t>(
            std::find(setup.members.begin(), setup.members.end(), hub) - setup.members.begin())),
        has_hub_(hub_index_ < setup.members.size()),
        routes_(topology_, *routing_, numbers_,
                has_hub_ ? topology_.nodes() : setup.members.size()),
        flows_(has_hub_ ? capacities_of(topology_) : std::vector<double>{},
               options.by_latency ? MaxMin::fine : MaxMin::whole),
        totals_(has_hub_ ? numbers_.count() : 0) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case begin_kind:
        begin(context, event.as<Begin>(), event);
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
        const std::uint32_t link = numbers_.number(EntityId(node), port);
        const LinkTotal& total = totals_[link];
        SimTime busy = total.busy;
        if (flows_.flows_on(link) > 0 && end > total.since) {
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
    writer.put(count_);
  }
  void add_totals(pdes::StateReader& reader) override {
    hops_ += reader.get<std::uint64_t>();
    count_ += reader.get<std::uint64_t>();
  }
  std::uint64_t packet_hops() const override { return hops_; }
  std::uint64_t messages() const override { return count_; }

 private:
  void inject(pdes::Context& context, const SendRequest& request, std::uint16_t tag) {
    ++count_;
    if (request.target == context.self()) {
      context.send_self(SimTime::zero(), request.deliver, Arrival{context.self(), 0, request.word},
                        tag);
      return;
    }
    ensure(request.bytes >> (64 - port_bits) == 0, "a message whose size has its bits");
    const Route& route = routes_.find(context.self(), request.target);
    hops_ += route.links.size();
    context.send(hub, options_.overheads.message + route.latency - ahead_,
                 pdes::Port(slot_, begin_kind),
                 Begin{request.target, request.limit,
                       request.bytes << port_bits | request.deliver.code(), request.word},
                 tag);
  }

  void begin(pdes::Context& context, const Begin& begin, const pdes::Event& event) {
    Message message;
    message.target = begin.target;
    message.source = event.source;
    message.bytes = begin.bytes_and_port >> port_bits;
    message.port = static_cast<std::uint8_t>(begin.bytes_and_port);
    message.word = begin.word;
    message.tag = event.tag;
    message.limit = begin.limit;
    message.active = true;
    if (message.bytes == 0) {
      deliver(context, message);
      return;
    }
    if (options_.in_turn) {
      if (!turns_.take(pair_of(message), message)) {
        return;
      }
    }
    begin_message(context, message);
  }

  void begin_message(pdes::Context& context, const Message& message) {
    std::uint32_t number = 0;
    if (free_.empty()) {
      number = static_cast<std::uint32_t>(messages_.size());
      messages_.push_back(message);
    } else {
      number = free_.back();
      free_.pop_back();
      messages_[number] = message;
    }
    const Route& route = routes_.find(message.source, message.target);
    for (const std::uint32_t link : route.links) {
      if (flows_.flows_on(link) == 0) {
        totals_[link].since = context.now();
      }
    }
    begin_flow(number, route);
    ask_to_share(context);
  }

  void begin_flow(std::uint32_t number, const Route& route) {
    double limit = MaxMin::no_limit;
    if (options_.limit) {
      limit = static_cast<double>(options_.limit->bytes_per_second()) / ps_per_second;
    }
    if (const auto own = messages_[number].limit.rate()) {
      limit = std::min(limit, static_cast<double>(own->bytes_per_second()) / ps_per_second);
    }
    if (options_.window) {
      limit = std::min(limit, static_cast<double>(options_.window->count()) /
                                  (2 * static_cast<double>(route.latency.ps())));
    }
    flows_.begin(number, route.links, messages_[number].bytes,
                 options_.by_latency ? one_over(route.latency) : 1, limit);
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
    flows_.share(context.now() - tick);
    wake(context);
  }

  // Comes back when the first flow is over.
  void wake(pdes::Context& context) {
    const SimTime next = flows_.next_end();
    if (next >= woken_at_) {
      return;
    }
    woken_at_ = next;
    context.send_self(std::max(SimTime::zero(), woken_at_ - context.now()),
                      pdes::Port(slot_, end_kind), std::uint32_t{0});
  }

  void end_flows(pdes::Context& context) {
    if (context.now() >= woken_at_) {
      woken_at_ = SimTime::never();
    }
    ended_.clear();
    flows_.take_ended(context.now(), ended_);
    for (const std::uint32_t number : ended_) {
      Message& message = messages_[number];
      for (const std::uint32_t link : flows_.route(number)) {
        LinkTotal& total = totals_[link];
        total.bytes += message.bytes;
        if (flows_.flows_on(link) == 0 && total.since < context.now()) {
          total.busy += context.now() - total.since;
          total.since = context.now();  // for others that end now
        }
      }
      deliver(context, message);
      message.active = false;
      free_.push_back(number);
    }
    if (options_.in_turn) {
      start_next(context);
    }
    if (ended_.empty()) {
      context.pass();  // flows have been sped up or slowed down since
    } else {
      ask_to_share(context);
    }
    wake(context);
  }

  static std::uint64_t pair_of(const Message& message) {
    return std::uint64_t{message.source.value()} << 32 | message.target.value();
  }

  // Those that waited for the ones that are over now.
  void start_next(pdes::Context& context) {
    next_.clear();
    for (const std::uint32_t number : ended_) {
      if (const auto next = turns_.pass_on(pair_of(messages_[number]))) {
        next_.push_back(*next);
      }
    }
    for (const Message& message : next_) {
      begin_message(context, message);
    }
  }

  void deliver(pdes::Context& context, const Message& message) const {
    context.send(message.target, ahead_, pdes::Port::from_code(message.port),
                 Arrival{message.source, 0, message.word}, message.tag);
  }

  std::vector<std::uint64_t> bytes_under_way(SimTime end) const {
    std::vector<std::uint64_t> bytes(totals_.size());
    for (std::uint32_t number = 0; number < messages_.size(); ++number) {
      const Message& message = messages_[number];
      if (!message.active) {
        continue;
      }
      const double left = flows_.left(number, end);
      const auto done =
          static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(message.bytes) - left));
      for (const std::uint32_t link : flows_.route(number)) {
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
  LinkNumbers numbers_;
  std::uint32_t hub_index_;
  bool has_hub_;
  RouteCache routes_;
  FluidFlows flows_;
  std::vector<LinkTotal> totals_;    // by link
  std::vector<Message> messages_;    // by flow
  std::vector<std::uint32_t> free_;  // flows
  std::vector<std::uint32_t> ended_;
  Turns<Message> turns_;  // in_turn
  std::vector<Message> next_;
  SimTime woken_at_ = SimTime::never();
  bool asked_ = false;
  std::uint64_t hops_ = 0;
  std::uint64_t count_ = 0;
};

// The hub's state belongs to its entity, whichever rank that is on.
void FlowNetwork::save(std::uint32_t index, pdes::StateWriter& writer) const {
  if (index != hub_index_) {
    return;
  }
  writer.put_all(totals_);
  writer.put_all(messages_);
  writer.put_all(free_);
  writer.put(woken_at_);
  writer.put(static_cast<std::uint8_t>(asked_ ? 1 : 0));
  for (std::uint32_t number = 0; number < messages_.size(); ++number) {
    if (messages_[number].active) {
      flows_.save(number, writer);
    }
  }
  turns_.save(writer);
}

void FlowNetwork::restore(std::uint32_t index, pdes::StateReader& reader) {
  if (index != hub_index_) {
    return;
  }
  totals_ = reader.get_all<LinkTotal>();
  messages_ = reader.get_all<Message>();
  free_ = reader.get_all<std::uint32_t>();
  woken_at_ = reader.get<SimTime>();
  asked_ = reader.get<std::uint8_t>() != 0;
  for (std::uint32_t number = 0; number < messages_.size(); ++number) {
    if (messages_[number].active) {
      begin_flow(number, routes_.find(messages_[number].source, messages_[number].target));
      flows_.restore(number, reader);
    }
  }
  turns_.restore(reader);
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
  bool limits_rates() const override { return true; }
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

std::unique_ptr<NetworkModel> make(config::Section& section, const machine::Machine& machine) {
  FlowOptions options;
  options.routing = read_routing(section, machine);
  options.overheads = read_overheads(section);
  options.limit = section.get_optional<Bandwidth>("flow_limit");
  options.window = section.get_optional<Bytes>("window", config::at_least(Bytes(1)));
  options.by_latency = section.get_name("weights", {"equal", "latency"}, "equal") == "latency";
  options.in_turn = section.get_name("pairs", {"together", "in-turn"}, "together") == "in-turn";
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
       "CM02)"},
      {"flow_limit", "B/s", "none", "of the rate of each flow"},
      {"window", "B", "none",
       "bytes of a flow under way at once: limits its rate to window / (2 latency of the route)"},
      {"pairs", "", "together",
       "messages from one node to another flow together, or in-turn, as through one connection"}}},
    make);

}  // namespace
}  // namespace tessera::network
