// Shares of links among flows: weighted max-min fairness by progressive filling.
//
// All flows grow together, each in proportion to its weight, until a link of theirs is full or they
// are at their own limit; those stop, the others go on (D. Bertsekas, R. Gallager, "Data Networks",
// section 6.5.2; as SimGrid's CM02 model, H. Casanova et al., JPDC 74 (2014),
// doi:10.1016/j.jpdc.2014.06.008, with weight 1/latency). Flows that share no link, also over
// others, do not touch each other: only what a change can reach is computed again.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace tessera::network {

class MaxMin {
 public:
  using Link = std::uint32_t;
  using Flow = std::uint32_t;
  static constexpr double no_limit = std::numeric_limits<double>::infinity();

  // Of each link; rates have the same unit.
  explicit MaxMin(std::vector<double> capacities);

  // Under a number that is not in use. A route may be empty: then the limit is the rate. Weight and
  // limit > 0. Rates depend on the flows there are, and not on what came before them.
  void add(Flow number, std::span<const Link> route, double weight, double limit);
  // The same, at a rate that was shared out before.
  void restore(Flow number, std::span<const Link> route, double weight, double limit, double rate) {
    add(number, route, weight, limit);
    flows_[number].rate = rate;
  }
  void remove(Flow flow);

  // Shares out what changed since the last call; `changed` hears of every flow whose rate is
  // another one now, in the order of numbers.
  void solve(const std::function<void(Flow, double rate)>& changed);
  double rate(Flow flow) const { return flows_[flow].rate; }
  // Of flows that are on it, since the last `solve`.
  double load(Link link) const;
  std::size_t flows_on(Link link) const { return links_[link].flows.size(); }

 private:
  struct Hop {
    Link link = 0;
    std::uint32_t place = 0;  // in the flows of the link
  };
  struct FlowState {
    std::vector<Hop> route;
    double weight = 1;
    double limit = no_limit;
    double rate = 0;
    bool active = false;
    bool fixed = false;  // while solving
    std::uint64_t seen = 0;
  };
  struct Entry {
    Flow flow = 0;
    std::uint32_t hop = 0;  // in its route
  };
  struct LinkState {
    double capacity = 0;
    std::vector<Entry> flows;
    double left = 0;    // while solving
    double weight = 0;  // of flows that are not fixed
    std::uint32_t open = 0;
    std::uint64_t seen = 0;
    bool dirty = false;
  };

  void touch(Link link);
  void reach();
  void fill();
  void fix(Flow flow, double rate);

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<Link> dirty_;
  std::vector<Flow> alone_;       // without links, since the last solve
  std::vector<Link> part_links_;  // what the changes reach
  std::vector<Flow> part_flows_;
  std::vector<Flow> stopped_;
  std::uint64_t round_ = 0;
};

}  // namespace tessera::network
