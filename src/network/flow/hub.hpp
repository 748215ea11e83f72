// The node that solves for one part of the machine, or several (parts.hpp): see flow.cpp for the
// method. Links are numbered by their places among those of the hub.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "flow/fluid_flows.hpp"
#include "flow/shared.hpp"
#include "link_account.hpp"
#include "ring.hpp"
#include "turns.hpp"

namespace tessera::network {

class FlowHub {
 public:
  // Capacities of its links [B/ps]; `largest` of all links of the machine, so that rates do not
  // depend on which of them are its own. `shared` outlives it.
  FlowHub(FlowShared& shared, const std::vector<double>& capacities, double largest);

  // An event of a kind of flow_port.
  void handle(pdes::Context& context, const pdes::Event& event);
  // All that its links have carried by `end`.
  LinkAccount account_at(SimTime end) const;
  bool is_idle(std::uint32_t link) const { return flows_.flows_on(link) == 0; }

  void save(pdes::StateWriter& writer) const;
  // Tells of what it finds, where somebody wants to know.
  void restore(pdes::StateReader& reader);

  // For outlooks. Whether the flow of this number is still the same.
  bool holds(std::uint32_t flow, std::uint32_t generation) const {
    return messages_[flow].active && watches_[flow].generation == generation;
  }
  // Of a flow, here and at the earliest, when all before `done` is known.
  SimTime least_end(std::uint32_t flow, SimTime done) const;
  // To who follows it: it does not arrive before.
  void tell_progress(std::uint32_t flow, SimTime arrives) const;

  // Beside those of its links, about.
  static constexpr std::size_t bytes_alone = 4096;
  static constexpr std::size_t bytes_a_link() {
    return MaxMin::bytes_a_link() + LinkAccount::bytes_a_link();
  }

 private:
  // A message, under the number of its flow.
  struct Message {
    EntityId target;
    EntityId source;
    std::uint64_t bytes = 0;
    std::uint64_t word = 0;
    std::uint16_t tag = 0;
    std::uint8_t port = 0;
    bool active = false;
    bool in_turn = false;
    bool followed = false;
    RateLimit limit;
    std::uint32_t chain = no_chain;  // of the ring that `word` names

    static constexpr std::uint32_t no_chain = 0xFFFFFFFFU;
    std::uint64_t pair() const { return std::uint64_t{source.value()} << 32 | target.value(); }
  };
  struct KnownRing {
    Ring ring;
    std::uint8_t port = 0;     // that its messages are delivered to
    bool is_prepared = false;  // its edges are set, if they can be
    std::uint32_t pause = 0;   // steps until it may be lumped
    std::uint32_t tries = 0;   // that did not last
  };
  // An event of a ring.
  struct OfRing {
    std::uint64_t word = 0;
    std::uint32_t place = 0;   // chain, or edge
    std::uint32_t number = 0;  // step, or Ring::lumps
  };
  // What outlooks know of a flow.
  struct Watch {
    double most_rate = 0;  // that it ever has [B/ps]
    std::uint32_t generation = 0;
  };

  pdes::Port own_port(unsigned kind) const { return {shared_.slot, kind}; }
  bool has_turns() const { return shared_.options.in_turn != InTurn::none; }
  bool goes_in_turn(std::uint8_t flags) const;
  void begin(pdes::Context& context, const FlowBegin& begin, const pdes::Event& event);
  void begin_message(pdes::Context& context, const Message& message);
  void begin_flow(pdes::Context& context, const Message& message);
  std::uint32_t add_flow(const Message& message, SimTime since);
  void watch(std::uint32_t number, SimTime done);
  Wide weight_on(const Route& route) const;
  void ask_to_share(pdes::Context& context);
  void ask_to_see(pdes::Context& context);
  void share(pdes::Context& context);
  bool share_before(pdes::Context& context);
  void wake(pdes::Context& context);
  void end_flows(pdes::Context& context);
  void free_flow(std::uint32_t number);
  void start_next(pdes::Context& context);
  void deliver(pdes::Context& context, const Message& message, std::uint32_t untold);
  void add_under_way(LinkAccount& account, SimTime end) const;
  bool tell_incoming(const Message& message) const;

  // Rings: rings.cpp.
  void join(const RingPart& part, EntityId member);
  bool comes_late(Message& message);
  void resume(pdes::Context& context, const OfRing& of);
  void end_step(pdes::Context& context, const Message& message);
  void tell(pdes::Context& context, const Message& message, Ring& ring, std::uint32_t step);
  Message message_of(std::uint64_t word, std::uint32_t chain, std::uint32_t step) const;
  std::vector<Ring::Edge> edges_of(const Ring& ring);
  void prepare(KnownRing& known);
  void mark(const Ring& ring, std::uint64_t word);
  void lump_if_alone(pdes::Context& context, std::uint64_t word);
  bool is_alone(const Ring& ring, std::uint64_t word) const;
  void plan(pdes::Context& context, std::uint64_t word, const Ring& ring) const;
  Ring* lumped(pdes::Context& context, const OfRing& of);
  void look_ahead(pdes::Context& context, const OfRing& of);
  void end_chain(pdes::Context& context, const OfRing& of);
  void disturb_rings(pdes::Context& context, const Message& message);
  void disband(pdes::Context& context, std::uint64_t word);
  void take_use(Ring& ring);
  void add_lumped(LinkAccount& account, SimTime end) const;
  void save_rings(pdes::StateWriter& writer) const;
  void restore_rings(pdes::StateReader& reader);

  FlowShared& shared_;
  FluidFlows flows_;
  LinkAccount account_;
  std::vector<Message> messages_;    // by flow
  std::vector<std::uint32_t> free_;  // flows
  std::vector<Watch> watches_;       // by flow, where somebody asks for outlooks
  std::vector<std::uint32_t> ended_;
  Turns<Message> turns_;  // in_turn
  std::vector<Message> next_;
  std::map<std::uint64_t, KnownRing> rings_;  // by the word of their messages
  std::vector<std::uint64_t> lumped_on_;      // [links] word of a lumped ring, or 0
  std::vector<std::uint64_t> to_lump_;        // words of rings, of this instant
  SimTime woken_at_ = SimTime::never();
  std::vector<SimTime> asked_;           // when it comes back, the earliest last
  SimTime to_share_ = SimTime::never();  // the instant of the last change, until it is shared out
};

}  // namespace tessera::network
