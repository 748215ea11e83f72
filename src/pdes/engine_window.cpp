// The events of one window: sorted by entity, and each entity's handled in order.
#include <algorithm>
#include <bit>
#include <utility>

#include "tessera/pdes/engine.hpp"

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

void Engine::enqueue_now(const Event& event) {
  self_events_.push_back(event);
  std::push_heap(self_events_.begin(), self_events_.end(), HandledLater());
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

}  // namespace tessera::pdes
