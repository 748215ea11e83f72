// PHOLD: the synthetic workload of Fujimoto, "Performance of Time Warp under synthetic workloads",
// 1990, as ROSS defines it. Every logical process starts with one event. Handling one sends one,
// after lookahead + exponential(mean): with probability `remote` to another process, chosen
// uniformly, else to the same. Deviation from ROSS: `mean` is that of the exponential part alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/draw.hpp"
#include "regions.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::bench {

struct PholdParameters {
  std::uint32_t lps = 0;  // >= 2
  SimTime lookahead;
  SimTime mean;
  double remote = 0;
  SimTime until;  // events from here on send nothing
  std::uint64_t seed = 0;

  pdes::Regions cut(const comm::Communicator& communicator) const {
    return complete_cut(communicator, lps, lookahead);
  }
};

class Phold {
 public:
  using Parameters = PholdParameters;
  static constexpr bool counts_hops = false;

  Phold(const Parameters& parameters, std::uint32_t local)
      : parameters_(parameters),
        seed_(mix64(parameters.seed)),
        remote_below_(threshold(parameters.remote)),
        states_(local) {}

  template <class Context>
  void start(Context& context) {
    go_on(context, states_[context.index()], 0);
  }

  template <class Context>
  void handle(Context& context, const pdes::Event& event) {
    State& state = states_[context.index()];
    const auto visits = event.as<std::uint64_t>();
    state.hash = noted(state.hash, static_cast<std::uint64_t>(context.now().ps()) + visits +
                                       (std::uint64_t{event.source.value()} << 32));
    if (context.now() < parameters_.until) {
      go_on(context, state, visits + 1);
    }
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

  template <class Context>
  void go_on(Context& context, State& state, std::uint64_t visits) {
    const std::uint64_t drawn = draw(seed_, context.self(), state.draws++);
    const SimTime delay = parameters_.lookahead + exponential(draw_again(drawn), parameters_.mean);
    if (drawn >> 32 < remote_below_) {
      const auto target =
          other_entity(static_cast<std::uint32_t>(drawn), parameters_.lps, context.self());
      context.send(target, delay, pdes::Port(0, 0), visits);
    } else {
      context.send_self(delay, pdes::Port(0, 0), visits);
    }
  }

  Parameters parameters_;
  std::uint64_t seed_;
  std::uint64_t remote_below_;
  std::vector<State> states_;
};

}  // namespace tessera::bench
