#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/sim/scaling/scaling.hpp"

namespace tessera::sim {

using pdes::WindowNumber;

namespace {

// Regions that are compared at once.
constexpr std::size_t lanes = sizeof(std::uint64_t) / sizeof(std::uint16_t);

std::uint64_t word_at(const std::uint16_t* regions) {
  std::uint64_t word = 0;
  std::memcpy(&word, regions, sizeof(word));
  return word;
}

}  // namespace

ScalingObserver::ScalingObserver(std::span<const EntityId> members,
                                 std::span<const WatchedCut> cuts, const ClockCosts& costs)
    : stride_((cuts.size() + lanes - 1) / lanes * lanes) {
  ensure(!members.empty(), "something to watch");
  for (const EntityId entity : members) {
    entity_of_.push_back(entity.value());
  }
  owners_.resize(members.size() * stride_);
  for (std::size_t number = 0; number < cuts.size(); ++number) {
    const WatchedCut& watched = cuts[number];
    ensure(watched.ranks >= 1 && watched.ranks <= most_ranks && watched.round_width >= 1 &&
               watched.owner.size() == members.size(),
           "a cut that can be watched");
    for (std::size_t entity = 0; entity < watched.owner.size(); ++entity) {
      owners_[entity * stride_ + number] = static_cast<std::uint16_t>(watched.owner[entity]);
    }
    cuts_.emplace_back(watched, costs);
  }
}

// Calls `visit` with each cut in which the regions differ.
template <class Visit>
void ScalingObserver::visit_crossed(const std::uint16_t* from, const std::uint16_t* to,
                                    const Visit& visit) const {
  for (std::size_t first = 0; first < stride_; first += lanes) {
    if (word_at(from + first) == word_at(to + first)) {
      continue;
    }
    for (std::size_t cut = first; cut < first + lanes; ++cut) {
      if (from[cut] != to[cut]) {
        visit(cut);
      }
    }
  }
}

void ScalingObserver::on_event(WindowNumber window, const pdes::Event& event) {
  if (event.target != current_index_ || window != window_ || current_ == nullptr) {
    settle();
    if (window != window_) {
      enter(window);
    }
    current_index_ = event.target;
    current_ = row(entity_of_[event.target]);
  }
  ++current_events_;
  const std::uint16_t* const source = row(event.source.value());
  if (source == current_) {
    return;
  }
  std::uint32_t slot = SendsUnderWay::none;
  visit_crossed(source, current_, [&](std::size_t number) {
    if (slot == SendsUnderWay::none) {
      slot = under_way_.take(event.source, event.sequence);
      ensure(slot != SendsUnderWay::none, "an event was sent before it is handled");
    }
    Cut& cut = cuts_[number];
    cut.message(source[number], current_[number]);
    cut.come_to(window_, source[number]);
    cut.come_to(window_, current_[number]);
    cut.clocks.received(current_[number], source[number], stamps_[slot * cuts_.size() + number]);
  });
}

void ScalingObserver::on_send(EntityId source, std::uint32_t sequence, EntityId target) {
  const std::uint16_t* const from = row(source.value());
  bool crosses = false;
  visit_crossed(from, row(target.value()), [&](std::size_t number) {
    crosses = true;
    cuts_[number].come_to(window_, from[number]);
    cuts_[number].clocks.sent(from[number]);
  });
  if (crosses) {
    const std::uint32_t slot = under_way_.add(source, sequence);
    if (under_way_.slots() * cuts_.size() > stamps_.size()) {
      stamps_.resize(under_way_.slots() * cuts_.size());
    }
    sent_.push_back({slot, source.value(), target.value()});
  }
}

std::vector<trace::ScalingCounts> ScalingObserver::finish() {
  settle();
  std::vector<trace::ScalingCounts> all;
  for (Cut& cut : cuts_) {
    all.push_back(cut.finish());
  }
  return all;
}

void ScalingObserver::enter(WindowNumber window) {
  if (!sent_.empty()) {
    stamp_sent();
  }
  window_ = window;
  for (Cut& cut : cuts_) {
    // A region alone may go on until its own messages could come back to it.
    const bool alone = cut.active == 1;
    if (window >= cut.round_end + (alone ? cut.round_width : 0)) {
      cut.begin_round(window);
    }
  }
}

// What was sent in a window leaves at its end.
void ScalingObserver::stamp_sent() {
  for (const Sent& sent : sent_) {
    const std::uint16_t* const from = row(sent.source);
    visit_crossed(from, row(sent.target), [&](std::size_t number) {
      stamps_[sent.slot * cuts_.size() + number] = cuts_[number].now(from[number]);
    });
  }
  sent_.clear();
}

// Books the events of the entity whose turn is over.
void ScalingObserver::settle() {
  if (current_events_ == 0) {
    return;
  }
  for (std::size_t number = 0; number < cuts_.size(); ++number) {
    Cut& cut = cuts_[number];
    Region& region = cut.regions[current_[number]];
    if (!region.active) {
      if (window_ >= cut.round_end) {  // until now one region went on alone
        cut.begin_round(window_);
      }
      cut.touch(current_[number]);
      region.active = true;
      ++cut.active;
    }
    if (region.window != window_) {
      region.window = window_;
      region.events_before = region.events;
      ++region.windows;
    }
    region.events += current_events_;
  }
  current_events_ = 0;
}

ScalingObserver::Cut::Cut(const WatchedCut& watched, const ClockCosts& costs)
    : round_width(watched.round_width),
      regions(static_cast<std::size_t>(watched.ranks)),
      clocks(static_cast<std::uint32_t>(watched.ranks), costs) {
  counts.ranks = watched.ranks;
}

void ScalingObserver::Cut::come_to(WindowNumber window, std::uint16_t number) {
  const Region& region = regions[number];
  clocks.come_to(number, window, region.window == window ? region.events_before : region.events);
}

RegionClocks::Stamp ScalingObserver::Cut::now(std::uint16_t number) const {
  return clocks.now(number, regions[number].events);
}

void ScalingObserver::Cut::begin_round(WindowNumber window) {
  end_round();
  round_end = window + round_width;
}

ScalingObserver::Region& ScalingObserver::Cut::touch(std::uint16_t number) {
  Region& region = regions[number];
  if (!region.in_round) {
    region.in_round = true;
    touched.push_back(number);
  }
  return region;
}

void ScalingObserver::Cut::message(std::uint16_t from, std::uint16_t to) {
  Region& sender = touch(from);
  Region& receiver = touch(to);
  ++sender.sent;
  ++receiver.received;
  if (pairs.add(std::uint32_t{from} << 16 | to)) {
    ++sender.batches_sent;
    ++receiver.batches_received;
    ++counts.batches;
  }
}

void ScalingObserver::Cut::end_round() {
  if (touched.empty()) {
    return;
  }
  std::uint64_t events = 0;
  std::uint32_t remote = 0;
  std::uint32_t batches = 0;
  for (const std::uint16_t number : touched) {
    Region& region = regions[number];
    events = std::max(events, region.events - region.events_before_round);
    remote = std::max({remote, region.sent, region.received});
    batches = std::max({batches, region.batches_sent, region.batches_received});
    counts.remote_events += region.sent;
    region.events_before_round = region.events;
    region.sent = 0;
    region.received = 0;
    region.batches_sent = 0;
    region.batches_received = 0;
    region.in_round = false;
    region.active = false;
  }
  touched.clear();
  active = 0;
  pairs.next_round();
  ++counts.rounds;
  counts.path_events += events;
  counts.path_remote_events += remote;
  counts.path_batches += batches;
}

trace::ScalingCounts ScalingObserver::Cut::finish() {
  end_round();
  std::vector<std::uint64_t> done;
  for (const Region& region : regions) {
    counts.events += region.events;
    counts.largest_events = std::max(counts.largest_events, region.events);
    counts.windows = std::max(counts.windows, region.windows);
    done.push_back(region.events);
  }
  counts.perfect = clocks.perfect(done);
  counts.promised = clocks.promised(done);
  return counts;
}

bool ScalingObserver::Pairs::add(std::uint32_t pair) {
  const std::size_t mask = slots_.size() - 1;
  // Fibonacci hashing: the pairs of neighbouring regions differ in few bits.
  std::size_t at = (pair * 0x9E3779B97F4A7C15ULL >> 32) & mask;
  for (; slots_[at].round == round_; at = (at + 1) & mask) {
    if (slots_[at].pair == pair) {
      return false;
    }
  }
  slots_[at] = {pair, round_};
  if (++used_ * 2 > slots_.size()) {
    grow();
  }
  return true;
}

void ScalingObserver::Pairs::next_round() {
  used_ = 0;
  if (++round_ == 0) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    round_ = 1;
  }
}

void ScalingObserver::Pairs::grow() {
  const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  used_ = 0;
  for (const Slot& slot : before) {
    if (slot.round == round_) {
      add(slot.pair);
    }
  }
}

}  // namespace tessera::sim
