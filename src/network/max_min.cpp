#include "max_min.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/core/error.hpp"

namespace tessera::network {
namespace {

constexpr int unit_bits = 62;                  // of the largest capacity
constexpr Wide most_weight = Wide{1} << 101U;  // so that sums fit
// What bounds on levels are lowered by, so that rounding does not count: to fill more than needed
// again changes nothing.
constexpr double slack = 1 - 1e-9;

// Much faster than the conversion of all 128 bits, for what fits into half of them.
double value_of(Wide weight) {
  constexpr Wide half = Wide{1} << 63U;
  if (weight < half) {
    return static_cast<double>(static_cast<std::int64_t>(weight));
  }
  return static_cast<double>(weight);
}

}  // namespace

MaxMin::MaxMin(std::span<const double> capacities) : links_(capacities.size()) {
  double largest = 1;
  if (!capacities.empty()) {
    largest = *std::max_element(capacities.begin(), capacities.end());
  }
  unit_ = std::ldexp(1.0, std::ilogb(largest) + 1 - unit_bits);
  for (std::size_t link = 0; link < links_.size(); ++link) {
    links_[link].capacity = std::max<Units>(1, static_cast<Units>(capacities[link] / unit_));
    links_[link].left = links_[link].capacity;
  }
}

double MaxMin::level_of(Units left, Wide weight) {
  return static_cast<double>(left) / value_of(weight);
}

MaxMin::Units MaxMin::rate_at(double level, const FlowState& flow) {
  const auto rate = static_cast<Units>(level * value_of(flow.weight));
  return std::clamp<Units>(rate, 1, flow.limit);
}

void MaxMin::set_rate(FlowState& flow, Units rate) const {
  flow.rate = rate;
  flow.exact_rate = static_cast<double>(rate) * unit_;
}

std::uint32_t MaxMin::take_places(std::uint32_t hops) {
  const std::uint32_t size = std::bit_ceil(hops);
  std::vector<std::uint32_t>& free = free_places_[static_cast<std::size_t>(std::countr_zero(size))];
  if (free.empty()) {
    free.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.resize(places_.size() + size);
    route_links_.resize(places_.size());
  }
  const std::uint32_t first = free.back();
  free.pop_back();
  return first;
}

void MaxMin::add(Flow number, std::span<const Link> route, Wide weight, double limit) {
  ensure(weight > 0 && weight < most_weight && limit > 0, "a flow that could not go on");
  if (number >= flows_.size()) {
    flows_.resize(number + std::size_t{1});
    levels_.resize(flows_.size());
  }
  FlowState& flow = flows_[number];
  ensure(!flow.is_active, "a number that is free");
  flow.rate = 0;
  flow.exact_rate = route.empty() ? limit : 0;
  flow.weight = weight;
  const double most = std::ldexp(1.0, unit_bits);
  flow.is_limited = limit / unit_ < most;
  flow.limit = flow.is_limited ? std::max<Units>(1, static_cast<Units>(limit / unit_))
                               : static_cast<Units>(most);
  flow.is_active = true;
  flow.hops = static_cast<std::uint32_t>(route.size());
  flow.first = take_places(std::max(flow.hops, 1U));
  levels_[number] = not_shared;
  for (std::uint32_t hop = flow.first; hop < flow.first + flow.hops; ++hop) {
    const Link at = route[hop - flow.first];
    LinkState& link = links_[at];
    route_links_[hop] = at;
    places_[hop] = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back({number, hop});
    link.weight += weight;
  }
  new_.push_back(number);
}

void MaxMin::remove(Flow number) {
  FlowState& flow = flows_[number];
  ensure(flow.is_active, "a flow that ends once");
  for (std::uint32_t hop = flow.first; hop < flow.first + flow.hops; ++hop) {
    LinkState& link = links_[route_links_[hop]];
    const std::uint32_t place = places_[hop];
    const Entry last = link.flows.back();
    link.flows[place] = last;
    places_[last.hop] = place;
    link.flows.pop_back();
    link.weight -= flow.weight;
    link.left += flow.rate;
    touch(route_links_[hop], levels_[number]);
  }
  const std::uint32_t size = std::bit_ceil(std::max(flow.hops, 1U));
  free_places_[static_cast<std::size_t>(std::countr_zero(size))].push_back(flow.first);
  flow.is_active = false;
}

void MaxMin::touch(Link number, double from) {
  LinkState& link = links_[number];
  if (from == not_shared || link.flows.empty()) {
    return;  // an end of what had no share, or with nobody to hear of it
  }
  if (link.from == not_shared) {
    dirty_.push_back(number);
  }
  link.from = std::min(link.from, from);
}

double MaxMin::load(Link link) const {
  return static_cast<double>(links_[link].capacity - links_[link].left) * unit_;
}

// A bound from below on the level at which the link is full, with new flows on it: those that
// stopped below it leave the rest more than an equal share.
double MaxMin::first_full(Link number) const {
  const LinkState& link = links_[number];
  double level = level_of(link.capacity, link.weight);
  for (int pass = 0; pass < 2; ++pass) {
    Units left = link.capacity;
    Wide weight = link.weight;
    for (const Entry& entry : link.flows) {
      if (levels_[entry.flow] < level * slack) {
        left -= flows_[entry.flow].rate;
        weight -= flows_[entry.flow].weight;
      }
    }
    level = std::max(level, level_of(left, weight));
  }
  return level * slack;
}

// The share of a flow that has its links to itself, most often the case in rings and the like.
// False when it has not. As `fill` would have it.
bool MaxMin::share_alone(Flow number) {
  FlowState& flow = flows_[number];
  double level = no_limit;
  for (std::uint32_t hop = flow.first; hop < flow.first + flow.hops; ++hop) {
    const LinkState& link = links_[route_links_[hop]];
    if (link.flows.size() != 1) {
      return false;
    }
    level = std::min(level, level_of(link.capacity, flow.weight));
  }
  const Units rate = rate_at(level, flow);
  const double at_limit = level_of(flow.limit, flow.weight);
  levels_[number] = flow.is_limited ? std::min(level, at_limit) : level;
  set_rate(flow, flow.is_limited && at_limit < level ? flow.limit : rate);
  for (std::uint32_t hop = flow.first; hop < flow.first + flow.hops; ++hop) {
    LinkState& link = links_[route_links_[hop]];
    link.left = link.capacity - flow.rate;
  }
  part_flows_.push_back(number);
  return true;
}

// What new flows reach begins where one of their links can first be full, or they at their limit.
void MaxMin::find_new() {
  for (const Flow number : new_) {
    const FlowState& flow = flows_[number];
    if (!flow.is_active || levels_[number] != not_shared) {
      continue;  // gone again
    }
    if (flow.hops == 0) {
      levels_[number] = 0;
      part_flows_.push_back(number);
      continue;
    }
    if (share_alone(number)) {
      continue;
    }
    double from = flow.is_limited ? level_of(flow.limit, flow.weight) * slack : no_limit;
    for (const Link at : route(number)) {
      LinkState& link = links_[at];
      if (link.round != round_) {  // `floor` has no other use before the link is in the part
        link.round = round_;
        link.floor = first_full(at);
      }
      from = std::min(from, link.floor);
    }
    for (const Link at : route(number)) {
      touch(at, from);
    }
  }
  new_.clear();
}

void MaxMin::open_flow(Flow number) {
  FlowState& flow = flows_[number];
  levels_[number] = open;
  part_flows_.push_back(number);
  for (std::uint32_t hop = flow.first; hop < flow.first + flow.hops; ++hop) {
    const Link at = route_links_[hop];
    LinkState& link = links_[at];
    if (link.round != round_) {
      link.round = round_;
      part_links_.push_back(at);
    }
    link.left += flow.rate;
    link.open_weight += flow.weight;
  }
  if (flow.is_limited) {
    limits_.push_back({level_of(flow.limit, flow.weight), number});
  }
}

// Opens all flows that did not stop below this level and are joined to the link by such flows.
void MaxMin::reach_from(Link seed, double from) {
  std::size_t at = part_links_.size();
  links_[seed].round = round_;
  part_links_.push_back(seed);
  for (; at < part_links_.size(); ++at) {
    LinkState& link = links_[part_links_[at]];
    double floor = 0;
    for (const Entry& entry : link.flows) {
      const double level = levels_[entry.flow];
      if (level >= from) {
        open_flow(entry.flow);
      } else {
        floor = std::max(floor, level);
      }
    }
    link.floor = floor;
  }
}

// In ascending order of levels: what was reached from a lower one needs no second visit.
void MaxMin::reach() {
  ++round_;
  seeds_.clear();
  for (const Link number : dirty_) {
    LinkState& link = links_[number];
    const double from = link.from;
    link.from = not_shared;
    if (link.flows.empty() || (link.flows.size() == 1 && share_alone(link.flows.front().flow))) {
      continue;
    }
    seeds_.push_back({from, number});
  }
  dirty_.clear();
  std::sort(seeds_.begin(), seeds_.end());
  for (const Candidate& seed : seeds_) {
    if (links_[seed.number].round != round_) {
      reach_from(seed.number, seed.level);
    }
  }
}

void MaxMin::stop(Flow number, double level, Units rate) {
  FlowState& flow = flows_[number];
  levels_[number] = level;
  set_rate(flow, rate);
  for (std::uint32_t hop = flow.first; hop < flow.first + flow.hops; ++hop) {
    LinkState& link = links_[route_links_[hop]];
    link.left -= rate;
    link.open_weight -= flow.weight;
    if (link.step != step_) {
      link.step = step_;
      touched_.push_back(route_links_[hop]);
    }
  }
}

void MaxMin::fill_link(Link number, double level) {
  for (const Entry& entry : links_[number].flows) {
    if (levels_[entry.flow] == open) {
      stop(entry.flow, level, rate_at(level, flows_[entry.flow]));
    }
  }
}

// The level at which a link will be full never falls: it is kept from doing so by rounding too.
void MaxMin::fill() {
  heap_.clear();
  for (const Link number : part_links_) {
    LinkState& link = links_[number];
    if (link.open_weight > 0) {
      link.heap = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({std::max(link.floor, level_of(link.left, link.open_weight)), number});
    }
  }
  for (std::size_t place = heap_.size() / 2; place > 0; --place) {
    heap_sink(place - 1, Candidate(heap_[place - 1]));
  }
  std::sort(limits_.begin(), limits_.end());
  auto limit = limits_.begin();
  while (!heap_.empty()) {
    double level = heap_.front().level;
    ++step_;
    touched_.clear();
    if (limit != limits_.end() && limit->level < level) {
      const Flow flow = limit->number;
      level = limit->level;
      ++limit;
      if (levels_[flow] != open) {
        continue;
      }
      stop(flow, level, flows_[flow].limit);
    } else {
      fill_link(heap_.front().number, level);
    }
    for (const Link number : touched_) {
      const LinkState& link = links_[number];
      if (link.open_weight == 0) {
        heap_remove(link.heap);
      } else {
        heap_move(link.heap, {std::max(level, level_of(link.left, link.open_weight)), number});
      }
    }
  }
}

std::span<const MaxMin::Flow> MaxMin::solve() {
  part_links_.clear();
  part_flows_.clear();
  limits_.clear();
  ++round_;
  find_new();
  reach();
  fill();
  return part_flows_;
}

void MaxMin::heap_put(std::size_t place, const Candidate& candidate) {
  heap_[place] = candidate;
  links_[candidate.number].heap = static_cast<std::uint32_t>(place);
}

void MaxMin::heap_sink(std::size_t place, const Candidate& candidate) {
  const std::size_t size = heap_.size();
  for (std::size_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
    if (child + 1 < size && heap_[child + 1] < heap_[child]) {
      ++child;
    }
    if (!(heap_[child] < candidate)) {
      break;
    }
    heap_put(place, heap_[child]);
    place = child;
  }
  heap_put(place, candidate);
}

// To where it belongs, up or down from here.
void MaxMin::heap_move(std::size_t place, const Candidate& candidate) {
  for (; place > 0 && candidate < heap_[(place - 1) / 2]; place = (place - 1) / 2) {
    heap_put(place, heap_[(place - 1) / 2]);
  }
  heap_sink(place, candidate);
}

void MaxMin::heap_remove(std::size_t place) {
  const Candidate last = heap_.back();
  heap_.pop_back();
  if (place < heap_.size()) {
    heap_move(place, last);
  }
}

}  // namespace tessera::network
