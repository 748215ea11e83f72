// The routers of one rank, and the nodes' sides of their injection and ejection links.
//
// Method: virtual-channel wormhole routers with input queues and credits (W. Dally,
// "Virtual-channel flow control", IEEE Trans. Parallel Distrib. Syst. 3(2), 1992,
// doi:10.1109/71.127260; W. Dally, B. Towles, "Principles and Practices of Interconnection
// Networks", 2004, chapters 16 to 19). Timing follows BookSim 2 (N. Jiang et al., ISPASS 2013,
// doi:10.1109/ISPASS.2013.6557149): stages of a cycle see the state at its beginning; a body flit
// asks for the switch in the cycle it comes in; the next packet of a virtual channel is routed
// after the tail before it has left; a credit leaves with the grant of the switch. Where we
// deviate: the node sends at the router's side of its link, as much later (same times, no flits on
// that link); with a delay of more than one cycle, an allocator takes what it grants at once and
// not at the end of the delay.
//
// A router is awake in cycles in which it may have something to do: one event for each of those,
// one for each flit and for each set of credits on a link. What comes in, comes at the beginning of
// a cycle; a router works `step_offset` later, when everything of the cycle is there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "flit/departures.hpp"
#include "flit/matching.hpp"
#include "flit/messages.hpp"
#include "flit/routes.hpp"
#include "flit/settings.hpp"
#include "flit/state.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/window_clock.hpp"

namespace tessera::network {

inline constexpr SimTime step_offset = SimTime::from_ps(1);

// A flit, credits, or both, for the port of the router at the other end.
struct LinkLoad {
  static constexpr std::uint8_t holds_flit = 1;
  static constexpr std::uint8_t holds_credits = 2;
  Flit flit;
  std::uint32_t credits = 0;  // bit i: one for virtual channel i
  std::uint16_t port = 0;     // of the router it goes to
  std::uint8_t vc = 0;
  std::uint8_t deliver = 0;
};
static_assert(sizeof(LinkLoad) == pdes::payload_bytes);

// Links of one kind in cycles.
struct LinkTiming {
  std::uint32_t cycles = 1;
  std::uint64_t interval = 0;  // between flits [2^-16 cycles]
};
inline constexpr unsigned interval_bits = 16;

class FlitRouters {
 public:
  FlitRouters(const machine::Topology& topology, std::span<const EntityId> members,
              const FlitSettings& settings, std::vector<LinkTiming> timings,
              std::unique_ptr<FlitRoutes> routes, SimTime overhead, unsigned slot);

  static constexpr unsigned link_kind = 1;
  static constexpr unsigned wake_kind = 2;
  void take_request(pdes::Context& context, const SendRequest& request, std::uint16_t tag);
  void take_load(pdes::Context& context, const LinkLoad& load, std::uint16_t tag,
                 std::uint8_t holds);
  void wake(pdes::Context& context, std::uint64_t cycle);

  // Of a run on several ranks: counts what will leave this region, from the beginning on.
  void watch_departures(const machine::Topology& topology, const pdes::RegionView& regions);
  std::optional<FlitDepartures>& departures() { return departures_; }
  // A flit that will come to `here`: from another rank, or out of a checkpoint.
  void take_in(EntityId here, const LinkLoad& load);

  RouterView view(std::uint32_t index) {
    return {blocks_.data() + first_byte_[index], *layout_of_[index]};
  }
  // For reading only.
  RouterView view(std::uint32_t index) const {
    return const_cast<FlitRouters*>(this)->view(index);  // NOLINT: a view has no const form
  }
  const FlitSettings& settings() const { return settings_; }
  std::uint64_t hops() const { return hops_; }
  void add_hops(std::uint64_t hops) { hops_ += hops; }
  const Carried& carried() const { return carried_; }
  void add_carried(const Carried& more) { carried_ += more; }
  const Rounded& rounded() const { return rounded_; }
  void add_rounded(const Rounded& more) {
    rounded_.asked += more.asked;
    rounded_.carried += more.carried;
  }
  std::size_t resident_bytes() const;

  void save(std::uint32_t index, pdes::StateWriter& writer) const;
  using ArrivingVisit = std::function<void(const Progress&)>;
  void visit_arriving(std::uint32_t index, EntityId node, const ArrivingVisit& visit) const;
  // Of the router at `node`.
  void restore(std::uint32_t index, EntityId node, pdes::StateReader& reader);

 private:
  // One cycle of one router.
  struct Step {
    pdes::Context& context;
    RouterView router;
    std::uint64_t cycle;
    bool progress = false;  // else the next cycle would be like this one
  };
  // A head that asks for a virtual channel of a port.
  struct Head {
    std::uint32_t input_vc;
    std::uint32_t port;
    std::uint32_t free;  // channels there that will do
  };
  struct PortAsked {
    std::uint64_t run = 0;
    std::uint32_t heads = 0;
  };
  struct Granted {
    std::uint32_t input_vc;
    std::uint32_t output_vc;
  };

  void schedule(pdes::Context& context, RouterView& router, std::uint64_t cycle, SimTime now_delay);
  // From the moment a router works in a cycle to the beginning of a later one.
  SimTime in_cycles(std::uint64_t cycles) const {
    return settings_.cycle * static_cast<std::int64_t>(cycles) - step_offset;
  }

  void accept(RouterView& router, EntityId here, std::uint32_t input_vc, const Flit& flit,
              FlitLabel label, std::uint64_t cycle);
  void begin_packet(RouterView& router, EntityId here, std::uint32_t input_vc, std::uint64_t cycle);
  void route(RouterView& router, EntityId here, std::uint32_t input_vc);
  void take_credit(RouterView& router, unsigned port, unsigned vc) const;

  void take_local_credits(Step& step);
  void inject(Step& step);
  bool begin_injection(Step& step, const WaitingMessage& message) const;
  void ask_for_channels(Step& step);
  void take_first_free(RouterView& router, const Head& head);
  void choose_port(RouterView& router, InputVc& input) const;
  void ask_for_switch(Step& step);
  void speculate(Step& step);
  void add_switch_request(RouterView& router, std::uint32_t input_vc, unsigned port);
  void match_switch(RouterView& router, unsigned allocator);
  void route_heads(Step& step);
  void take_channels(Step& step);
  void traverse(Step& step);
  void send(Step& step, std::uint32_t input_vc);
  void send_flit(Step& step, OutputPort& port, const Flit& flit, unsigned vc, FlitLabel label);
  void leave(Step& step, unsigned vc, const Flit& flit, FlitLabel label);
  void return_credits(Step& step);
  void sleep_or_go_on(Step& step);
  void count_departures(std::uint32_t index, EntityId node);

  FlitSettings settings_;
  std::vector<LinkTiming> timings_;
  std::unique_ptr<FlitRoutes> routes_;
  std::optional<FlitDepartures> departures_;
  SimTime overhead_;
  pdes::Port link_port_;
  pdes::Port wake_port_;
  pdes::WindowClock clock_;
  std::vector<std::unique_ptr<RouterLayout>> layouts_;
  std::vector<const RouterLayout*> layout_of_;
  std::vector<std::size_t> first_byte_;
  std::vector<std::byte> blocks_;
  WaitingMessages waiting_;
  std::vector<PartialMessages> partial_;
  std::vector<std::uint16_t> port_of_;  // of an input virtual channel
  FlitMatching matching_;
  std::uint64_t hops_ = 0;
  Carried carried_;
  Rounded rounded_;

  // Of the cycle being worked on.
  std::vector<Head> heads_;
  std::vector<PortAsked> asked_;  // by port
  std::vector<SwitchRequest> requests_;
  std::vector<Granted> channels_;               // granted
  std::vector<std::uint32_t> crossing_;         // input virtual channels that got the switch
  std::vector<std::uint64_t> crossing_inputs_;  // by input of the switch: run in which it was given
  std::vector<std::uint64_t> crossing_outputs_;
  std::uint64_t run_ = 0;
  std::vector<std::uint32_t> credits_;  // to go back, by port
};

}  // namespace tessera::network
