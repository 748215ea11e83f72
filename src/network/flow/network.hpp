// A rank's part of the `flow` network: see flow.cpp for the method.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/fluid_flows.hpp"
#include "link_account.hpp"
#include "ring.hpp"
#include "route_cache.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"
#include "turns.hpp"

namespace tessera::network {

// Which messages of one pair of nodes go one after the other.
enum class InTurn : std::uint8_t { none, connected, all };  // connected: see connection_flag

struct FlowOptions {
  std::string routing;
  Overheads overheads;
  bool by_latency = false;         // weight 1 / latency of the route, as SimGrid's CM02
  std::optional<Bandwidth> limit;  // of each flow
  std::optional<Bytes> window;     // of each flow: bytes under way in a round trip
  InTurn in_turn = InTurn::connected;
  bool lumps_rings = false;  // see ring.hpp
};

class FlowNetwork final : public Network {
 public:
  // `ahead`: how long before the links the hub works.
  FlowNetwork(const NetworkSetup& setup, const FlowOptions& options, SimTime ahead);

  void handle(pdes::Context& context, const pdes::Event& event) override;
  void visit_links(SimTime end, const LinkUseSink& sink) const override;
  void report_bins(LinkUseSink) override {}
  void save(std::uint32_t index, pdes::StateWriter& writer) const override;
  void restore(std::uint32_t index, pdes::StateReader& reader) override;
  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(hops_);
    writer.put(carried_);
  }
  void add_totals(pdes::StateReader& reader) override {
    hops_ += reader.get<std::uint64_t>();
    carried_ += reader.get<Carried>();
  }
  std::uint64_t packet_hops() const override { return hops_; }
  Carried carried() const override { return carried_; }

 private:
  // What the hub must know of a message; the event's source and tag are the sender's.
  struct Begin {
    EntityId target;
    RateLimit limit;
    std::uint64_t bytes_and_port = 0;  // the port to deliver to in the lowest bits
    std::uint64_t word = 0;
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
    bool in_turn = false;
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

  void inject(pdes::Context& context, const SendRequest& request, std::uint16_t tag,
              std::uint8_t flags);
  void begin(pdes::Context& context, const Begin& begin, const pdes::Event& event);
  bool goes_in_turn(std::uint8_t flags) const;
  // Of rings.
  bool has_turns() const { return options_.in_turn != InTurn::none; }
  void begin_message(pdes::Context& context, const Message& message);
  void begin_flow(pdes::Context& context, const Message& message);
  std::uint32_t add_flow(const Message& message, SimTime since);
  void tell_flow(std::uint32_t number, const Route& route);
  Wide weight_on(const Route& route) const;
  double limit_of(const RateLimit& own, const Route& route) const;
  void ask_to_share(pdes::Context& context);
  void share(pdes::Context& context);
  bool share_before(pdes::Context& context);
  void wake(pdes::Context& context);
  void end_flows(pdes::Context& context);
  void free_flow(std::uint32_t number);
  void start_next(pdes::Context& context);
  void deliver(pdes::Context& context, const Message& message, std::uint32_t untold);
  void add_under_way(LinkAccount& account, SimTime end) const;

  // Rings: flow_rings.cpp.
  void announce(pdes::Context& context, const RingPart& part) const;
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
  LinkAccount account_;
  std::vector<Message> messages_;    // by flow
  std::vector<std::uint32_t> free_;  // flows
  std::vector<std::uint32_t> ended_;
  Turns<Message> turns_;  // in_turn
  std::vector<Message> next_;
  std::map<std::uint64_t, KnownRing> rings_;  // by the word of their messages
  std::vector<std::uint64_t> lumped_on_;      // [links] word of a lumped ring, or 0
  std::vector<std::uint64_t> to_lump_;        // words of rings, of this instant
  SimTime woken_at_ = SimTime::never();
  SimTime to_share_ = SimTime::never();  // the instant of the last change, until it is shared out
  std::uint64_t hops_ = 0;
  Carried carried_;
};

namespace flow_port {                      // kinds of port; those of hub
inline constexpr unsigned begin = 1;       // a message has paid its latency
inline constexpr unsigned share = 2;       // all of an instant is known
inline constexpr unsigned end = 3;         // the next flow may be over
inline constexpr unsigned joined = 4;      // a member begins its part in a ring
inline constexpr unsigned look_ahead = 5;  // a lumped ring needs more rows
inline constexpr unsigned chain_over = 6;  // of a lumped ring
inline constexpr unsigned resumed = 7;     // a message of a ring that was lumped begins
}  // namespace flow_port

inline constexpr EntityId flow_hub = EntityId(0);

}  // namespace tessera::network
