// Flows in time: each has bytes left, which go at its max-min share of the links on its route.
//
// Method: between two instants at which flows begin or end all rates are constant, so that a flow
// which has some other rate now is over after what is left of it, by that rate (as SimGrid, H.
// Casanova et al., JPDC 74 (2014), doi:10.1016/j.jpdc.2014.06.008; here shares are always those of
// a whole solution, see max_min.hpp, and never those of its "lazy" one). Latency is the caller's.
// Times are whole picoseconds: an end is off by half of one at most, and what it changes with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flow/max_min.hpp"
#include "packet/earliest.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::network {

// Weight of a flow whose share is to go with 1/latency, which is above zero.
inline Wide one_over(SimTime latency) {
  constexpr unsigned bits = 80;  // see MaxMin::fine
  return (Wide{1} << bits) / static_cast<Wide>(latency.ps());
}

class FluidFlows {
 public:
  using Flow = MaxMin::Flow;
  using Link = MaxMin::Link;

  // Capacities of each link [B/ps]. `level_digits` and `largest` as in MaxMin: `fine` with weights
  // of one_over.
  explicit FluidFlows(std::span<const double> capacities, unsigned level_digits = MaxMin::whole,
                      double largest = 0)
      : shares_(capacities, level_digits, largest) {}

  // Under a number that is not in use. Nothing flows before the next `share`. `weight` and `limit`
  // [B/ps] as in MaxMin.
  void begin(Flow number, std::span<const Link> route, std::uint64_t bytes, Wide weight,
             double limit);
  // Likewise, of one that has its links to itself: it flows from `now` on, and its end is seen from
  // the next `see` or `share` on. False if it has not, and then nothing has begun.
  bool begin_alone(Flow number, std::span<const Link> route, std::uint64_t bytes, Wide weight,
                   double limit, SimTime now);
  // Takes out the flows that are over at `now`: adds their numbers in ascending order. Before the
  // next `share` nothing else gets their share.
  void take_ended(SimTime now, std::vector<Flow>& ended);
  // Takes out one that has its links to itself.
  void take_out(Flow number) {
    ends_.set(number, SimTime::never());
    shares_.remove(number);
  }
  // Shares out links as of `now`, when all that begins and ends then is told.
  void share(SimTime now);
  // Whether something has begun or ended since that makes a difference to others.
  bool is_pending() const { return shares_.is_pending(); }
  // The instant at which flows began alone is over, if it is before `now`: their ends are seen.
  void see(SimTime now) {
    if (begun_alone_at_ < now) {
      see_all();
    }
  }
  // Of the ends that are not seen yet; never() where there are none.
  SimTime first_unseen() const { return first_unseen_; }

  // Of a flow that has its links to itself [B/ps].
  double rate_alone(std::span<const Link> route, Wide weight, double limit) const {
    return shares_.rate_alone(route, weight, limit);
  }
  // Of so many bytes at one rate.
  static SimTime duration(double bytes, double rate);
  static SimTime end_from(SimTime now, double bytes, double rate);
  // No flow with so many bytes left, which never has more than this rate, is over sooner, however
  // often its rate changes.
  static SimTime least_duration(double bytes, double rate);
  // Makes a flow that has begun now one that has been there since then, alone.
  void resume(Flow number, SimTime since, double rate, SimTime end) {
    states_[number] = {states_[number].left, rate, since};
    ends_.set(number, end);
  }

  // never() when nothing flows.
  SimTime next_end() { return ends_.earliest(); }
  SimTime end(Flow number) const { return ends_.time(number); }
  // Bytes that are not over at `now`, which is not before the last `share`.
  double left(Flow number, SimTime now) const;
  double rate(Flow number) const { return states_[number].rate; }  // [B/ps]
  std::size_t flows_on(Link link) const { return shares_.flows_on(link); }
  // Of a flow that has begun, or was taken out last of all.
  std::span<const Link> route(Flow number) const { return shares_.route(number); }

  // One flow; `begin` it before `restore`, and `share` comes to the same rates.
  void save(Flow number, pdes::StateWriter& writer) const;
  void restore(Flow number, pdes::StateReader& reader);

 private:
  struct State {
    double left = 0;  // [B] at `since`
    double rate = 0;  // [B/ps]
    SimTime since;
  };

  struct End {
    Flow flow = 0;
    SimTime time;
  };

  State& state_of(Flow number);
  void see_all();

  MaxMin shares_;
  std::vector<State> states_;
  Earliest ends_;
  std::vector<End> unseen_;  // of flows that began alone, at one instant
  SimTime begun_alone_at_ = SimTime::never();
  SimTime first_unseen_ = SimTime::never();
};

}  // namespace tessera::network
