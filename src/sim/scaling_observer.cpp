#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/sim/scaling.hpp"

namespace tessera::sim {

using pdes::WindowNumber;

ScalingObserver::ScalingObserver(std::span<const EntityId> members,
                                 std::span<const WatchedCut> cuts)
    : stride_(cuts.size()) {
  ensure(!cuts.empty() && !members.empty(), "something to watch");
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
    Cut& cut = cuts_.emplace_back();
    cut.round_width = watched.round_width;
    cut.regions.resize(static_cast<std::size_t>(watched.ranks));
    cut.counts.ranks = watched.ranks;
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
  for (std::size_t cut = 0; cut < stride_; ++cut) {
    if (source[cut] != current_[cut]) {
      cuts_[cut].message(source[cut], current_[cut]);
    }
  }
}

std::vector<trace::ScalingCounts> ScalingObserver::finish() {
  settle();
  std::vector<trace::ScalingCounts> all;
  for (Cut& cut : cuts_) {
    cut.end_round();
    for (const Region& region : cut.regions) {
      cut.counts.events += region.events;
      cut.counts.largest_events = std::max(cut.counts.largest_events, region.events);
      cut.counts.windows = std::max(cut.counts.windows, region.windows);
    }
    all.push_back(cut.counts);
  }
  return all;
}

void ScalingObserver::enter(WindowNumber window) {
  window_ = window;
  for (Cut& cut : cuts_) {
    // A region alone may go on until its own messages could come back to it.
    const bool alone = cut.active == 1;
    if (window >= cut.round_end + (alone ? cut.round_width : 0)) {
      cut.begin_round(window);
    }
  }
}

// Books the events of the entity whose turn is over.
void ScalingObserver::settle() {
  if (current_events_ == 0) {
    return;
  }
  for (std::size_t number = 0; number < stride_; ++number) {
    Cut& cut = cuts_[number];
    Region* found = &cut.regions[current_[number]];
    if (found->round_events == 0) {
      if (window_ >= cut.round_end) {  // until now one region went on alone
        cut.begin_round(window_);
      }
      found = &cut.touch(current_[number]);
      ++cut.active;
    }
    Region& region = *found;
    region.round_events += current_events_;
    region.windows += region.window != window_ ? 1 : 0;
    region.window = window_;
  }
  current_events_ = 0;
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
  std::uint32_t events = 0;
  std::uint32_t remote = 0;
  std::uint32_t batches = 0;
  for (const std::uint16_t number : touched) {
    Region& region = regions[number];
    events = std::max(events, region.round_events);
    remote = std::max({remote, region.sent, region.received});
    batches = std::max({batches, region.batches_sent, region.batches_received});
    counts.remote_events += region.sent;
    region.events += region.round_events;
    region.round_events = 0;
    region.sent = 0;
    region.received = 0;
    region.batches_sent = 0;
    region.batches_received = 0;
    region.in_round = false;
  }
  touched.clear();
  active = 0;
  pairs.next_round();
  ++counts.rounds;
  counts.path_events += events;
  counts.path_remote_events += remote;
  counts.path_batches += batches;
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
