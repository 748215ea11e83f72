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
      packet.place = place_of(self);
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
    if (packet.place == packet.target) {
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

  // Carries its place, so that a router need not divide its number by the side. Places are whole
  // words: of halves, compilers make stores that a load of the word right after has to wait for.
  struct Packet {
    std::uint32_t place = 0;
    std::uint32_t target = 0;
    std::uint32_t number = 0;
  };

  static constexpr unsigned half = 16;  // [bits] x in the lower half of a place, y in the upper one
  static constexpr std::uint32_t x_of(std::uint32_t place) { return place & ((1U << half) - 1); }
  static constexpr std::uint32_t y_of(std::uint32_t place) { return place >> half; }
  static constexpr std::uint32_t place_at(std::uint32_t x, std::uint32_t y) {
    return y << half | x;
  }
  std::uint32_t place_of(std::uint32_t router) const {
    return place_at(router % parameters_.side, router / parameters_.side);
  }

  template <class Context>
  void choose_target(Context& context, Router& router, Packet& packet) {
    if (parameters_.pattern == MeshPattern::transpose && x_of(packet.place) != y_of(packet.place)) {
      packet.target = place_at(y_of(packet.place), x_of(packet.place));
      return;
    }
    const std::uint64_t drawn = draw(seed_, context.self(), router.draws++);
    if (parameters_.pattern == MeshPattern::neighbour) {
      choose_neighbour(static_cast<std::uint32_t>(drawn), packet);
      return;
    }
    packet.target = place_of(
        other_entity(static_cast<std::uint32_t>(drawn), parameters_.lps, context.self()).value());
  }

  void choose_neighbour(std::uint32_t random, Packet& packet) const {
    std::array<std::uint32_t, 4> neighbours{};
    std::uint32_t there = 0;
    const std::uint32_t last = parameters_.side - 1;
    const std::uint32_t x = x_of(packet.place);
    const std::uint32_t y = y_of(packet.place);
    if (x < last) {
      neighbours[there++] = place_at(x + 1, y);
    }
    if (x > 0) {
      neighbours[there++] = place_at(x - 1, y);
    }
    if (y < last) {
      neighbours[there++] = place_at(x, y + 1);
    }
    if (y > 0) {
      neighbours[there++] = place_at(x, y - 1);
    }
    packet.target = neighbours[below(random, there)];
  }

  // First along x, then along y. Without branches: which way a packet goes cannot be foreseen.
  template <class Context>
  void forward(Context& context, Router& router, Packet packet) {
    const std::uint32_t from_x = x_of(packet.place);
    const std::uint32_t from_y = y_of(packet.place);
    const std::uint32_t to_x = x_of(packet.target);
    const std::uint32_t to_y = y_of(packet.target);
    const int x = (from_x < to_x) - (from_x > to_x);
    const int y = x != 0 ? 0 : (from_y < to_y) - (from_y > to_y);
    const auto link = static_cast<std::size_t>(x != 0 ? (x < 0) : south + (y < 0));
    packet.place += static_cast<std::uint32_t>(x + y * (1 << half));
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
