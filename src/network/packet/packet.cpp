// The `packet` network: packets over exclusive links, cut-through or store-and-forward, first come
// first served.
//
// Method: a message is cut into packets; each directed link carries one packet at a time in order
// of arrival. A packet's head, arriving at t, starts on the next link at max(t, when the link is
// free) and reaches the other end one link latency later; its tail follows the serialization time
// after, or as late as it came in when the link before was slower. With store-and-forward a packet
// starts on the next link when all of it has arrived. Buffers are unbounded, so a router keeps no
// queue: the time at which each link is free says it all, and a hop is one event.
//
// With `arbitration: fair` packets that wait for a link go in the order of start-time fair queueing
// (wire_queues.hpp) by the tiles for which it is used, with `fair-tenants` by their tenants; the
// packet under way is not interrupted, and each that has waited is an event more.
//
// PALM (section IV-C, equations (2) and (5)) takes the links of a whole path at once and holds them
// while it waits; here each link is held only while a packet is on it. Uncontended, both give
// hops * latency + size / bandwidth.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counted_network.hpp"
#include "link_bins.hpp"
#include "packet/crossings.hpp"
#include "packet/fabric.hpp"
#include "packet/packets.hpp"
#include "packet/wire.hpp"
#include "packet/wire_queues.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/large_pages.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::network {
namespace {

constexpr unsigned packet_kind = 1;
constexpr unsigned leaving_kind = 2;   // a packet that will leave this rank's region
constexpr unsigned followed_kind = 3;  // the last of a message whose receiver waits for it here
// Where links are shared evenly:
constexpr unsigned turn_kind = 4;    // at a link's node, from itself: the link is free; its port
constexpr unsigned answer_kind = 5;  // a packet of what its target asked for

// A packet whose head has just arrived.
struct Packet {
  EntityId target;
  EntityId source;
  std::uint32_t bytes = 0;
  std::uint32_t tail_lag_ps = 0;  // its tail arrives this much later
  std::uint64_t word = 0;
};
static_assert(sizeof(Packet) == pdes::payload_bytes);

// A packet that is to go over a link, with what its next event is to be.
struct Forwarded {
  Packet packet;
  SimTime came;  // its head
  pdes::Port on;
  std::uint16_t tag = 0;
  std::uint8_t flags = 0;
};
using Queues = WireQueues<Forwarded>;

// Shortest paths take a search for each target, which on a large graph would last as long as many a
// run.
bool are_affordable(const std::string& routing, const machine::Topology& topology) {
  constexpr std::uint32_t most_searches = 4096;
  return (routing != "shortest" && routing != "ecmp") || topology.nodes() <= most_searches;
}

// How messages are cut, and go on.
struct Cutting {
  std::uint64_t packet_size = 0;
  std::uint64_t max_packets = 0;
  std::uint64_t largest_packet = 0;  // so that the tail lag fits its field on the slowest link
  bool store_and_forward = false;    // a packet goes on when its tail is in
  machine::Arbitration arbitration = machine::Arbitration::first_come;

  // Packets of a message and the size of all but the last.
  std::pair<std::uint64_t, std::uint64_t> cut(std::uint64_t bytes) const {
    if (bytes <= packet_size) {
      return {1, bytes};
    }
    std::uint64_t count = std::min((bytes + packet_size - 1) / packet_size, max_packets);
    std::uint64_t size = std::min((bytes + count - 1) / count, largest_packet);
    count = (bytes + size - 1) / size;
    return {count, size};
  }
};

template <class Fabric>
class PacketNetwork final : public CountedNetwork {
 public:
  PacketNetwork(const NetworkSetup& setup, const Cutting& cutting, const std::string& routing,
                SimTime overhead)
      : members_(setup.members),
        fabric_(*setup.machine.topology, routing),
        cutting_(cutting),
        overhead_(overhead),
        packet_port_(setup.slot, packet_kind),
        leaving_port_(setup.slot, leaving_kind),
        followed_port_(setup.slot, followed_kind),
        answer_port_(setup.slot, answer_kind),
        turn_port_(setup.slot, turn_kind) {
    const machine::Topology& topology = *setup.machine.topology;
    if (setup.regions != nullptr) {
      knows_routes_ = are_affordable(routing, topology);
      crossings_.emplace(fabric_, topology, *setup.regions);
    }
    for (const machine::LinkClass& link_class : topology.link_classes()) {
      classes_.emplace_back(link_class);
    }
    const bool uniform = topology.grid().has_value();
    if (uniform) {
      stride_ = 4;
    } else {
      first_link_.reserve(members_.size() + 1);
    }
    std::uint32_t links = 0;
    for (const EntityId node : members_) {
      if (!uniform) {
        first_link_.push_back(links);
      }
      links += uniform ? stride_ : topology.ports(node);
    }
    if (!uniform) {
      first_link_.push_back(links);
    }
    links_.resize(links);
    if (cutting_.arbitration != machine::Arbitration::first_come) {
      queues_.emplace(links, machine::Sharers(cutting_.arbitration, topology, setup.tenants));
    }
    if (classes_.size() == 1) {
      return;
    }
    link_class_.resize(links);
    for (std::uint32_t index = 0; index < members_.size(); ++index) {
      for (unsigned port = 0; port < topology.ports(members_[index]); ++port) {
        const machine::Link link = topology.link(members_[index], port);
        if (link.to.valid()) {
          link_class_[link_index(index, port)] = link.link_class;
        }
      }
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    if (event.port.kind() == send_kind) {
      inject(context, event);
    } else if (event.port.kind() == turn_kind) [[unlikely]] {
      serve(context, event.as<std::uint32_t>());
    } else {
      forward(context, event);
    }
  }

  pdes::StateArray state_array() const override {
    if (stride_ == 0) {
      return {};
    }
    return {links_.data(), stride_ * sizeof(LinkState)};
  }

  const char* name() const override { return "network packet"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return crossings_ ? std::optional(crossings_->outlook(rank, moment.next)) : std::nullopt;
  }

  // Marks packets that will leave again, and tells of messages that come to an entity here.
  void take_in(pdes::Event& event) override {
    if (event.port.kind() == send_kind || queues_) {
      return;
    }
    event.port = packet_port_;
    if (!crossings_) {
      return;
    }
    const auto packet = event.as<Packet>();
    const EntityId here(event.target);
    const bool leaves = packet.target != here && crossings_->exit_of(here, packet.target).leaves();
    if (leaves) {
      event.port = leaving_port_;
      crossings_->add(event.time, here, packet.target);
    }
    if (incoming_sink_ && !leaves && (event.flags & last_packet_flag) != 0 &&
        crossings_->is_here(packet.target) &&
        incoming_sink_({packet.source, packet.target, deliver_port(event.flags), event.tag,
                        packet.word, tail_at(packet, event.time)})) {
      event.port = followed_port_;
    }
  }

  pdes::Exit exit_of(EntityId from, EntityId to) override {
    return crossings_ ? crossings_->exit_of(from, to) : pdes::Exit{};
  }
  SimTime least_time(EntityId from, EntityId to, Bytes bytes) override {
    return crossings_ ? crossings_->least_time(from, to, bytes) : SimTime::zero();
  }
  void report_progress(IncomingSink incoming, ProgressSink progress) override {
    incoming_sink_ = std::move(incoming);
    progress_sink_ = std::move(progress);
  }
  void learn_routes(const PairVisit& pairs) override {
    if (crossings_ && knows_routes_) {
      crossings_->learn(pairs);
    }
  }

  void pass_boundary(SimTime boundary) override {
    if (!bin_sink_) {
      return;
    }
    for_each_link([&](std::uint32_t link, EntityId node, unsigned port) {
      LinkState& state = links_[link];
      if (state.busy_ps == 0 && state.bytes == 0) {
        return;
      }
      BinState& bin = bins_[link];
      BinState now = done_by(boundary, link, bin);
      if (now.busy_ps != bin.busy_ps || now.bytes != bin.bytes) {
        bin_sink_({node, port, bin_begin_, boundary, Bytes(now.bytes - bin.bytes),
                   SimTime::from_ps(now.busy_ps - bin.busy_ps),
                   queue_bytes(link, state.longest_wait_ps)});
      }
      now.longest_wait_ps = std::max(bin.longest_wait_ps, state.longest_wait_ps);
      state.longest_wait_ps = 0;
      bin = now;
    });
    bin_begin_ = boundary;
  }

  void visit_links(SimTime end, const LinkUseSink& sink) const override {
    for_each_link([&](std::uint32_t link, EntityId node, unsigned port) {
      const LinkState& state = links_[link];
      if (state.busy_ps > 0 || state.bytes > 0) {
        const BinState done = done_by(end, link, {});
        sink({node, port, SimTime::zero(), end, Bytes(done.bytes), SimTime::from_ps(done.busy_ps),
              queue_bytes(link, longest_wait_ps(link))});
      }
    });
  }

  void report_bins(LinkUseSink sink) override {
    bin_sink_ = std::move(sink);
    bins_.open(links_.size());
  }

  // Bins are part of the state when they are reported: `report_bins` comes before `restore`.
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const std::uint32_t first = link_index(index, 0);
    for (std::uint32_t link = first; link < first + ports_of(index); ++link) {
      writer.put(links_[link]);
      if (queues_) {
        queues_->save(link, writer);
      }
    }
    if (!bins_.is_open()) {
      return;
    }
    writer.put(bin_begin_);
    for (std::uint32_t link = first; link < first + ports_of(index); ++link) {
      const BinState bin = bins_.value(link);
      writer.put(bin.busy_ps);
      writer.put(bin.bytes);
      writer.put(bin.longest_wait_ps);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    const std::uint32_t first = link_index(index, 0);
    for (std::uint32_t link = first; link < first + ports_of(index); ++link) {
      links_[link] = reader.get<LinkState>();
      if (queues_) {
        queues_->restore(link, reader);
      }
    }
    if (!bins_.is_open()) {
      return;
    }
    bin_begin_ = reader.get<SimTime>();
    for (std::uint32_t link = first; link < first + ports_of(index); ++link) {
      BinState bin;
      bin.busy_ps = reader.get<std::int64_t>();
      bin.bytes = reader.get<std::uint64_t>();
      bin.longest_wait_ps = reader.get<float>();
      if (links_[link].bytes > 0 || links_[link].busy_ps > 0) {
        bins_[link] = bin;
      }
    }
  }

  std::size_t resident_bytes() const override {
    return links_.capacity() * sizeof(LinkState) + bins_.resident_bytes() +
           first_link_.capacity() * sizeof(std::uint32_t) +
           link_class_.capacity() * sizeof(std::uint16_t) +
           (queues_ ? queues_->resident_bytes() : 0);
  }

 private:
  std::uint32_t link_index(std::uint32_t index, unsigned port) const {
    return (stride_ != 0 ? index * stride_ : first_link_[index]) + port;
  }

  std::uint32_t ports_of(std::uint32_t index) const {
    return stride_ != 0 ? stride_ : first_link_[index + 1] - first_link_[index];
  }

  template <class Visit>
  void for_each_link(Visit visit) const {
    for (std::uint32_t index = 0; index < members_.size(); ++index) {
      const std::uint32_t first = link_index(index, 0);
      const std::uint32_t ports = ports_of(index);
      for (unsigned port = 0; port < ports; ++port) {
        visit(first + port, members_[index], port);
      }
    }
  }

  // What of the booked use lies before `time`, given what lay before an earlier one. Everything
  // booked came before `time`, so beyond it the wire is busy without a gap until it is free. Bytes
  // booked since the earlier time count as spread evenly over the time booked since: a packet that
  // waits for its tail holds the wire longer than its bytes need.
  BinState done_by(SimTime time, std::uint32_t link, const BinState& before) const {
    const LinkState& state = links_[link];
    BinState done{state.busy_ps, state.bytes, 0};
    if (state.free_at > time) {
      const std::int64_t beyond_ps = (state.free_at - time).ps();
      const auto to_come = static_cast<Wide>(state.bytes - before.bytes) *
                           static_cast<std::uint64_t>(beyond_ps) /
                           static_cast<std::uint64_t>(state.busy_ps - before.busy_ps);
      done.busy_ps -= beyond_ps;
      done.bytes -= static_cast<std::uint64_t>(to_come);
    }
    return done;
  }

  // Over the whole run.
  float longest_wait_ps(std::uint32_t link) const {
    const float before = bins_.is_open() ? bins_.value(link).longest_wait_ps : 0;
    return std::max(before, links_[link].longest_wait_ps);
  }

  Bytes queue_bytes(std::uint32_t link, float wait_ps) const {
    return bytes_in(SimTime::from_ps(static_cast<std::int64_t>(wait_ps)),
                    class_of(link).bandwidth());
  }

  const WireClass& class_of(std::uint32_t link) const {
    return classes_[link_class_.empty() ? 0 : link_class_[link]];
  }

  // A packet whose head has just come.
  void go_on(pdes::Context& context, unsigned port, const Packet& packet, pdes::Port on,
             std::uint16_t tag, std::uint8_t flags) {
    if (queues_) [[unlikely]] {
      wait_for_turn(context, port, {packet, context.now(), on, tag, flags});
    } else {
      book(context, port, packet, on, tag, flags, context.now());
    }
  }

  [[gnu::noinline]] void wait_for_turn(pdes::Context& context, unsigned port,
                                       const Forwarded& forwarded) {
    const std::uint32_t link = link_index(context.index(), port);
    const Packet& packet = forwarded.packet;
    const EntityId user = forwarded.on == answer_port_ ? packet.target : packet.source;
    switch (queues_->take(link, queues_->sharers().of(user, packet.target), packet.bytes, forwarded,
                          context.now(), links_[link].free_at)) {
      case Queues::Turn::now:
        serve(context, port);
        break;
      case Queues::Turn::call:
        call_when_free(context, port);
        break;
      case Queues::Turn::wait:
        break;
    }
  }

  // A link that is free, and for which something waits.
  [[gnu::noinline]] void serve(pdes::Context& context, unsigned port) {
    const Queues::Next next = queues_->next(link_index(context.index(), port));
    const Forwarded& first = next.item;
    book(context, port, first.packet, first.on, first.tag, first.flags, first.came);
    if (next.more) {
      call_when_free(context, port);
    }
  }

  void call_when_free(pdes::Context& context, unsigned port) {
    const LinkState& state = links_[link_index(context.index(), port)];
    context.send_self(state.free_at - context.now(), turn_port_, std::uint32_t{port});
  }

  // Books the next packet on a link: its head came at `came`, its tail comes `tail_lag_ps` later.
  // Sends its head on by an event on `on`, unless nobody needs to hear of it.
  void book(pdes::Context& context, unsigned port, Packet packet, pdes::Port on, std::uint16_t tag,
            std::uint8_t flags, SimTime came) {
    const std::uint32_t link = link_index(context.index(), port);
    LinkState& state = links_[link];
    WireClass& wire = classes_[link_class_.empty() ? 0 : link_class_[link]];
    const SimTime now = context.now();
    const auto [start, end] =
        wire.book(state, packet.bytes, came, came + SimTime::from_ps(packet.tail_lag_ps));
    ++hops_;
    const EntityId next = fabric_.neighbour(context.self(), port);
    if (next == packet.target) {
      carried_.bytes_delivered += packet.bytes;
      if ((flags & last_packet_flag) == 0) {
        return;  // only the last packet of a message raises an arrival
      }
    }
    SimTime delay = end - now + wire.latency();
    if (!cutting_.store_and_forward) {
      delay = start - now + wire.latency();
      packet.tail_lag_ps = static_cast<std::uint32_t>((end - start).ps());
    }
    context.send(next, delay, on, packet, tag, flags);
    if (on != packet_port_) [[unlikely]] {
      report(packet, on, next, {now, now + delay}, tag, flags);
    }
  }

  // Of a packet that has been sent on to `next`.
  struct Hop {
    SimTime now;
    SimTime then;
  };
  [[gnu::noinline]] void report(const Packet& packet, pdes::Port on, EntityId next, const Hop& hop,
                                std::uint16_t tag, std::uint8_t flags) {
    if (on == answer_port_) {
      return;
    }
    if (on == followed_port_) {
      progress_sink_({packet.source, packet.target, deliver_port(flags), tag, packet.word,
                      tail_at(packet, hop.then)});
      return;
    }
    crossings_->reached(hop.now);
    if (crossings_->is_here(next)) {
      crossings_->add(hop.then, next, packet.target);
    }
  }

  // When its head is somewhere at `time`.
  static SimTime tail_at(const Packet& packet, SimTime time) {
    return time + SimTime::from_ps(packet.tail_lag_ps);
  }

  void inject(pdes::Context& context, const pdes::Event& event) {
    const auto request = event.as<SendRequest>();
    carried_.take(request.bytes);
    if (deliver_to_self(context, request, event.tag)) {
      carried_.deliver(request.bytes);
      return;
    }
    const unsigned port = fabric_.next_port(context.self(), request.target);
    const bool leaves = crossings_ && crossings_->exit_of(context.self(), request.target).leaves();
    const bool answers = queues_ && (event.flags & answer_flag) != 0;
    const pdes::Port on = leaves ? leaving_port_ : answers ? answer_port_ : packet_port_;
    const bool is_followed = !leaves && (event.flags & followed_flag) != 0;
    const auto [count, size] = cutting_.cut(request.bytes);
    std::uint64_t left = request.bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bytes = std::min(left, size);
      left -= bytes;
      go_on(context, port,
            {request.target, context.self(), static_cast<std::uint32_t>(bytes), 0, request.word},
            is_followed && i + 1 == count ? followed_port_ : on, event.tag,
            packet_flags(request.deliver, i + 1 == count));
    }
  }

  void forward(pdes::Context& context, const pdes::Event& event) {
    const auto packet = event.as<Packet>();
    if (packet.target != context.self()) {
      go_on(context, fabric_.next_port(context.self(), packet.target), packet, event.port,
            event.tag, event.flags);
      return;
    }
    ++carried_.messages_delivered;
    context.send_self(SimTime::from_ps(packet.tail_lag_ps) + overhead_, deliver_port(event.flags),
                      Arrival{packet.source, 0, packet.word}, event.tag);
  }

  std::span<const EntityId> members_;
  Fabric fabric_;
  Cutting cutting_;
  SimTime overhead_;
  pdes::Port packet_port_;
  pdes::Port leaving_port_;
  pdes::Port followed_port_;
  pdes::Port answer_port_;
  pdes::Port turn_port_;
  std::vector<WireClass> classes_;
  std::uint32_t stride_ = 0;               // links of every node, where all have as many
  std::vector<std::uint32_t> first_link_;  // else where each node's links begin
  LargePageVector<LinkState> links_;
  std::vector<std::uint16_t> link_class_;  // empty when the machine has one class
  std::optional<Queues> queues_;           // of links, where they are shared evenly
  BinTable bins_;
  LinkUseSink bin_sink_;
  SimTime bin_begin_;
  std::optional<Crossings<Fabric>> crossings_;  // of a run on several ranks
  IncomingSink incoming_sink_;
  ProgressSink progress_sink_;
  bool knows_routes_ = false;  // of all pairs
};

const config::ChoiceKey<bool> store_and_forward{
    "switching",
    {{"cut-through", false}, {"store-and-forward", true}},
    "cut-through",
    "cut-through, or store-and-forward: a packet goes on when all of it has come in"};
const config::Key<Bytes> packet_size{"packet_size", Bytes(4096),
                                     "payload of a packet; larger packets, fewer events",
                                     config::at_least(Bytes(1))};
const config::Key<std::uint64_t> max_packets{
    "max_packets", 64, "packets a message is cut into at most; larger messages get larger packets",
    config::between<std::uint64_t>(1, 1'000'000)};
const config::ChoiceKey<machine::Arbitration> arbitration_key{
    "arbitration", machine::arbitration_choices(), "first-come",
    "of the packets that wait for a link; fair: the tiles for which it is used get even parts of "
    "its bytes; fair-tenants: their tenants do"};

// A packet's head is an event at each node it comes to; at the last one only the last packet's is,
// and the arrival of the message after it.
template <class Fabric>
class PacketTraffic final : public PredictedTraffic {
 public:
  PacketTraffic(const machine::Topology& topology, const std::string& routing,
                const Cutting& cutting)
      : fabric_(topology, routing), cutting_(cutting) {}

  void visit_runs(EntityId from, EntityId to, Bytes bytes, const VisitRun& visit) const override {
    visit({.first = from.value(), .events = 1});
    if (from != to) {
      visit_between(from, to, cutting_.cut(bytes.count()).first, visit);
      visit({.first = to.value(), .events = 1});
    }
    visit({.first = to.value(), .events = 1});
  }

 private:
  void visit_between(EntityId from, EntityId to, std::uint64_t packets,
                     const VisitRun& visit) const {
    for (EntityId here = from;;) {
      const unsigned port = fabric_.next_port(here, to);
      const EntityId next = fabric_.neighbour(here, port);
      const std::uint32_t step = next.value() - here.value();
      const std::uint32_t nodes = fabric_.straight_on(here, to, port);
      here = EntityId(here.value() + step * nodes);
      const std::uint32_t between = here == to ? nodes - 1 : nodes;
      if (between > 0) {
        visit({next.value(), step, between, packets});
      }
      if (here == to) {
        return;
      }
    }
  }

  Fabric fabric_;
  Cutting cutting_;
};

class PacketModel final : public NetworkModel {
 public:
  PacketModel(const Cutting& cutting, std::string routing, const Overheads& overheads)
      : cutting_(cutting), routing_(std::move(routing)), overheads_(overheads) {}

  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    if (setup.machine.topology->grid() && routing_ != "shortest") {
      return std::make_unique<PacketNetwork<GridFabric>>(setup, cutting_, routing_,
                                                         overheads_.message);
    }
    return std::make_unique<PacketNetwork<GraphFabric>>(setup, cutting_, routing_,
                                                        overheads_.message);
  }

  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t nodes,
                              bool bins) const override {
    const std::uint64_t ports = machine.topology->grid()
                                    ? 4 * nodes
                                    : machine.topology->links() * nodes / machine.topology->nodes();
    const bool classes = machine.topology->link_classes().size() > 1;
    const bool is_fair = cutting_.arbitration != machine::Arbitration::first_come;
    return ports * (sizeof(LinkState) + (bins ? sizeof(BinState) : 0) +
                    (classes ? sizeof(std::uint16_t) : 0) +
                    (is_fair ? sizeof(pdes::FairQueue<Forwarded>) : 0)) +
           (is_fair ? machine.topology->nodes() * sizeof(std::uint32_t) : 0);
  }
  // At the end of its way only a message's last packet is an event.
  std::uint64_t events_of_message(const machine::Machine& machine, EntityId from, EntityId to,
                                  Bytes bytes) const override {
    const machine::Topology& topology = *machine.topology;
    for (unsigned port = 0; port < topology.ports(from); ++port) {
      if (topology.link(from, port).to == to) {
        return 1;
      }
    }
    return cutting_.cut(bytes.count()).first;
  }
  bool sends_along_links() const override { return true; }
  // When a packet goes on is known no more at its coming where others may go before it.
  bool promises() const override {
    return cutting_.arbitration == machine::Arbitration::first_come;
  }
  machine::Arbitration arbitration() const override { return cutting_.arbitration; }
  std::string routing() const override { return routing_; }
  Overheads overheads() const override { return overheads_; }

  // Where not all routes are affordable, ends must do.
  std::unique_ptr<PredictedTraffic> predict_traffic(
      const machine::Machine& machine) const override {
    const machine::Topology& topology = *machine.topology;
    if (topology.grid() && routing_ != "shortest") {
      return std::make_unique<PacketTraffic<GridFabric>>(topology, routing_, cutting_);
    }
    if (are_affordable(routing_, topology)) {
      return std::make_unique<PacketTraffic<GraphFabric>>(topology, routing_, cutting_);
    }
    return predict_ends_only();
  }

 private:
  Cutting cutting_;
  std::string routing_;
  Overheads overheads_;
};

std::unique_ptr<NetworkModel> make(config::Section& section, const machine::Machine& machine) {
  Cutting cutting;
  const std::string routing = read_routing(section, machine);
  const Overheads overheads = read_overheads(section);
  cutting.packet_size = packet_size.read(section).count();
  cutting.max_packets = max_packets.read(section);
  cutting.store_and_forward = store_and_forward.read(section);
  cutting.arbitration = arbitration_key.read(section);
  std::uint64_t slowest = std::numeric_limits<std::uint64_t>::max();
  for (const machine::LinkClass& link_class : machine.topology->link_classes()) {
    slowest = std::min(slowest, WireClass(link_class).bandwidth().bytes_per_second());
  }
  const std::uint64_t in_field =
      cutting.store_and_forward ? packet_field : largest_at(Bandwidth::bytes_per_second(slowest));
  if (in_field == 0) {
    section.error("", "the packet model needs links of at least 233 B/s; use 'analytical'");
  }
  cutting.largest_packet = std::clamp<std::uint64_t>(in_field, 1, packet_field);
  cutting.packet_size = std::min(cutting.packet_size, cutting.largest_packet);
  return std::make_unique<PacketModel>(cutting, routing, overheads);
}

const Registration registration(
    networks(),
    {"packet",
     "packets over exclusive links in order of arrival, cut-through, unbounded buffers (the "
     "default)",
     {routing_parameter(), message_overhead_parameter(), collective_overhead_parameter(),
      collective_member_overhead_parameter(), library_parameter(), store_and_forward, packet_size,
      max_packets, arbitration_key}},
    make);

}  // namespace
}  // namespace tessera::network
