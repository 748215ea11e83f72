#include "tessera/pdes/engine.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <utility>

namespace tessera::pdes {
namespace {

// A list with fewer events than this part of its entities is sorted by keys.
constexpr std::size_t sparsest = 8;
// Fewer keys are sorted by comparison, more by counting, in digits of this width or, for many, of a
// block's.
constexpr std::size_t counting_sort_from = 20;
constexpr unsigned few_digit_bits = 6;
// Keys ahead of the one being handled whose events are called into cache.
constexpr std::size_t prefetch_distance = 8;
// Of a key, for the place in a chunk.
constexpr unsigned place_bits = std::bit_width(Calendar::largest_chunk);
// An entity's events are sorted by insertion up to here.
constexpr std::ptrdiff_t insertion_sort_to = 16;
// Events handled before a rank looks up from its work (stop requests, progress), when its bound
// would let it run on.
constexpr std::uint64_t stretch_events = 1U << 18;

void sort_events(const Event** begin, const Event** end) {
  const auto before = [](const Event* a, const Event* b) { return handled_before(*a, *b); };
  if (end - begin > insertion_sort_to) {
    std::sort(begin, end, before);
    return;
  }
  for (const Event** at = begin + 1; at != end; ++at) {
    const Event* const event = *at;
    const Event** place = at;
    for (; place != begin && before(event, place[-1]); --place) {
      *place = place[-1];
    }
    *place = event;
  }
}

// Like resize, without the slack of a vector that grows by itself.
template <class T>
void make_room(std::vector<T>& values, std::size_t size) {
  if (size > values.capacity()) {
    values = {};
    values.reserve(size + size / 16);
  }
  values.resize(size);
}

// A type, so that the heap's calls of it vanish.
struct HandledLater {
  bool operator()(const Event& a, const Event& b) const { return handled_before(b, a); }
};

}  // namespace

Engine::Engine(comm::Communicator& communicator, Regions regions, SimTime lookahead)
    : Engine(communicator, regions, lookahead, make_window_policy(communicator, regions.delays)) {}

Engine::Engine(comm::Communicator& communicator, Regions regions, SimTime lookahead,
               std::unique_ptr<SyncPolicy> policy)
    : communicator_(communicator),
      members_(std::move(regions.members)),
      locator_(regions.owner.size()),
      sequences_(members_.size()),
      calendar_(lookahead, static_cast<std::uint32_t>(members_.size())),
      policy_(std::move(policy)),
      outboxes_(static_cast<std::size_t>(communicator.size())),
      context_(*this),
      places_(std::size_t{1} << calendar_.block_bits()) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto self = static_cast<std::size_t>(communicator.rank());
  delay_to_.assign(regions.delays.begin() + static_cast<std::ptrdiff_t>(self * ranks),
                   regions.delays.begin() + static_cast<std::ptrdiff_t>((self + 1) * ranks));
  for (std::size_t entity = 0; entity < regions.owner.size(); ++entity) {
    locator_[entity] = ~static_cast<std::int32_t>(regions.owner[entity]);
  }
  for (std::size_t index = 0; index < members_.size(); ++index) {
    const EntityId entity = members_[index];
    ensure(entity.value() < locator_.size() && regions.owner[entity.value()] == self,
           "a rank's members are the entities it owns");
    locator_[entity.value()] = static_cast<std::int32_t>(index);
  }
}

unsigned Engine::attach(Component& component) {
  ensure(components_.size() < Port::max_components, "too many components for a port");
  components_.push_back(&component);
  return static_cast<unsigned>(components_.size() - 1);
}

void Engine::set_boundaries(SimTime period, std::uint32_t doubling) {
  const std::int64_t width = calendar_.width().ps();
  const std::int64_t windows = std::max<std::int64_t>(1, (period.ps() + width - 1) / width);
  boundary_period_ = calendar_.width() * windows;
  next_boundary_ = boundary_period_;
  boundary_doubling_ = doubling;
}

void Engine::set_cuts(SimTime period) {
  const std::int64_t width = calendar_.width().ps();
  cut_period_ = calendar_.width() * std::max<std::int64_t>(1, (period.ps() + width - 1) / width);
  periodic_cut_ = cut_period_;
  cut_ = std::min(cut_, periodic_cut_);
}

void Engine::enqueue_now(const Event& event) {
  self_events_.push_back(event);
  std::push_heap(self_events_.begin(), self_events_.end(), HandledLater());
}

Event& Engine::enqueue_remote(std::size_t rank, EntityId target, SimTime time) {
  Outbox& outbox = outboxes_[rank];
  outbox.earliest = std::min(outbox.earliest, time);
  ++statistics_.remote_events;
  Event& event = outbox.events.emplace_back();
  event.target = target.value();
  return event;
}

void Engine::refuse(EntityId target, SimTime delay, SimTime required) const {
  throw ModelError("causality: entity " + std::to_string(context_.self_.value()) +
                       " sends to entity " + std::to_string(target.value()) + " with a delay of " +
                       to_string(delay) + ", below the lookahead of " + to_string(required) +
                       " between them",
                   context_.now_, context_.self_);
}

void Engine::start() {
  window_end_ = SimTime::zero();  // events to itself go through the calendar
  context_.now_ = SimTime::zero();
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    context_.self_ = members_[index];
    context_.index_ = index;
    context_.sequence_ = sequences_[index];
    for (Component* component : components_) {
      component->start(context_);
    }
    sequences_[index] = context_.sequence_;
  }
}

void Engine::arrive(std::span<const Event> events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + prefetch_distance < events.size()) {
      __builtin_prefetch(&locator_[events[i + prefetch_distance].target]);
    }
    const Event& event = events[i];
    const std::int32_t place = locator_[event.target];
    ensure(place >= 0, "an event came to a rank that does not own its target");
    ensure(event.time >= window_end_, "an event came after its time: regions are closer than said");
    const auto index = static_cast<std::uint32_t>(place);
    calendar_.insert(event.time, index, [&](Event& slot) {
      slot = event;
      slot.target = index;
    });
  }
}

bool Engine::run(const EngineHooks& hooks) {
  using WallClock = std::chrono::steady_clock;
  const EventSink sink = [this](std::span<const Event> events) { arrive(events); };
  const auto ask = [](const std::function<bool()>& question) {
    return question && question() ? std::int64_t{1} : std::int64_t{0};
  };
  if (restored_) {
    move_periodic_cut(window_end_);
  } else {
    start();
  }
  const bool has_others = communicator_.size() > 1;
  bool stopping = false;
  while (true) {
    RoundSums sums;
    sums.stop_requests = ask(hooks.stop_requested);
    sums.checkpoint_requests = ask(hooks.checkpoint_requested);
    sums.events = static_cast<std::int64_t>(statistics_.events);
    sums.work_done = hooks.work_done ? hooks.work_done() : 0;
    // One rank waits for nobody, and may have millions of short rounds.
    const auto before = has_others ? WallClock::now() : WallClock::time_point();
    const RoundResult round =
        policy_->advance(calendar_.start_of(calendar_.next_window()), outboxes_, sums, sink);
    if (has_others) {
      statistics_.waiting_s += std::chrono::duration<double>(WallClock::now() - before).count();
    }
    ++statistics_.rounds;
    if (hooks.on_round) {
      hooks.on_round(round);
    }
    if (round.global) {
      if (round.finished) {
        return true;
      }
      stopping = stopping || round.sums.stop_requests > 0;
      if (stopping && !hooks.on_cut) {
        return false;
      }
      if (round.sums.checkpoint_requests > 0 || stopping) {
        request_cut();
      }
      if (round.global_next >= cut_) {
        make_cut(hooks, round.global_next);
        if (stopping) {
          return false;
        }
      }
    }
    run_windows(std::min(round.bound, cut_));
  }
}

// Whole windows only: floor(bound) is still past the earliest window of all ranks, because no
// distance between regions is below the lookahead.
void Engine::run_windows(SimTime bound) {
  const WindowNumber end = bound.is_never() ? no_window : calendar_.window_of(bound);
  const std::uint64_t pause = statistics_.events + stretch_events;
  for (WindowNumber window = calendar_.next_window(); window < end && window != no_window;
       window = calendar_.next_window()) {
    try {
      run_window(window);
    } catch (const ModelError& error) {
      throw error.placed(context_.now_, context_.self_);
    }
    if (statistics_.events >= pause) {
      break;
    }
  }
}

// The earliest cut that no rank has passed. The ranks agree on it in a reduction of its own.
void Engine::request_cut() {
  if (!requested_cut_.is_never()) {
    return;
  }
  std::array<std::uint64_t, 1> latest{static_cast<std::uint64_t>(window_end_.ps())};
  communicator_.reduce_max(latest);
  requested_cut_ = SimTime::from_ps(static_cast<std::int64_t>(latest[0]));
  cut_ = std::min(cut_, requested_cut_);
}

void Engine::make_cut(const EngineHooks& hooks, SimTime global_next) {
  pass_boundaries(cut_);
  if (hooks.on_cut) {
    hooks.on_cut(cut_);
  }
  if (requested_cut_ <= cut_) {
    requested_cut_ = SimTime::never();
  }
  move_periodic_cut(global_next);
}

// To the first one after `time`.
void Engine::move_periodic_cut(SimTime time) {
  if (!cut_period_.is_never() && periodic_cut_ <= time) {
    periodic_cut_ += cut_period_ * ((time - periodic_cut_).ps() / cut_period_.ps() + 1);
  }
  cut_ = std::min(requested_cut_, periodic_cut_);
}

void Engine::save(std::uint32_t index, StateWriter& writer) const {
  writer.put(sequences_[index]);
  for (const Component* component : components_) {
    component->save(index, writer);
  }
}

void Engine::restore(std::uint32_t index, StateReader& reader) {
  restored_ = true;
  sequences_[index] = reader.get<std::uint32_t>();
  for (Component* component : components_) {
    component->restore(index, reader);
  }
}

void Engine::save_totals(StateWriter& writer) const {
  writer.put(boundary_period_);
  writer.put(next_boundary_);
  writer.put(boundaries_passed_);
  writer.put(cut_);
  writer.put(last_time_);
  writer.put(statistics_.events);
  for (const Component* component : components_) {
    component->save_totals(writer);
  }
}

void Engine::restore_totals(StateReader& reader, bool count) {
  restored_ = true;
  boundary_period_ = reader.get<SimTime>();
  next_boundary_ = reader.get<SimTime>();
  boundaries_passed_ = reader.get<std::uint32_t>();
  window_end_ = reader.get<SimTime>();
  last_time_ = std::max(last_time_, reader.get<SimTime>());
  const auto events = reader.get<std::uint64_t>();
  if (count) {
    statistics_.events += events;
    for (Component* component : components_) {
      component->add_totals(reader);
    }
  }
}

void Engine::visit_pending(const std::function<void(const Event&)>& visit) const {
  calendar_.visit([&](const Event& pending) {
    Event event = pending;
    event.target = members_[pending.target].value();
    visit(event);
  });
}

void Engine::restore_pending(const Event& event) {
  restored_ = true;
  arrive({&event, 1});
}

void Engine::pass_boundaries(SimTime window_end) {
  while (window_end > next_boundary_) {
    for (Component* component : components_) {
      component->pass_boundary(next_boundary_);
    }
    if (++boundaries_passed_ == boundary_doubling_) {
      boundaries_passed_ = 0;
      boundary_period_ = boundary_period_ * 2;
    }
    next_boundary_ += boundary_period_;
  }
}

void Engine::finish_boundaries(SimTime end) {
  if (!boundary_period_.is_never()) {
    pass_boundaries(end);
  }
}

void Engine::run_window(WindowNumber window) {
  window_ = window;
  window_end_ = calendar_.start_of(window) + calendar_.width();
  if (window_end_ > next_boundary_) [[unlikely]] {
    pass_boundaries(window_end_);
  }
  calendar_.take(window);
  for (Calendar::List list = calendar_.next_list(); list.chunks != nullptr;
       list = calendar_.next_list()) {
    run_list(list);
    calendar_.release(list, chunks_.back());
  }
  ++statistics_.windows;
}

void Engine::run_list(const Calendar::List& list) {
  if (list.chunks->next == nullptr && list.chunks->count == 1) {
    run_lone_event(list.chunks);
    return;
  }
  chunks_.clear();
  std::size_t events = 0;
  for (EventChunk* chunk = list.chunks; chunk != nullptr; chunk = chunk->next) {
    chunks_.push_back(chunk);
    events += chunk->count;
  }
  if (list.bits <= calendar_.block_bits() && events >= (std::size_t{1} << list.bits) / sparsest) {
    run_dense(list, events);
  } else {
    run_sparse(list, events);
  }
}

// Most windows of a sparse machine hold nothing else: there is nothing to sort.
void Engine::run_lone_event(EventChunk* chunk) {
  chunks_.assign(1, chunk);
  const Event* event = chunk->events();
  run_entity(event->target, &event, &event + 1);
}

// Counting sort of the events by target: the counts also say where an entity's events end.
void Engine::run_dense(const Calendar::List& list, std::size_t events) {
  const std::uint32_t targets = 1U << list.bits;
  const std::uint32_t mask = targets - 1;
  std::uint32_t* const places = places_.data();
  std::fill_n(places, targets, 0);
  for (const EventChunk* chunk : chunks_) {
    const Event* const end = chunk->events() + chunk->count;
    for (const Event* event = chunk->events(); event != end; ++event) {
      ++places[event->target & mask];
    }
  }
  std::uint32_t place = 0;
  for (std::uint32_t target = 0; target < targets; ++target) {
    place += std::exchange(places[target], place);
  }
  make_room(sorted_, events);
  const Event** const sorted = sorted_.data();
  for (const EventChunk* chunk : chunks_) {
    const Event* const end = chunk->events() + chunk->count;
    for (const Event* event = chunk->events(); event != end; ++event) {
      sorted[places[event->target & mask]++] = event;
    }
  }
  std::uint32_t begin = 0;
  for (std::uint32_t target = 0; target < targets; ++target) {
    const std::uint32_t end = places[target];
    if (begin != end) {
      run_entity(list.first + target, sorted + begin, sorted + end);
      begin = end;
    }
  }
}

// For lists with few events an entity: sorts keys, which hold the target in the upper half and the
// event's chunk and place in the lower.
void Engine::run_sparse(const Calendar::List& list, std::size_t events) {
  make_room(keys_, events);
  std::size_t at = 0;
  for (std::size_t number = 0; number < chunks_.size(); ++number) {
    const EventChunk& chunk = *chunks_[number];
    const Key place = number << place_bits;
    for (std::uint64_t i = 0; i < chunk.count; ++i) {
      keys_[at++] = Key{chunk.events()[i].target} << 32 | place | i;
    }
  }
  if (events < counting_sort_from) {
    std::sort(keys_.begin(), keys_.end());
  } else {
    sort_keys(list.bits);
  }
  for (std::size_t begin = 0; begin != events;) {
    const auto target = static_cast<std::uint32_t>(keys_[begin] >> 32);
    sorted_.clear();
    std::size_t end = begin;
    for (; end != events && keys_[end] >> 32 == target; ++end) {
      if (events - end > prefetch_distance) {
        __builtin_prefetch(&event_of(keys_[end + prefetch_distance]));
      }
      sorted_.push_back(&event_of(keys_[end]));
    }
    run_entity(target, sorted_.data(), sorted_.data() + sorted_.size());
    begin = end;
  }
}

// Radix sort by the lowest `bits` bits of the target, in digits that suit the number of keys.
void Engine::sort_keys(unsigned bits) {
  const bool few = keys_.size() < places_.size();
  const unsigned widest = few ? few_digit_bits : calendar_.block_bits();
  const unsigned passes = (bits + widest - 1) / widest;
  const unsigned digit_bits = (bits + passes - 1) / passes;
  const std::uint32_t digits = 1U << digit_bits;
  make_room(scratch_, keys_.size());
  for (unsigned shift = 32; shift < 32 + bits; shift += digit_bits) {
    std::fill_n(places_.begin(), digits, 0);
    for (const Key key : keys_) {
      ++places_[(key >> shift) & (digits - 1)];
    }
    std::uint32_t place = 0;
    for (std::uint32_t digit = 0; digit < digits; ++digit) {
      place += std::exchange(places_[digit], place);
    }
    for (const Key key : keys_) {
      scratch_[places_[(key >> shift) & (digits - 1)]++] = key;
    }
    keys_.swap(scratch_);
  }
}

const Event& Engine::event_of(Key key) const {
  const auto place = static_cast<std::uint32_t>(key);
  return chunks_[place >> place_bits]->events()[place & ((1U << place_bits) - 1)];
}

void Engine::handle(const Event& event) {
  context_.now_ = event.time;
  context_.before_ = context_.counted_;
  context_.counted_ = event.time;
  if (observer_ != nullptr) [[unlikely]] {
    observer_->on_event(window_, event);
  }
  components_[event.port.component()]->handle(context_, event);
}

// Those before `limit`, or all.
void Engine::run_self_events(const Event* limit) {
  while (!self_events_.empty() &&
         (limit == nullptr || handled_before(self_events_.front(), *limit))) {
    std::pop_heap(self_events_.begin(), self_events_.end(), HandledLater());
    const Event event = self_events_.back();
    self_events_.pop_back();
    ++statistics_.events;
    handle(event);
  }
}

void Engine::run_entity(std::uint32_t index, const Event** next, const Event** end) {
  context_.index_ = index;
  context_.self_ = members_[index];
  context_.sequence_ = sequences_[index];
  if (end - next > 1) {
    sort_events(next, end);
  }
  statistics_.events += static_cast<std::uint64_t>(end - next);
  for (; next != end; ++next) {
    if (!self_events_.empty()) [[unlikely]] {
      run_self_events(*next);
    }
    handle(**next);
  }
  if (!self_events_.empty()) {
    run_self_events(nullptr);
  }
  sequences_[index] = context_.sequence_;
  last_time_ = std::max(last_time_, context_.counted_);
}

EngineStatistics Engine::statistics() const {
  EngineStatistics statistics = statistics_;
  statistics.batches = policy_->batches_sent();
  statistics.largest_pending = calendar_.largest_size();
  return statistics;
}

EngineMemory Engine::memory() const {
  EngineMemory memory;
  memory.process_bytes = members_.capacity() * sizeof(EntityId) +
                         locator_.capacity() * sizeof(std::int32_t) +
                         sequences_.capacity() * sizeof(std::uint32_t);
  memory.event_bytes =
      calendar_.resident_bytes() + (keys_.capacity() + scratch_.capacity()) * sizeof(Key) +
      sorted_.capacity() * sizeof(Event*) + places_.capacity() * sizeof(std::uint32_t) +
      chunks_.capacity() * sizeof(EventChunk*) + self_events_.capacity() * sizeof(Event);
  return memory;
}

}  // namespace tessera::pdes
