// Shares of links among flows: weighted max-min fairness.
//
// All flows grow together, each in proportion to its weight, until a link of theirs is full or they
// are at their own limit; those stop, the others go on (progressive filling: D. Bertsekas, R.
// Gallager, "Data Networks", section 6.5.2; as SimGrid's CM02 model, H. Casanova et al., JPDC 74
// (2014), doi:10.1016/j.jpdc.2014.06.008, with weight 1/latency). The level of a flow is its rate
// over its weight; that of a link is the one at which it is full.
//
// A flow's level is the least of its links' and its limit's; a link's follows from those levels of
// its flows that are below its own. So when flows come and go, only links whose level does not
// follow any more from the others' are looked at, in ascending order of the level at which they go
// wrong (G. Ramalingam, T. Reps, "An incremental algorithm for a generalization of the
// shortest-path problem", J. Algorithms 21 (1996), doi:10.1006/jagm.1996.0046; theirs sets a level
// that is too low to infinity first, ours to a bound on what it will be). What a change does not
// reach, or reaches without effect, costs nothing.
//
// Levels, rates and weights are whole numbers and are rounded down, so that a link's level never
// falls when a flow of a lower one stops, and taking a flow off a link leaves no trace. There is
// one solution then: rates are, bit for bit, a function of the flows there are, whatever came
// before them and in whatever order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "flow/link_heap.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::network {

class MaxMin {
 public:
  using Link = std::uint32_t;
  using Flow = std::uint32_t;
  static constexpr double no_limit = std::numeric_limits<double>::infinity();
  // Binary digits of a level after the point: none is fast, and right for weights that are small
  // numbers; `fine` for those up to `most_weight`, around its middle for the best.
  static constexpr unsigned whole = 0;
  static constexpr unsigned fine = 65;
  static constexpr Wide most_weight = Wide{1} << 81U;

  // Capacities, of each link, > 0; rates have the same unit, and are multiples of 2^-62 of the
  // largest capacity, rounded up to a power of two. `largest`: that of other links, which are to
  // have the same multiples.
  explicit MaxMin(std::span<const double> capacities, unsigned level_digits = whole,
                  double largest = 0);

  // Under a number that is not in use. A route has no link twice; it may be empty, then the limit
  // is the rate. Weight and limit > 0. O(links of the route).
  void add(Flow number, std::span<const Link> route, Wide weight, double limit);
  // Likewise, with its share at once, of one that has its links to itself: it changes no others.
  // False if it has not, or has none, and then nothing is added.
  bool add_alone(Flow number, std::span<const Link> route, Wide weight, double limit);
  void remove(Flow number);
  // Whether something has changed since the last `solve` that is not shared out.
  bool is_pending() const { return !touched_.empty() || !new_.empty(); }

  // Shares out what changed since the last call. Returns the flows whose rates may be others now,
  // each once and in no order; valid until the next call.
  std::span<const Flow> solve();
  // Of a flow like this one that has its links to itself.
  double rate_alone(std::span<const Link> route, Wide weight, double limit) const;
  // As of the last `solve`; 0 before the first.
  double rate(Flow number) const { return flows_[number].rate; }
  std::size_t flows_on(Link link) const { return heads_[link].flows; }
  static constexpr std::size_t bytes_a_link() {
    return sizeof(LinkHead) + sizeof(LinkState) + sizeof(Link);
  }
  // Also of the flow removed last.
  std::span<const Link> route(Flow number) const {
    return {&route_links_[flows_[number].first], flows_[number].hops};
  }

 private:
  using Level = Wide;
  using Units = std::int64_t;  // of rates
  static constexpr Level unbounded = ~Level{0};

  struct FlowState {
    Level at_limit = unbounded;
    double rate = 0;
    std::uint32_t first = 0;  // of its places among `places_`
    std::uint32_t hops = 0;
    bool is_active = false;
    bool is_changed = false;
  };
  struct Entry {
    Flow flow = 0;
    std::uint32_t hop = 0;  // among `places_`
  };
  static constexpr Flow nobody = 0xFFFFFFFFU;
  // All that is looked at of the links of a quiet flow: one that has had all of them to itself
  // since it was added. Their states are those of links without flows then.
  struct LinkHead {
    Units capacity = 0;
    std::uint32_t flows = 0;
    Flow quiet = nobody;
  };
  struct LinkState {
    Units capacity = 0;
    Level level = unbounded;  // it is not full
    // The link is not full below `counted`, which is at most `level`; beside flows of levels below
    // that, so much is left for flows of so much weight, which would fill it at `next`.
    Level counted = unbounded;
    SignedWide left = 0;
    Wide open = 0;
    Level next = unbounded;
    Wide weight = 0;  // of all flows
    std::vector<Entry> flows;
    bool is_touched = false;
    bool is_loose = false;  // flows went on or came: it is full from `next` on at the earliest
  };

  std::uint32_t take_places(std::uint32_t hops);
  FlowState& enter(Flow number, std::uint32_t hops, Wide weight, double limit);
  bool is_quiet(Flow number) const;
  void wake_up(Flow number);
  void put_on(LinkState& link, Flow number, std::uint32_t hop);
  Units rate_at(Level level, Wide weight) const;
  Level level_for(SignedWide left, Wide weight) const;
  Level level_at(double limit, Wide weight) const;
  Level level_of(Flow number) const;

  static void clear(LinkState& link);
  void note_changed(Flow number);
  bool share_alone(Flow number);
  void fill_alone(Flow number, Level level);
  double exact_rate(Flow number) const;
  void change(Flow number, Level level);
  void touch(Link number);
  void settle();
  void settle(Link number);
  void queue(Link number);
  Level full_from(const LinkState& link) const;
  void recount(LinkState& link) const;
  void count(LinkState& link, Level upto) const;
  void count_on(LinkState& link) const;
  void look_at(Link number);

  unsigned level_digits_;
  double unit_;  // of rates
  std::vector<LinkHead> heads_;
  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  // Of flows, apart: what walks over a link's flows reads these.
  std::vector<Level> levels_;
  std::vector<Wide> weights_;
  // Hops of routes, in blocks of powers of two.
  std::vector<Link> route_links_;
  std::vector<std::uint32_t> places_;                       // in the flows of the link
  std::array<std::vector<std::uint32_t>, 32> free_places_;  // by size

  std::vector<Flow> new_;
  std::vector<Link> touched_;
  std::vector<Flow> changed_;
  LinkHeap heap_;  // links whose level is wrong, by the level from which on
};

}  // namespace tessera::network
