#include "watched_outlook.hpp"

namespace tessera::executor {
namespace {

// Entries of a heap for each watched entity, of which all but a few are outdated.
constexpr std::size_t most_outdated = 4;
constexpr std::size_t fewest_entries = 1024;
// A promise as far ahead as this part of the horizon is enough for anybody.
constexpr std::int64_t enough_part = 4;
// A rank that does not wait is told anew after some looks only (PromisePolicy's
// looks_between_statements). Until then this one has come some times as far as since it was last
// asked.
constexpr std::int64_t paces_ahead = 4;

}  // namespace

WatchedOutlook::WatchedOutlook(const OutlookSetup& setup, std::span<const EntityId> members,
                               std::uint32_t nodes)
    : setup_(setup),
      members_(members),
      marks_(members.size()),
      watch_of_(members.size(), none),
      watch_at_node_(nodes, none) {
  std::uint32_t ranks = 0;
  for (const std::uint32_t owner : setup.regions->owner) {
    ranks = std::max(ranks, owner + 1);
  }
  regions_.resize(ranks);
}

std::uint32_t WatchedOutlook::watch(std::uint32_t index) {
  const auto number = static_cast<std::uint32_t>(watches_.size());
  watches_.emplace_back().index = index;
  watch_of_[index] = number;
  watch_at_node_[members_[index].value()] = number;
  touch_watch(number);
  return number;
}

void WatchedOutlook::begin(std::uint32_t index) {
  if (watch_of_[index] != none) {
    watches_[watch_of_[index]].has_begun = true;
    touch_watch(watch_of_[index]);
  }
}

void WatchedOutlook::touch_watch(std::uint32_t number) {
  Watch& watch = watches_[number];
  if (!watch.is_touched) {
    watch.is_touched = true;
    touched_.push_back(number);
  }
}

bool WatchedOutlook::send(EntityId source, EntityId target, Bytes bytes, const UnderWay& sent_now) {
  if (watch_at_node_[target.value()] == none || setup_.exit_of(source, target).leaves()) {
    return false;  // where it leaves and comes back, it is expected when it does
  }
  UnderWay message = sent_now;
  message.earliest += setup_.least_time(source, target, bytes);
  return expect(target, message);
}

bool WatchedOutlook::expect(EntityId target, const UnderWay& message) {
  const std::uint32_t number = watch_at_node_[target.value()];
  if (number == none) {
    return false;
  }
  Watch& watch = watches_[number];
  watch.under_way.push_back(message);
  marks_[watch.index] |= expects;
  touch(watch.index);
  return true;
}

bool WatchedOutlook::take_in(const network::Progress& message, pdes::Port arrival,
                             unsigned memory_slot) {
  if (message.deliver == arrival) {
    return expect(message.target, {message.source, message.tag, message.word, message.earliest});
  }
  if (message.deliver.component() == memory_slot) {
    expect_reply(message.target, message.tag, message.earliest);
  }
  return false;
}

// Of several that were sent at once the last one, which arrives after the others.
void WatchedOutlook::follow(EntityId target, const UnderWay& message) {
  const std::uint32_t number = watch_at_node_[target.value()];
  Watch& watch = watches_[number];
  const auto found =
      std::find_if(watch.under_way.rbegin(), watch.under_way.rend(), [&](const UnderWay& known) {
        return known.word == message.word && known.source == message.source &&
               known.tag == message.tag;
      });
  if (found == watch.under_way.rend() || found->earliest >= message.earliest) {
    return;
  }
  found->earliest = message.earliest;
  watch.knows_more = true;
  if ((marks_[watch.index] & is_late) != 0) {
    touch_watch(number);
  }
}

void WatchedOutlook::expect_reply(EntityId target, std::uint16_t tag, SimTime earliest) {
  const std::uint32_t number = watch_at_node_[target.value()];
  if (number == none || !setup_.replies_by_access) {
    return;
  }
  for (UnderWay& known : watches_[number].under_way) {
    if (!known.source.valid() && known.word == 0 && known.tag == tag) {
      known.earliest = std::min(known.earliest, earliest);
      touch(watches_[number].index);
      return;
    }
  }
  expect(target, {EntityId::none(), tag, 0, earliest});
}

// Of several alike it is any one: what stays comes later than this one, and so than what was known
// of this one.
void WatchedOutlook::arrive(std::uint32_t index, EntityId source, std::uint16_t tag,
                            std::uint64_t word) {
  if ((marks_[index] & expects) == 0) {
    return;
  }
  auto& under_way = watches_[watch_of_[index]].under_way;
  const auto found = std::ranges::find_if(under_way, [&](const UnderWay& message) {
    return message.source == source && message.tag == tag && message.word == word;
  });
  if (found != under_way.end()) {
    under_way.erase(found);
  }
  forget_expectation(index);
}

void WatchedOutlook::end_access(std::uint32_t index, std::uint16_t tag) {
  if ((marks_[index] & expects) != 0) {
    std::erase_if(watches_[watch_of_[index]].under_way, [&](const UnderWay& message) {
      return !message.source.valid() && message.word == 0 && message.tag == tag;
    });
    forget_expectation(index);
  }
}

void WatchedOutlook::forget_expectation(std::uint32_t index) {
  if (watches_[watch_of_[index]].under_way.empty()) {
    marks_[index] &= static_cast<std::uint8_t>(~expects);
  }
}

Resumption WatchedOutlook::not_sent_yet(std::uint32_t index, EntityId source, Bytes bytes) const {
  const EntityId here = members_[index];
  if (!setup_.regions->is_here(source)) {
    return {Resumption::Kind::input, SimTime::zero()};
  }
  if (setup_.exit_of(source, here).leaves()) {
    return {Resumption::Kind::next, SimTime::zero()};  // it may be anywhere
  }
  return {Resumption::Kind::next, setup_.least_time(source, here, bytes)};
}

Resumption WatchedOutlook::access(std::uint32_t index, bool is_coming) const {
  const EntityId memory = setup_.memory_node(members_[index]);
  const bool is_local = !memory.valid() || setup_.regions->is_here(memory);
  const bool is_known = setup_.replies_by_access;
  return {is_coming || is_local || !is_known ? Resumption::Kind::next : Resumption::Kind::input,
          SimTime::zero()};
}

void WatchedOutlook::add_exit(Regions& regions, EntityId from, EntityId to) const {
  if (from.valid() && to.valid() && from != to) {
    add_exit(regions, setup_.exit_of(from, to));
  }
}

void WatchedOutlook::add_exit(Regions& regions, const pdes::Exit& exit) {
  if (exit.leaves()) {
    const auto [known, is_new] = regions.try_emplace(exit.region, exit.latency);
    known->second = std::min(known->second, exit.latency);
  }
}

void WatchedOutlook::add(std::uint32_t region, const Resumption& resumption, SimTime further) {
  if (further.is_never()) {
    return;
  }
  Region& to = regions_[region];
  const Watch& watch = watches_[telling_];
  if (may_be_rough_ && further > horizon_) {
    const SimTime now = resumption.kind == Resumption::Kind::at ? resumption.time : SimTime::zero();
    const SimTime key = std::max(now, moment_.done) + further;
    if (key >= moment_.wanted) {
      push(to.at, {key, SimTime::never(), telling_, watch.version});
      return;
    }
  }
  marks_[watch.index] |= is_exact;
  const Entry entry{resumption.time + further, resumption.time, telling_, watch.version};
  push(resumption.kind == Resumption::Kind::at     ? to.at
       : resumption.kind == Resumption::Kind::next ? to.next
                                                   : to.input,
       entry);
}

void WatchedOutlook::push(Heap& heap, const Entry& entry) {
  // Before it grows, so that where most are current not every push looks at all of them.
  if (heap.size() == heap.capacity() &&
      heap.size() > fewest_entries + most_outdated * watches_.size()) {
    std::erase_if(heap, [this](const Entry& old) { return !is_current(old); });
    std::make_heap(heap.begin(), heap.end(), Later());
    if (heap.size() > heap.capacity() / 2) {
      heap.reserve(2 * heap.capacity());
    }
  }
  heap.push_back(entry);
  std::push_heap(heap.begin(), heap.end(), Later());
}

void WatchedOutlook::drop_outdated(Heap& heap) const {
  while (!heap.empty() && !is_current(heap.front())) {
    std::pop_heap(heap.begin(), heap.end(), Later());
    heap.pop_back();
  }
}

void WatchedOutlook::look_at(std::uint32_t number) {
  Watch& watch = watches_[number];
  ++watch.version;
  watch.knows_more = false;
  marks_[watch.index] &= static_cast<std::uint8_t>(~(is_exact | is_late));
  telling_ = number;
  may_be_rough_ = true;
  tell(watch.index);
}

SimTime WatchedOutlook::until_told_again(SimTime enough) {
  const SimTime next = moment_.next;
  if (next.is_never()) {
    return enough;
  }
  if (next > asked_at_) {
    pace_ = next - asked_at_;
    asked_at_ = next;
  }
  const SimTime most = enough - next;
  const bool is_far = pace_.ps() > most.ps() / paces_ahead;
  return next + (is_far ? most : pace_ * paces_ahead);
}

pdes::Outlook WatchedOutlook::outlook_of(std::uint32_t rank, const pdes::Moment& moment) {
  moment_ = moment;
  const SimTime enough =
      moment.next + std::max(SimTime::from_ps(horizon_.ps() / enough_part), moment.width);
  moment_.wanted = moment.wanted.is_never() ? enough : std::max(moment.wanted, moment.next);
  const SimTime wanted_exactly = std::max(moment_.wanted, until_told_again(enough));
  for (const std::uint32_t number : touched_) {
    watches_[number].is_touched = false;
    look_at(number);
  }
  touched_.clear();
  Region& region = regions_[rank];
  drop_outdated(region.at);
  while (!region.at.empty()) {
    Entry first = region.at.front();
    const Watch& watch = watches_[first.watch];
    const bool is_rough = first.base.is_never();
    const bool may_be_later = is_rough || watch.knows_more;
    const SimTime wanted = is_rough ? moment_.wanted : wanted_exactly;
    if (first.base >= moment.next && (!may_be_later || first.key >= wanted)) {
      break;
    }
    std::pop_heap(region.at.begin(), region.at.end(), Later());
    region.at.pop_back();
    if (may_be_later) {
      look_at(first.watch);
    } else {
      // It was to go on before and has not: what it waits for is late.
      first.key -= first.base;
      push(region.next, first);
      marks_[watch.index] |= is_late;
    }
    drop_outdated(region.at);
  }
  drop_outdated(region.next);
  drop_outdated(region.input);
  const auto least = [](const Heap& heap) {
    return heap.empty() ? SimTime::never() : heap.front().key;
  };
  return {least(region.at), least(region.next), least(region.input)};
}

}  // namespace tessera::executor
