// A large machine in which hardly anything happens: every accelerator has one event each `spacing`
// times N, staggered, so that the whole machine has one each `spacing`. An event wakes the same
// accelerator or the next one, half of the time each. With a lookahead far below the spacing,
// nearly all windows are empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/draw.hpp"
#include "regions.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::bench {

struct SparseParameters {
  std::uint32_t lps = 0;
  SimTime lookahead;
  SimTime spacing;  // >= lookahead
  SimTime until;    // events from here on send nothing
  std::uint64_t seed = 0;

  pdes::Regions cut(const comm::Communicator& communicator) const {
    return ring_cut(communicator, lps, lookahead);
  }
};

class Sparse {
 public:
  using Parameters = SparseParameters;
  static constexpr bool counts_hops = false;

  Sparse(const Parameters& parameters, std::uint32_t local)
      : parameters_(parameters), seed_(mix64(parameters.seed)), states_(local) {}

  template <class Context>
  void start(Context& context) {
    context.send_self(parameters_.spacing * context.self().value(), pdes::Port(0, 0),
                      std::uint64_t{0});
  }

  template <class Context>
  void handle(Context& context, const pdes::Event& event) {
    State& state = states_[context.index()];
    const auto visits = event.as<std::uint64_t>();
    state.hash = noted(state.hash, static_cast<std::uint64_t>(context.now().ps()) + visits +
                                       (std::uint64_t{event.source.value()} << 32));
    if (context.now() >= parameters_.until) {
      return;
    }
    const std::uint32_t self = context.self().value();
    const bool pass_on = draw(seed_, context.self(), state.draws++) >> 63 != 0;
    const EntityId next(self + 1 < parameters_.lps ? self + 1 : 0);
    context.send(pass_on ? next : context.self(), parameters_.spacing * parameters_.lps,
                 pdes::Port(0, 0), visits + 1);
  }

  void add_to(Digest& digest, std::uint32_t index, EntityId entity) const {
    const State& state = states_[index];
    digest.add({entity.value(), state.hash, state.draws});
  }
  std::size_t state_bytes() const { return states_.capacity() * sizeof(State); }

 private:
  struct State {
    std::uint64_t hash = 0;
    std::uint64_t draws = 0;
  };

  Parameters parameters_;
  std::uint64_t seed_;
  std::vector<State> states_;
};

}  // namespace tessera::bench
