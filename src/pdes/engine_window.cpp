// The events of one window: sorted by entity, and each entity's handled in order.
#include <algorithm>
#include <bit>
#include <utility>

#include "tessera/core/cache.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::pdes {
namespace {

// A list with fewer events than this part of its entities is sorted by keys.
constexpr std::size_t sparsest = 8;
// Up to so many events an entity's are found by a hash table, which fits the first-level cache.
constexpr std::size_t most_scattered = 1024;
constexpr unsigned word_bits = 32;
constexpr std::uint32_t golden_ratio = 0x9E3779B9U;  // of 2^32: Knuth, TAOCP 3, section 6.4
constexpr std::uint32_t nobody = 0xFFFFFFFFU;
// Events ahead of the one being handled whose entities' state is called into cache, and further
// ahead the events themselves.
constexpr std::size_t state_distance = 8;
constexpr std::size_t event_distance = 2 * state_distance;
// Still further ahead their state is prefetched in long lists, which costs no time where the
// processor looks up pages for that; a load is held up until it is there, and all behind it.
constexpr std::size_t prefetch_distance = 2 * state_distance;
// Lists whose events touch fewer lines of cache have nothing to hide loads behind but each other:
// a processor has most of them under way at once.
constexpr std::size_t fewest_lines_prefetched = 120;
// State of all entities, beyond which an event most often finds its own in memory.
constexpr std::size_t state_in_cache = std::size_t{16} << 20;
// State of all entities that a core has in its own cache.
constexpr std::size_t state_in_own_cache = std::size_t{256} << 10;
// Of a key, for the place in a chunk.
constexpr unsigned place_bits = std::bit_width(Calendar::largest_chunk);
// An entity's events are sorted by insertion up to here.
constexpr std::ptrdiff_t insertion_sort_to = 16;

[[gnu::noinline]] void sort_events(const Event** begin, const Event** end) {
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

template <class T>
void make_larger(std::vector<T>& values, std::size_t size) {
  if (values.size() < size) [[unlikely]] {
    make_room(values, size);
  }
}

}  // namespace

// Of a component's own array, then of those attached before it, which it hands its work to. What is
// left over gets an address that is in cache anyway.
void Engine::find_state_lines() {
  constexpr std::size_t cache_line = 64;
  const auto* const here = reinterpret_cast<const unsigned char*>(this);
  std::size_t bytes = 0;       // of an entity's state
  std::size_t most_lines = 1;  // also of a component that does not say where its state is
  for (std::size_t number = 0; number < components_.size(); ++number) {
    bytes += components_[number]->state_array().bytes;
    auto& lines = state_lines_[number];
    lines.fill({here, 0});
    auto line = lines.begin();
    for (std::size_t other = number + 1; other-- > 0;) {
      const StateArray array = components_[other]->state_array();
      const auto* const first = static_cast<const unsigned char*>(array.first);
      for (std::size_t at = 0; at < array.bytes && at < 2 * cache_line && line != lines.end();
           at += cache_line) {
        *line++ = {first + at, array.bytes};
      }
    }
    most_lines = std::max(most_lines, static_cast<std::size_t>(line - lines.begin()));
  }
  shortest_prefetched_ = std::max(prefetch_distance, fewest_lines_prefetched / (1 + most_lines));
  is_large_ = bytes * processes_.size() > state_in_cache;
  is_small_ = (bytes + sizeof(Process)) * processes_.size() <= state_in_own_cache;
}

// Gives the last chunk of the list.
EventChunk* Engine::run_list(const Calendar::List& list) {
  chunks_.clear();
  std::size_t events = 0;
  for (EventChunk* chunk = list.chunks; chunk != nullptr; chunk = chunk->next) {
    chunks_.push_back(chunk);
    events += chunk->count;
  }
  if (list.bits <= calendar_.block_bits() && events >= (std::size_t{1} << list.bits) / sparsest) {
    run_dense(list, events);
  } else if (events <= most_scattered) {
    run_scattered(events);
  } else {
    run_sparse(list, events);
  }
  return chunks_.back();
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
      if (events - begin > event_distance) {
        call_into_cache(sorted[begin + event_distance]);
        if (!is_small_) {
          load_ahead(*sorted[begin + state_distance]);
        }
      }
      run_entity(list.first + target, sorted + begin, sorted + end);
      begin = end;
    }
  }
}

// For short lists among many entities: the order of the entities is of no effect, so that their
// events need to be found, not sorted.
// Inlined to the last call before the model's: most windows of real experiments come here.
[[gnu::flatten]] void Engine::run_scattered(std::size_t events) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(events)) + 1;
  make_larger(slots_, std::size_t{1} << bits);
  make_larger(linked_, events);
  std::fill_n(slots_.begin(), std::size_t{1} << bits, std::uint16_t{0});
  std::uint32_t at = 0;
  for (const EventChunk* chunk : chunks_) {
    const Event* const end = chunk->events() + chunk->count;
    for (const Event* event = chunk->events(); event != end; ++event) {
      linked_[at] = {event, nobody, at};
      link(at++, bits);
    }
  }
  // All at once, so that many are under way together, or on the way through a long list.
  const bool is_long = events >= shortest_prefetched_;
  const std::size_t at_once = is_long ? prefetch_distance : events;
  for (at = 0; at < at_once; ++at) {
    load_ahead(*linked_[at].event);
  }
  for (at = 0; at < events; ++at) {
    if (is_long && events - at > prefetch_distance) {
      const Event& event = *linked_[at + prefetch_distance].event;
      prefetch_state(event.target, event.port);
      load_ahead(*linked_[at + state_distance].event);
    }
    if (linked_[at].last != nobody) {
      run_linked(at);
    }
  }
}

// To the events of its entity; `bits`: of the slots.
void Engine::link(std::uint32_t at, unsigned bits) {
  std::uint16_t* const slots = slots_.data();
  Linked* const linked = linked_.data();
  const std::uint32_t target = linked[at].event->target;
  const std::uint32_t mask = (1U << bits) - 1;
  std::uint32_t slot = target * golden_ratio >> (word_bits - bits);
  for (; slots[slot] != 0; slot = (slot + 1) & mask) {
    Linked& first = linked[slots[slot] - 1U];
    if (first.event->target == target) {
      linked[first.last].next = at;
      first.last = at;
      linked[at].last = nobody;
      return;
    }
  }
  slots[slot] = static_cast<std::uint16_t>(at + 1);
}

// The events of one entity.
void Engine::run_linked(std::uint32_t first) {
  Linked& alone = linked_[first];
  const std::uint32_t target = alone.event->target;
  if (alone.next == nobody) [[likely]] {
    run_lone(*alone.event);
    return;
  }
  sorted_.clear();
  for (std::uint32_t at = first; at != nobody; at = linked_[at].next) {
    sorted_.push_back(linked_[at].event);
  }
  run_entity(target, sorted_.data(), sorted_.data() + sorted_.size());
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
  sort_keys(list.bits);
  const auto look_ahead = [&](std::size_t from) {
    if (events - from > 2 * prefetch_distance) {
      prefetch(&event_of(keys_[from + 2 * prefetch_distance]));
    }
    if (events - from > prefetch_distance) {
      const Event& event = event_of(keys_[from + prefetch_distance]);
      prefetch_state(event.target, event.port);
      load_ahead(event_of(keys_[from + state_distance]));
    }
  };
  for (std::size_t begin = 0; begin != events;) {
    const Key target = keys_[begin] >> 32;
    look_ahead(begin);
    std::size_t end = begin + 1;
    if (end == events || keys_[end] >> 32 != target) [[likely]] {
      run_lone(event_of(keys_[begin]));
      begin = end;
      continue;
    }
    sorted_.assign(1, &event_of(keys_[begin]));
    for (; end != events && keys_[end] >> 32 == target; ++end) {
      look_ahead(end);
      sorted_.push_back(&event_of(keys_[end]));
    }
    run_entity(static_cast<std::uint32_t>(target), sorted_.data(), sorted_.data() + sorted_.size());
    begin = end;
  }
}

// Radix sort by the lowest `bits` bits of the target.
void Engine::sort_keys(unsigned bits) {
  const unsigned widest = calendar_.block_bits();
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

// What handling an event touches.
void Engine::load_ahead(const Event& event) {
  call_into_cache(&processes_[event.target]);
  for (const StateLine& line : state_lines_[event.port.component()]) {
    call_into_cache(line.first + event.target * line.stride);
  }
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
  statistics_.events += self_events_.run(limit, [this](const Event& event) { handle(event); });
}

void Engine::enter(std::uint32_t index) {
  context_.index_ = index;
  context_.self_ = processes_[index].entity;
  context_.sequence_ = processes_[index].sequence;
}

void Engine::leave(std::uint32_t index) {
  if (!self_events_.is_empty()) {
    run_self_events(nullptr);
  }
  processes_[index].sequence = context_.sequence_;
  last_time_ = std::max(last_time_, context_.counted_);
  last_handled_ = std::max(last_handled_, context_.now_);
}

void Engine::run_lone(const Event& event) {
  const std::uint32_t index = event.target;
  enter(index);
  ++statistics_.events;
  handle(event);
  leave(index);
}

void Engine::run_entity(std::uint32_t index, const Event** next, const Event** end) {
  enter(index);
  if (end - next > 1) {
    sort_events(next, end);
  }
  statistics_.events += static_cast<std::uint64_t>(end - next);
  for (; next != end; ++next) {
    if (!self_events_.is_empty()) [[unlikely]] {
      run_self_events(*next);
    }
    handle(**next);
  }
  leave(index);
}

}  // namespace tessera::pdes
