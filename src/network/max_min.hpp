// Shares of links among flows: weighted max-min fairness by progressive filling.
//
// All flows grow together, each in proportion to its weight, until a link of theirs is full or they
// are at their own limit; those stop, the others go on (D. Bertsekas, R. Gallager, "Data Networks",
// section 6.5.2; as SimGrid's CM02 model, H. Casanova et al., JPDC 74 (2014),
// doi:10.1016/j.jpdc.2014.06.008, with weight 1/latency). The level at which a flow stops is its
// rate over its weight.
//
// Only what a change can reach is filled again. Filling goes through levels in ascending order, so
// what stopped below the level at which a flow that left had stopped, or at which one that came
// can first fill a link, stopped in the same way before; and of the rest, only flows that are
// joined to the change by links matter. Rates and weights are whole numbers, so that taking a flow
// off a link leaves no trace: rates are, bit for bit, a function of the flows there are, whatever
// came before them and in whatever order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tessera/core/wide.hpp"

namespace tessera::network {

class MaxMin {
 public:
  using Link = std::uint32_t;
  using Flow = std::uint32_t;
  static constexpr double no_limit = std::numeric_limits<double>::infinity();

  // Of each link, > 0; rates have the same unit. Rates are multiples of 2^-62 of the largest
  // capacity, rounded up to a power of two.
  explicit MaxMin(std::span<const double> capacities);

  // Under a number that is not in use. A route has no link twice; it may be empty, then the limit
  // is the rate. Limit > 0, 0 < weight < 2^101; O(links of the route).
  void add(Flow number, std::span<const Link> route, Wide weight, double limit);
  void remove(Flow number);

  // Shares out what changed since the last call. Returns the flows that were looked at, in no
  // order, some perhaps more than once: no other has another rate now. Valid until the next call.
  std::span<const Flow> solve();
  // As of the last `solve`; 0 before the first.
  double rate(Flow number) const { return flows_[number].exact_rate; }
  // Of the flows on it as of the last `solve`; afterwards without those that were removed.
  double load(Link link) const;
  std::size_t flows_on(Link link) const { return links_[link].flows.size(); }
  std::span<const Link> route(Flow number) const {
    return {&route_links_[flows_[number].first], flows_[number].hops};
  }

 private:
  // Of rates; signed, as what is left of a link may be short of zero by rounding.
  using Units = std::int64_t;

  // Levels of flows that have none.
  static constexpr double not_shared = std::numeric_limits<double>::infinity();  // new
  static constexpr double open = -1;                                             // while filling

  struct FlowState {
    Units rate = 0;
    Units limit = 0;
    Wide weight = 1;
    double exact_rate = 0;
    std::uint32_t first = 0;  // of its places among `places_`
    std::uint32_t hops = 0;
    bool is_limited = false;
    bool is_active = false;
  };
  struct Entry {
    Flow flow = 0;
    std::uint32_t hop = 0;  // among `places_`
  };
  struct LinkState {
    Units left = 0;           // beside the flows that have a rate
    Wide open_weight = 0;     // of open flows
    double floor = 0;         // level of the last flow that stopped
    std::uint32_t heap = 0;   // place there
    std::uint64_t step = 0;   // of filling, that touched it last
    std::uint64_t round = 0;  // in whose part it was last
    Units capacity = 0;
    Wide weight = 0;           // of all flows
    double from = not_shared;  // level from which it may differ
    std::vector<Entry> flows;
  };
  struct Candidate {
    double level = 0;
    std::uint32_t number = 0;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.level != b.level ? a.level < b.level : a.number < b.number;
    }
  };

  std::uint32_t take_places(std::uint32_t hops);
  void touch(Link link, double from);
  void find_new();
  double first_full(Link link) const;
  bool share_alone(Flow number);
  void reach();
  void reach_from(Link seed, double from);
  void open_flow(Flow number);
  void fill();
  void fill_link(Link link, double level);
  void stop(Flow number, double level, Units rate);
  void set_rate(FlowState& flow, Units rate) const;
  static double level_of(Units left, Wide weight);
  static Units rate_at(double level, const FlowState& flow);

  // The binary heap of links by level.
  void heap_put(std::size_t place, const Candidate& candidate);
  void heap_sink(std::size_t place, const Candidate& candidate);
  void heap_move(std::size_t place, const Candidate& candidate);
  void heap_remove(std::size_t place);

  double unit_;  // of rates
  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<double> levels_;  // of flows, apart: what walks over a link's flows reads these
  // Hops of routes, in blocks of powers of two.
  std::vector<Link> route_links_;
  std::vector<std::uint32_t> places_;                       // in the flows of the link
  std::array<std::vector<std::uint32_t>, 32> free_places_;  // by size

  std::vector<Flow> new_;
  std::vector<Link> dirty_;
  std::vector<Candidate> seeds_;
  std::vector<Link> part_links_;  // what the changes reach
  std::vector<Flow> part_flows_;
  std::vector<Candidate> limits_;  // of flows in the part
  std::vector<Candidate> heap_;
  std::vector<Link> touched_;
  std::uint64_t round_ = 0;
  std::uint64_t step_ = 0;
};

}  // namespace tessera::network
