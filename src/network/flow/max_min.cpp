#include "flow/max_min.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/core/error.hpp"

namespace tessera::network {
namespace {

constexpr int unit_bits = 62;   // of the largest capacity
constexpr std::size_t few = 4;  // flows on a link that are counted again without ado
constexpr Wide most_units = Wide{1} << 62U;

bool fits_half(Wide number) {
  return number >> 64U == 0;
}

// Faster than a division of 128 bits where both fit into half of them.
Wide quotient(Wide number, Wide divisor) {
  return fits_half(number | divisor)
             ? Wide{static_cast<std::uint64_t>(number) / static_cast<std::uint64_t>(divisor)}
             : number / divisor;
}

}  // namespace

MaxMin::MaxMin(std::span<const double> capacities, unsigned level_digits, double largest)
    : level_digits_(level_digits),
      heads_(capacities.size()),
      links_(capacities.size()),
      heap_(capacities.size()) {
  for (const double capacity : capacities) {
    largest = std::max(largest, capacity);
  }
  largest = largest > 0 ? largest : 1;
  unit_ = std::ldexp(1.0, std::ilogb(largest) + 1 - unit_bits);
  for (std::size_t link = 0; link < links_.size(); ++link) {
    links_[link].capacity = std::max<Units>(1, static_cast<Units>(capacities[link] / unit_));
    links_[link].left = links_[link].capacity;
    heads_[link].capacity = links_[link].capacity;
  }
}

// At most so much that a link could ever carry: a new flow may have the level of another one of
// much less weight, until that is settled.
MaxMin::Units MaxMin::rate_at(Level level, Wide weight) const {
  Wide product = 0;
  if (fits_half(level | weight)) {
    product = level * weight;
  } else if (__builtin_mul_overflow(level, weight, &product)) {
    return static_cast<Units>(most_units);
  }
  return static_cast<Units>(std::min(product >> level_digits_, most_units));
}

MaxMin::Level MaxMin::level_for(SignedWide left, Wide weight) const {
  if (weight == 0) {
    return unbounded;
  }
  return left <= 0 ? 0 : quotient(static_cast<Wide>(left) << level_digits_, weight);
}

MaxMin::Level MaxMin::level_at(double limit, Wide weight) const {
  return limit / unit_ < static_cast<double>(most_units)
             ? level_for(std::max<Units>(1, static_cast<Units>(limit / unit_)), weight)
             : unbounded;
}

double MaxMin::rate_alone(std::span<const Link> route, Wide weight, double limit) const {
  if (route.empty()) {
    return limit;
  }
  Level level = level_at(limit, weight);
  for (const Link link : route) {
    level = std::min(level, level_for(links_[link].capacity, weight));
  }
  return static_cast<double>(rate_at(level, weight)) * unit_;
}

MaxMin::Level MaxMin::level_of(Flow number) const {
  Level level = flows_[number].at_limit;
  for (const Link link : route(number)) {
    level = std::min(level, links_[link].level);
  }
  return level;
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

MaxMin::FlowState& MaxMin::enter(Flow number, std::uint32_t hops, Wide weight, double limit) {
  ensure(weight > 0 && weight <= most_weight && limit > 0, "a flow that could not go on");
  if (number >= flows_.size()) {
    flows_.resize(number + std::size_t{1});
    levels_.resize(flows_.size());
    weights_.resize(flows_.size());
  }
  FlowState& flow = flows_[number];
  ensure(!flow.is_active, "a number that is free");
  weights_[number] = weight;
  flow.at_limit = level_at(limit, weight);
  flow.rate = hops == 0 ? limit : 0;
  flow.is_active = true;
  flow.hops = hops;
  flow.first = take_places(std::max(hops, 1U));
  levels_[number] = unbounded;
  return flow;
}

void MaxMin::add(Flow number, std::span<const Link> route, Wide weight, double limit) {
  std::uint32_t hop = enter(number, static_cast<std::uint32_t>(route.size()), weight, limit).first;
  for (const Link at : route) {
    if (heads_[at].quiet != nobody) {
      wake_up(heads_[at].quiet);
    }
    ++heads_[at].flows;
    put_on(links_[at], number, hop);
    route_links_[hop++] = at;
    links_[at].open += weight;
    links_[at].is_loose = true;
    touch(at);
  }
  new_.push_back(number);
}

void MaxMin::put_on(LinkState& link, Flow number, std::uint32_t hop) {
  places_[hop] = static_cast<std::uint32_t>(link.flows.size());
  link.flows.push_back({number, hop});
  link.weight += weights_[number];
}

bool MaxMin::add_alone(Flow number, std::span<const Link> route, Wide weight, double limit) {
  Units least = std::numeric_limits<Units>::max();
  for (const Link at : route) {
    if (heads_[at].flows != 0) {
      return false;
    }
    least = std::min(least, heads_[at].capacity);
  }
  if (route.empty()) {
    return false;
  }
  FlowState& flow = enter(number, static_cast<std::uint32_t>(route.size()), weight, limit);
  std::uint32_t hop = flow.first;
  for (const Link at : route) {
    heads_[at].flows = 1;
    heads_[at].quiet = number;
    route_links_[hop++] = at;
  }
  levels_[number] = std::min(flow.at_limit, level_for(least, weight));
  flow.rate = exact_rate(number);
  return true;
}

bool MaxMin::is_quiet(Flow number) const {
  const FlowState& flow = flows_[number];
  return flow.hops > 0 && heads_[route_links_[flow.first]].quiet == number;
}

// Gives the links of a quiet flow their states.
void MaxMin::wake_up(Flow number) {
  std::uint32_t hop = flows_[number].first;
  for (const Link at : route(number)) {
    heads_[at].quiet = nobody;
    put_on(links_[at], number, hop++);
    links_[at].next = level_for(links_[at].capacity, weights_[number]);
  }
  fill_alone(number, levels_[number]);
}

void MaxMin::remove(Flow number) {
  FlowState& flow = flows_[number];
  ensure(flow.is_active, "a flow that ends once");
  const std::uint32_t size = std::bit_ceil(std::max(flow.hops, 1U));
  free_places_[static_cast<std::size_t>(std::countr_zero(size))].push_back(flow.first);
  flow.is_active = false;
  if (is_quiet(number)) {
    for (const Link at : route(number)) {
      heads_[at].flows = 0;
      heads_[at].quiet = nobody;
    }
    return;
  }
  const Wide weight = weights_[number];
  for (std::uint32_t hop = flow.first; hop < flow.first + flow.hops; ++hop) {
    LinkState& link = links_[route_links_[hop]];
    const std::uint32_t place = places_[hop];
    const Entry last = link.flows.back();
    --heads_[route_links_[hop]].flows;
    link.flows[place] = last;
    places_[last.hop] = place;
    link.flows.pop_back();
    link.weight -= weight;
    if (link.flows.empty()) {
      clear(link);
      continue;
    }
    if (levels_[number] < link.counted) {
      link.left += rate_at(levels_[number], weight);
    } else {
      link.open -= weight;
    }
    touch(route_links_[hop]);
  }
}

// A link without flows.
void MaxMin::clear(LinkState& link) {
  link.level = link.counted = link.next = unbounded;
  link.left = link.capacity;
  link.open = 0;
  link.is_loose = false;
}

void MaxMin::touch(Link number) {
  if (!links_[number].is_touched) {
    links_[number].is_touched = true;
    touched_.push_back(number);
  }
}

void MaxMin::note_changed(Flow number) {
  FlowState& flow = flows_[number];
  if (!flow.is_changed) {
    flow.is_changed = true;
    changed_.push_back(number);
  }
}

// The short way for a new flow that has its links to itself, as in rings. False if it has not.
bool MaxMin::share_alone(Flow number) {
  const Wide weight = weights_[number];
  Level level = flows_[number].at_limit;
  for (const Link at : route(number)) {
    LinkState& link = links_[at];
    if (link.flows.size() != 1) {
      return false;
    }
    link.next = level_for(link.capacity, weight);
    level = std::min(level, link.next);
  }
  fill_alone(number, level);
  note_changed(number);
  return true;
}

// Of a flow alone on its links, each of which would be full at its `next`: gives it its level.
void MaxMin::fill_alone(Flow number, Level level) {
  const Wide weight = weights_[number];
  const Units rate = rate_at(level, weight);
  for (const Link at : route(number)) {
    LinkState& link = links_[at];
    const bool is_full = link.next == level;
    link.level = link.counted = link.next = is_full ? level : unbounded;
    link.left = is_full ? link.capacity : link.capacity - rate;
    link.open = is_full ? weight : 0;
    link.is_loose = false;
    link.is_touched = false;
  }
  levels_[number] = level;
}

double MaxMin::exact_rate(Flow number) const {
  return static_cast<double>(rate_at(levels_[number], weights_[number])) * unit_;
}

// Gives a flow another level, and tells its links to which that makes a difference.
void MaxMin::change(Flow number, Level level) {
  note_changed(number);
  const Wide weight = weights_[number];
  const Level before = levels_[number];
  levels_[number] = level;
  for (const Link at : route(number)) {
    LinkState& link = links_[at];
    if (before >= link.counted && level >= link.counted) {
      continue;
    }
    if (before < link.counted) {
      link.left += rate_at(before, weight);
      link.open += weight;
    }
    if (level < link.counted) {
      link.left -= rate_at(level, weight);
      link.open -= weight;
    }
    link.is_loose = link.is_loose || level > before;
    touch(at);
  }
}

// A bound from below on the level at which the link is full, if that is below `counted`: flows of
// higher levels than that take more than an equal share, so that what is left without them says
// less. With a margin for what was rounded: what each flow lost in its rate, the link in its level.
MaxMin::Level MaxMin::full_from(const LinkState& link) const {
  const Wide margin = (Wide{link.flows.size()} << level_digits_) + link.weight;
  const Wide left = link.left <= 0 ? 0 : static_cast<Wide>(link.left) << level_digits_;
  if (left < margin) {
    return 0;
  }
  return link.open == 0 ? unbounded : quotient(left - margin, link.open);
}

void MaxMin::recount(LinkState& link) const {
  const Level from = link.next;
  link.is_loose = false;
  link.counted = 0;
  link.left = link.capacity;
  link.open = link.weight;
  count(link, from);
  count_on(link);
}

void MaxMin::count(LinkState& link, Level upto) const {
  if (upto == link.counted) {
    return;
  }
  for (const Entry& entry : link.flows) {
    const Level level = levels_[entry.flow];
    if (level >= link.counted && level < upto) {
      link.left -= rate_at(level, weights_[entry.flow]);
      link.open -= weights_[entry.flow];
    }
  }
  link.counted = upto;
}

// Counts flows of higher and higher levels, up to where the link is full or has its level. What is
// left for the others grows thereby: the first level that holds is the right one.
void MaxMin::count_on(LinkState& link) const {
  for (;;) {
    link.next = level_for(link.left, link.open);
    const Level upto = std::min(link.next, link.level);
    if (upto <= link.counted) {
      return;
    }
    count(link, upto);
  }
}

void MaxMin::settle(Link number) {
  LinkState& link = links_[number];
  link.is_touched = false;
  if (link.flows.empty()) {
    clear(link);
    heap_.remove(number);
    return;
  }
  if (link.is_loose) {
    link.next = full_from(link);
    link.is_loose = link.next < link.counted;
  }
  if (link.is_loose && link.flows.size() <= few) {
    recount(link);
  } else if (!link.is_loose) {
    link.next = level_for(link.left, link.open);
  }
  queue(number);
}

void MaxMin::settle() {
  for (const Link number : touched_) {
    if (links_[number].is_touched) {
      settle(number);
    }
  }
  touched_.clear();
}

void MaxMin::queue(Link number) {
  LinkState& link = links_[number];
  const Level from = std::min(link.level, link.next);
  if (from == unbounded) {
    link.counted = unbounded;  // all flows are
    heap_.remove(number);
  } else if (!link.is_loose && link.next == link.level && link.counted == link.level) {
    heap_.remove(number);
  } else {
    heap_.put(number, from);
  }
}

// The link whose level is wrong from the lowest on: all levels below are right.
void MaxMin::look_at(Link number) {
  LinkState& link = links_[number];
  if (link.is_loose) {
    recount(link);
    queue(number);
    return;
  }
  const Level from = std::min(link.level, link.next);
  count_on(link);
  if (link.next < link.level && link.next == from) {  // full earlier than thought
    link.level = from;
    heap_.remove(number);
    for (const Entry& entry : link.flows) {
      if (levels_[entry.flow] > from) {
        change(entry.flow, from);
      }
    }
  } else {
    // Later: at once to where it may be next, so that its flows change once where that is right.
    if (link.level == from && link.next > from) {
      link.level = link.next;
      for (const Entry& entry : link.flows) {
        if (levels_[entry.flow] == from) {
          const Level level = level_of(entry.flow);
          if (level != from) {
            change(entry.flow, level);
          }
        }
      }
      count_on(link);
    }
    queue(number);
  }
}

std::span<const MaxMin::Flow> MaxMin::solve() {
  for (const Flow number : changed_) {
    flows_[number].is_changed = false;
  }
  changed_.clear();
  for (const Flow number : new_) {
    if (flows_[number].is_active && levels_[number] == unbounded && !share_alone(number)) {
      change(number, flows_[number].hops == 0 ? 0 : level_of(number));
    }
  }
  new_.clear();
  settle();
  while (!heap_.empty()) {
    look_at(heap_.front());
    settle();
  }
  for (const Flow number : changed_) {
    FlowState& flow = flows_[number];
    if (flow.hops > 0) {
      flow.rate = exact_rate(number);
    }
  }
  return changed_;
}

}  // namespace tessera::network
