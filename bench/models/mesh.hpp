// Packets on a square mesh of routers: XY routing, an exclusive link to each neighbour, a constant
// number of packets in flight.
//
// A link serves one packet at a time, in order of arrival at its router: a packet leaves at
// max(now, link free), the link is free again `serialization` later, and the head of the packet is
// at the next router `hop` after it left (cut-through). At its destination a packet is replaced, at
// once, by a new one from there. Every event is one arrival of a head at a router.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/draw.hpp"
#include "regions.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::bench {

// Where a new packet goes: anywhere else; from (x, y) to (y, x), and from the diagonal anywhere
// else; to one of the routers next to it.
enum class MeshPattern { uniform, transpose, neighbour };

struct MeshParameters {
  std::uint32_t side = 0;  // 2 ... 65 535
  std::uint64_t in_flight = 0;
  MeshPattern pattern = MeshPattern::uniform;
  SimTime lookahead;  // of one hop
  SimTime serialization;
  SimTime until;  // packets that arrive from here on end
  std::uint64_t seed = 0;
  std::uint32_t lps = 0;  // side * side

  pdes::Regions cut(const comm::Communicator& communicator) const {
    return row_cut(communicator, side, side, lookahead);
  }
};

class Mesh {
 public:
  using Parameters = MeshParameters;
  static constexpr bool counts_hops = true;

  Mesh(const Parameters& parameters, std::uint32_t local)
      : parameters_(parameters), seed_(mix64(parameters.seed)), routers_(local) {}

  template <class Context>
  void start(Context& context) {
    Router& router = routers_[context.index()];
    const std::uint32_t self = context.self().value();
    const std::uint64_t packets = parameters_.in_flight / parameters_.lps +
                                  (self < parameters_.in_flight % parameters_.lps ? 1 : 0);
    for (std::uint64_t i = 0; i < packets; ++i) {
      Packet packet;
      packet.x = static_cast<std::uint16_t>(self % parameters_.side);
      packet.y = static_cast<std::uint16_t>(self / parameters_.side);
      packet.number = self + static_cast<std::uint32_t>(i) * parameters_.lps;
      choose_target(context, router, packet);
      forward(context, router, packet);
    }
  }

  template <class Context>
  void handle(Context& context, const pdes::Event& event) {
    Router& router = routers_[context.index()];
    auto packet = event.as<Packet>();
    router.hash =
        noted(router.hash, static_cast<std::uint64_t>(context.now().ps()) + packet.number);
    if (context.now() >= parameters_.until) {
      return;
    }
    if (packet.x == packet.target_x && packet.y == packet.target_y) {
      choose_target(context, router, packet);
    }
    forward(context, router, packet);
  }

  void add_to(Digest& digest, std::uint32_t index, EntityId entity) const {
    const Router& router = routers_[index];
    const auto ps = [&](std::size_t link) {
      return static_cast<std::uint64_t>(router.free[link].ps());
    };
    digest.add(
        {entity.value(), ps(0), ps(1), ps(2), ps(3), router.hash, router.hops, router.draws});
  }
  std::size_t state_bytes() const { return routers_.capacity() * sizeof(Router); }
  std::uint64_t hops() const {
    std::uint64_t sum = 0;
    for (const Router& router : routers_) {
      sum += router.hops;
    }
    return sum;
  }

 private:
  enum Link : unsigned { east, west, south, north };
  struct Router {
    std::array<SimTime, 4> free;  // by link
    std::uint64_t hash = 0;
    std::uint32_t hops = 0;
    std::uint32_t draws = 0;
  };
  static_assert(sizeof(Router) <= 48);

  // Carries its place, so that a router need not divide its number by the side.
  struct Packet {
    std::uint16_t x = 0;
    std::uint16_t y = 0;
    std::uint16_t target_x = 0;
    std::uint16_t target_y = 0;
    std::uint32_t number = 0;
  };

  template <class Context>
  void choose_target(Context& context, Router& router, Packet& packet) {
    if (parameters_.pattern == MeshPattern::transpose && packet.x != packet.y) {
      packet.target_x = packet.y;
      packet.target_y = packet.x;
      return;
    }
    const std::uint64_t drawn = draw(seed_, context.self(), router.draws++);
    if (parameters_.pattern == MeshPattern::neighbour) {
      choose_neighbour(static_cast<std::uint32_t>(drawn), packet);
      return;
    }
    const std::uint32_t target =
        other_entity(static_cast<std::uint32_t>(drawn), parameters_.lps, context.self()).value();
    packet.target_x = static_cast<std::uint16_t>(target % parameters_.side);
    packet.target_y = static_cast<std::uint16_t>(target / parameters_.side);
  }

  void choose_neighbour(std::uint32_t random, Packet& packet) const {
    std::array<unsigned, 4> links{};
    std::uint32_t there = 0;
    const unsigned last = parameters_.side - 1;
    const std::array<bool, 4> exists{packet.x<last, packet.x> 0, packet.y<last, packet.y> 0};
    for (unsigned link = 0; link < 4; ++link) {
      if (exists[link]) {
        links[there++] = link;
      }
    }
    Packet next = packet;
    step(next, links[below(random, there)]);
    packet.target_x = next.x;
    packet.target_y = next.y;
  }

  static void step(Packet& packet, unsigned link) {
    switch (link) {
      case east:
        ++packet.x;
        break;
      case west:
        --packet.x;
        break;
      case south:
        ++packet.y;
        break;
      default:
        --packet.y;
    }
  }

  // First along x, then along y. Without branches: which way a packet goes cannot be foreseen.
  template <class Context>
  void forward(Context& context, Router& router, Packet packet) {
    const int x = (packet.x < packet.target_x) - (packet.x > packet.target_x);
    const int y = x != 0 ? 0 : (packet.y < packet.target_y) - (packet.y > packet.target_y);
    const auto link = static_cast<std::size_t>(x != 0 ? (x < 0) : south + (y < 0));
    packet.x = static_cast<std::uint16_t>(packet.x + x);
    packet.y = static_cast<std::uint16_t>(packet.y + y);
    const auto next = static_cast<std::uint32_t>(static_cast<int>(context.self().value()) + x +
                                                 y * static_cast<int>(parameters_.side));
    const SimTime leaves = std::max(context.now(), router.free[link]);
    router.free[link] = leaves + parameters_.serialization;
    ++router.hops;
    context.send(EntityId(next), leaves - context.now() + parameters_.lookahead, pdes::Port(0, 0),
                 packet);
  }

  Parameters parameters_;
  std::uint64_t seed_;
  std::vector<Router> routers_;
};

}  // namespace tessera::bench
