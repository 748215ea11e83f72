// Ring all-reduce among N accelerators, over and over: an all-reduce is 2 (N - 1) steps, in each
// of which every accelerator passes one chunk to the next. An accelerator sends its next chunk when
// one has arrived and its link is free; the next all-reduce follows the last step without a
// barrier. A link takes `serialization` for a chunk and adds `latency`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/draw.hpp"
#include "regions.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::bench {

struct RingParameters {
  std::uint32_t lps = 0;  // >= 2
  SimTime serialization;
  SimTime lookahead;        // latency + serialization
  std::uint64_t steps = 0;  // chunks that each accelerator sends

  pdes::Regions cut(const comm::Communicator& communicator) const {
    return ring_cut(communicator, lps, lookahead);
  }
};

class Ring {
 public:
  using Parameters = RingParameters;
  static constexpr bool counts_hops = false;

  Ring(const Parameters& parameters, std::uint32_t local)
      : parameters_(parameters), states_(local) {}

  template <class Context>
  void start(Context& context) {
    send(context, states_[context.index()]);
  }

  template <class Context>
  void handle(Context& context, const pdes::Event& event) {
    State& state = states_[context.index()];
    state.hash = noted(state.hash,
                       static_cast<std::uint64_t>(context.now().ps()) + event.as<std::uint64_t>());
    if (state.sent < parameters_.steps) {
      send(context, state);
    }
  }

  void add_to(Digest& digest, std::uint32_t index, EntityId entity) const {
    const State& state = states_[index];
    digest.add(
        {entity.value(), static_cast<std::uint64_t>(state.free.ps()), state.sent, state.hash});
  }
  std::size_t state_bytes() const { return states_.capacity() * sizeof(State); }

 private:
  struct State {
    SimTime free;  // of the link
    std::uint64_t sent = 0;
    std::uint64_t hash = 0;
  };

  template <class Context>
  void send(Context& context, State& state) {
    const std::uint32_t self = context.self().value();
    const EntityId next(self + 1 < parameters_.lps ? self + 1 : 0);
    const SimTime begins = std::max(context.now(), state.free);
    state.free = begins + parameters_.serialization;
    context.send(next, begins - context.now() + parameters_.lookahead, pdes::Port(0, 0),
                 state.sent++);
  }

  Parameters parameters_;
  std::vector<State> states_;
};

}  // namespace tessera::bench
