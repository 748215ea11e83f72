// What the hubs of a rank and those who send to them have in common: see flow.cpp for the method.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "flow/fluid_flows.hpp"
#include "flow/route_cache.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {

class FlowOutlook;

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

namespace flow_port {                      // kinds of port; those of hubs
inline constexpr unsigned begin = 1;       // a message has paid its latency
inline constexpr unsigned share = 2;       // all of an instant is known
inline constexpr unsigned end = 3;         // the next flow may be over
inline constexpr unsigned joined = 4;      // a member begins its part in a ring
inline constexpr unsigned look_ahead = 5;  // a lumped ring needs more rows
inline constexpr unsigned chain_over = 6;  // of a lumped ring
inline constexpr unsigned resumed = 7;     // a message of a ring that was lumped begins
}  // namespace flow_port

// What a hub must know of a message; the event's source, tag and flags are the sender's.
struct FlowBegin {
  static constexpr unsigned port_bits = 8;

  EntityId target;
  RateLimit limit;
  std::uint64_t bytes_and_port = 0;  // the port to deliver to in the lowest bits
  std::uint64_t word = 0;

  std::uint64_t bytes() const { return bytes_and_port >> port_bits; }
  pdes::Port port() const {
    return pdes::Port::from_code(static_cast<std::uint8_t>(bytes_and_port));
  }
};

inline double bytes_per_ps(Bandwidth bandwidth) {
  constexpr double ps_per_second = 1e12;
  return static_cast<double>(bandwidth.bytes_per_second()) / ps_per_second;
}

struct FlowShared {
  unsigned slot = 0;  // of the component
  FlowOptions options;
  SimTime ahead;  // how long before the links hubs work
  RouteCache routes;
  FlowOutlook* outlook = nullptr;  // null: nobody asks for it
  IncomingSink incoming{};
  ProgressSink progress{};
  std::uint64_t hops = 0;
  Carried carried{};

  // Of a message that may have `own` of its links at most [B/ps].
  double limit_of(const RateLimit& own, const Route& route) const {
    double limit = options.limit ? bytes_per_ps(*options.limit) : MaxMin::no_limit;
    if (const auto rate = own.rate()) {
      limit = std::min(limit, bytes_per_ps(*rate));
    }
    if (options.window) {
      limit = std::min(limit, static_cast<double>(options.window->count()) /
                                  (2 * static_cast<double>(route.latency.ps())));
    }
    return limit;
  }
  // It never has more than that, though nobody else was there [B/ps].
  double most_rate(const RateLimit& own, const Route& route) const {
    return std::min(bytes_per_ps(route.bottleneck), limit_of(own, route));
  }
  // From the time at which it could flow to that at which it is over, at least.
  SimTime least_flow(std::uint64_t bytes, const RateLimit& own, const Route& route) const {
    return FluidFlows::least_duration(static_cast<double>(bytes), most_rate(own, route));
  }
};

}  // namespace tessera::network
