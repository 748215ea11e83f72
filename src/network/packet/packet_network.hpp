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

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "counted_network.hpp"
#include "packet/crossings.hpp"
#include "packet/cutting.hpp"
#include "packet/links.hpp"
#include "packet/packets.hpp"
#include "packet/wire_queues.hpp"
#include "tessera/core/error.hpp"

namespace tessera::network {

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

template <class Fabric>
class PacketNetwork final : public CountedNetwork {
 public:
  // `knows_routes`: routes of all pairs can be looked up.
  PacketNetwork(const NetworkSetup& setup, const Cutting& cutting, const std::string& routing,
                bool knows_routes, SimTime overhead)
      : fabric_(*setup.machine.topology, routing),
        cutting_(cutting),
        overhead_(overhead),
        packet_port_(setup.slot, packet_kind),
        leaving_port_(setup.slot, leaving_kind),
        followed_port_(setup.slot, followed_kind),
        answer_port_(setup.slot, answer_kind),
        turn_port_(setup.slot, turn_kind),
        links_(setup.members, *setup.machine.topology),
        knows_routes_(knows_routes) {
    const machine::Topology& topology = *setup.machine.topology;
    if (setup.regions != nullptr) {
      crossings_.emplace(fabric_, topology, *setup.regions);
      index_of_.resize(topology.nodes());
      for (std::uint32_t index = 0; index < setup.members.size(); ++index) {
        index_of_[setup.members[index].value()] = index;
      }
    }
    if (cutting_.arbitration != machine::Arbitration::first_come) {
      queues_.emplace(links_.size(),
                      machine::Sharers(cutting_.arbitration, topology, setup.tenants));
    }
  }

  // Nearly all events of a machine of packets: nothing on the way of one is worth a call.
  [[gnu::flatten]] void handle(pdes::Context& context, const pdes::Event& event) override {
    if (event.port.kind() == send_kind) {
      inject(context, event);
    } else if (event.port.kind() == turn_kind) [[unlikely]] {
      serve(context, event.as<std::uint32_t>());
    } else {
      forward(context, event);
    }
  }

  pdes::StateArray state_array() const override { return links_.state_array(); }

  const char* name() const override { return "network packet"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    if (!crossings_) {
      return std::nullopt;
    }
    return crossings_->outlook(rank, moment.next, [this](EntityId node, unsigned port) {
      return links_.state(links_.number(index_of_[node.value()], port)).free_at;
    });
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
      crossings_->add(event.time, here, packet.target, (event.flags & last_packet_flag) != 0);
    }
    if (incoming_sink_ && !leaves && (event.flags & last_packet_flag) != 0 &&
        crossings_->is_here(packet.target) &&
        incoming_sink_({packet.source, packet.target, deliver_port(event.flags), event.tag,
                        packet.word, arrival_of(packet, here, event.time)})) {
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

  void pass_boundary(SimTime boundary) override { links_.pass_boundary(boundary); }
  void visit_links(SimTime end, const LinkUseSink& sink) const override { links_.visit(end, sink); }
  void report_bins(LinkUseSink sink) override { links_.report_bins(std::move(sink)); }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const auto [first, last] = links_.of_node(index);
    for (std::uint32_t link = first; link < last; ++link) {
      links_.save_wire(link, writer);
      if (queues_) {
        queues_->save(link, writer);
      }
    }
    links_.save_bins(index, writer);
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    const auto [first, last] = links_.of_node(index);
    for (std::uint32_t link = first; link < last; ++link) {
      links_.restore_wire(link, reader);
      if (queues_) {
        queues_->restore(link, reader);
      }
    }
    links_.restore_bins(index, reader);
  }

  std::size_t resident_bytes() const override {
    return links_.resident_bytes() + (queues_ ? queues_->resident_bytes() : 0);
  }

 private:
  static constexpr unsigned packet_kind = 1;
  static constexpr unsigned leaving_kind = 2;  // a packet that will leave this rank's region
  static constexpr unsigned followed_kind =
      3;  // the last of a message whose receiver waits for it here
  // Where links are shared evenly:
  static constexpr unsigned turn_kind =
      4;  // at a link's node, from itself: the link is free; its port
  static constexpr unsigned answer_kind = 5;  // a packet of what its target asked for
  using Queues = WireQueues<Forwarded>;

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
    const std::uint32_t link = links_.number(context.index(), port);
    const Packet& packet = forwarded.packet;
    const EntityId user = forwarded.on == answer_port_ ? packet.target : packet.source;
    switch (queues_->take(link, queues_->sharers().of(user, packet.target), packet.bytes, forwarded,
                          context.now(), links_.state(link).free_at)) {
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
    const Queues::Next next = queues_->next(links_.number(context.index(), port));
    const Forwarded& first = next.item;
    book(context, port, first.packet, first.on, first.tag, first.flags, first.came);
    if (next.more) {
      call_when_free(context, port);
    }
  }

  void call_when_free(pdes::Context& context, unsigned port) {
    const SimTime free_at = links_.state(links_.number(context.index(), port)).free_at;
    context.send_self(free_at - context.now(), turn_port_, std::uint32_t{port});
  }

  // Books the next packet on a link: its head came at `came`, its tail comes `tail_lag_ps` later.
  // Sends its head on by an event on `on`, unless nobody needs to hear of it.
  void book(pdes::Context& context, unsigned port, Packet packet, pdes::Port on, std::uint16_t tag,
            std::uint8_t flags, SimTime came) {
    const std::uint32_t link = links_.number(context.index(), port);
    LinkState& state = links_.state(link);
    const WireClass& wire = links_.wire(link);
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
                      arrival_of(packet, next, hop.then)});
      return;
    }
    crossings_->reached(hop.now);
    if (crossings_->is_here(next)) {
      crossings_->add(hop.then, next, packet.target, (flags & last_packet_flag) != 0);
    }
  }

  // Of its tail at its target, at least, when its head is at `node` at `time`.
  SimTime arrival_of(const Packet& packet, EntityId node, SimTime time) {
    return time + SimTime::from_ps(packet.tail_lag_ps) +
           crossings_->least_time(node, packet.target, Bytes(0));
  }

  void inject(pdes::Context& context, const pdes::Event& event) {
    const auto request = event.as<SendRequest>();
    if (deliver_to_self(context, request, event.tag, carried_)) {
      return;
    }
    carried_.take(request.bytes);
    const unsigned port = fabric_.next_port(context.self(), request.target);
    const bool leaves = crossings_ && crossings_->exit_of(context.self(), request.target).leaves();
    const bool answers = queues_ && (event.flags & answer_flag) != 0;
    const pdes::Port on = leaves ? leaving_port_ : answers ? answer_port_ : packet_port_;
    const bool is_followed = !leaves && (event.flags & followed_flag) != 0;
    const auto [count, size] = cutting_.cut(request.bytes);
    if (count > Cutting::most) {
      throw ModelError("packet network: a message of " + std::to_string(request.bytes) +
                       " B would be more than 2^22 packets, none of which may be larger than " +
                       std::to_string(cutting_.largest_packet) + " B on the slowest link");
    }
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

  Fabric fabric_;
  Cutting cutting_;
  SimTime overhead_;
  pdes::Port packet_port_;
  pdes::Port leaving_port_;
  pdes::Port followed_port_;
  pdes::Port answer_port_;
  pdes::Port turn_port_;
  Links links_;
  std::optional<Queues> queues_;                // of links, where they are shared evenly
  std::optional<Crossings<Fabric>> crossings_;  // of a run on several ranks
  std::vector<std::uint32_t> index_of_;         // [nodes] of those here, for crossings
  IncomingSink incoming_sink_;
  ProgressSink progress_sink_;
  bool knows_routes_;  // of all pairs
};

}  // namespace tessera::network
