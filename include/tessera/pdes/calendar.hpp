// The pending-event set: a calendar whose bucket is one window.
//
// Time is cut into windows of the lookahead. Events of the current and the next span of windows lie
// in one bucket a window; later ones, up to as many spans ahead, in one bucket a span, and are
// dealt out when their span comes near; the rest in a heap. Spans and their number grow where many
// events go through the heap. Buckets are lists of fixed chunks from a pool, a bitmap finds the
// next used one: insertion is O(1) but for the far heap, empty stretches cost nothing, and memory
// follows the number of pending events.
//
// A window with many events is split further, one list for each block of neighbouring entities, so
// that a block's events and its entities' state fit the second-level cache together when they are
// handled, and the chunks they leave are written again while still in cache.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/pdes/event.hpp"
#include "tessera/pdes/far_heap.hpp"
#include "tessera/pdes/window_clock.hpp"

namespace tessera::pdes {

// A run of events in one piece of memory; chunks of a bucket form a list, newest first. The events
// follow the head. `count` is set when the list is handed out.
struct EventChunk {
  EventChunk* next = nullptr;
  std::uint64_t count = 0;

  Event* events() { return reinterpret_cast<Event*>(this + 1); }
  const Event* events() const { return reinterpret_cast<const Event*>(this + 1); }
};
static_assert(sizeof(EventChunk) % alignof(Event) == 0);

// Gives and takes back chunks of one size, the last one given back first; memory is returned when
// the pool goes.
class EventChunkPool {
 public:
  explicit EventChunkPool(std::uint32_t capacity)
      : capacity_(capacity), chunk_bytes_(sizeof(EventChunk) + capacity * sizeof(Event)) {}

  // Events that fit into a chunk.
  std::uint32_t capacity() const { return capacity_; }
  EventChunk* take() {
    if (free_ == nullptr) [[unlikely]] {
      grow();
    }
    EventChunk* chunk = free_;
    free_ = chunk->next;
    return chunk;
  }
  // A list of chunks, from its first to its last.
  void give_back(EventChunk* first, EventChunk* last) {
    last->next = free_;
    free_ = first;
  }
  std::size_t resident_bytes() const { return chunks_ * chunk_bytes_; }

 private:
  void grow();

  std::uint32_t capacity_;
  std::size_t chunk_bytes_;
  EventChunk* free_ = nullptr;
  std::size_t chunks_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
};

class Calendar {
 public:
  // Events of a window that go to entities [first, first + 2^bits), in no order.
  struct List {
    EventChunk* chunks = nullptr;
    std::uint32_t first = 0;
    unsigned bits = 0;
  };
  // Events of a chunk never exceed this.
  static constexpr std::uint32_t largest_chunk = 21;  // with the head, 1 KiB

  // `width` > 0: the length of a window. `entities`: targets are below.
  Calendar(SimTime width, std::uint32_t entities);
  ~Calendar() = default;
  Calendar(const Calendar&) = delete;
  Calendar& operator=(const Calendar&) = delete;

  // Entities of a block, as a power of two.
  unsigned block_bits() const { return block_bits_; }
  SimTime width() const { return clock_.width(); }
  WindowNumber window_of(SimTime time) const { return clock_.window_of(time); }
  SimTime start_of(WindowNumber window) const { return clock_.start_of(window); }

  // Inserts an event at `time`, whose window must not be before the last one taken, for entity
  // `target`. `fill` writes all of it, in place where that is possible: an event built elsewhere
  // and copied stalls on its own stores.
  template <class Fill>
  void insert(SimTime time, std::uint32_t target, Fill fill) {
    const WindowNumber window = clock_.window_of(time);
    if (window < near_end_) [[likely]] {
      fill(place(window, target));
    } else {
      Event event;
      fill(event);
      insert_later(event, window);
    }
    ++size_;
  }
  void insert(const Event& event) {
    insert(event.time, event.target, [&](Event& slot) { slot = event; });
  }

  // The earliest window that holds an event; no_window when there is none. Changes nothing: an
  // earlier event may still come in.
  WindowNumber next_window() const {
    if (near_buckets_ == 0) {
      return next_far_window();
    }
    const std::size_t from = static_cast<std::size_t>(last_taken_) & near_mask_;
    const std::size_t found = find_used(near_used_, from);
    return last_taken_ + static_cast<WindowNumber>((found - from) & near_mask_);
  }

  // Takes the events of `window`, which must be next_window(), list by list: the lists that
  // `next_list` gives until its chunks are null, each to be released before the next is asked for.
  // Events for later windows may be inserted meanwhile.
  void take(WindowNumber window) {
    enter(window);
    begin(window);
    taken_ = &near_[slot_of(window)];
    size_ -= taken_->count;
    taken_->count = 0;
    next_block_ = 0;
  }
  // Whether the window taken has a list for each block.
  bool takes_blocks() const { return taken_->is_split; }
  List next_list() {
    if (taken_->is_split) [[unlikely]] {
      return next_block();
    }
    return {hand_out(taken_->list), 0, whole_bits_};
  }
  // Takes the only event of `window`, which must be next_window(), and releases it once `handle`
  // has returned. False where there are more: then the window must be taken next.
  template <class Handle>
  bool take_lone(WindowNumber window, Handle handle) {
    enter(window);
    Bucket& bucket = near_[slot_of(window)];
    if (bucket.count != 1 || bucket.is_split) {
      return false;
    }
    begin(window);
    Event* const event = bucket.list.next - 1;
    EventChunk* const chunk = newest(bucket.list);
    bucket.list.next = nullptr;
    bucket.list.end = nullptr;
    bucket.count = 0;
    --size_;
    handle(static_cast<const Event&>(*event));
    pool_.give_back(chunk, chunk);
    return true;
  }
  // `last` is the last chunk of the list.
  void release(const List& list, EventChunk* last) { pool_.give_back(list.chunks, last); }

  void visit(const std::function<void(const Event&)>& visit) const;

  std::uint64_t size() const { return size_; }
  std::uint64_t largest_size() const { return largest_size_; }
  std::size_t resident_bytes() const;

 private:
  using Bitmap = std::vector<std::uint64_t>;
  // A list that grows: room left in its newest chunk. The chunk is found from its end.
  struct Cursor {
    Event* next = nullptr;
    Event* end = nullptr;
  };
  // The events of one window: in one list or, once there are many, in a list for each block.
  struct Bucket {
    Bucket() : list() {}
    union {
      Cursor list;
      Cursor* table;
    };
    std::uint32_t count = 0;
    bool is_split = false;
  };
  struct FarBucket {
    Cursor list;
    WindowNumber first = no_window;  // earliest window in it
  };

  static void mark(Bitmap& used, std::size_t bucket) {
    used[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
  }
  static void unmark(Bitmap& used, std::size_t bucket) {
    used[bucket / 64] &= ~(std::uint64_t{1} << (bucket % 64));
  }
  // First used bucket at or after `from`, going round once; at least one is used.
  static std::size_t find_used(const Bitmap& used, std::size_t from) {
    const std::size_t mask = used.size() - 1;  // sizes are powers of two
    std::size_t at = from / 64;
    std::uint64_t word = used[at] & (~std::uint64_t{0} << (from % 64));
    while (word == 0) {  // at last the first word again: the part before `from`
      at = (at + 1) & mask;
      word = used[at];
    }
    return at * 64 + static_cast<std::size_t>(std::countr_zero(word));
  }
  WindowNumber next_far_window() const;
  List next_block();
  // Moves the calendar so that `window` has a bucket of its own.
  void enter(WindowNumber window) {
    const WindowNumber span = window >> span_bits_;
    if (span != current_span_) [[unlikely]] {
      enter_span(window);
    }
  }
  // The bucket of `window` is no longer among the used ones.
  void begin(WindowNumber window) {
    largest_size_ = std::max(largest_size_, size_);
    last_taken_ = window;
    unmark(near_used_, slot_of(window));
    --near_buckets_;
  }
  std::size_t slot_of(WindowNumber window) const {
    return static_cast<std::size_t>(window) & near_mask_;
  }

  Event& place(WindowNumber window, std::uint32_t target) {
    const std::size_t slot = slot_of(window);
    Bucket& bucket = near_[slot];
    if (bucket.count++ == 0) {
      mark(near_used_, slot);
      ++near_buckets_;
    }
    if (!bucket.is_split) {
      if (bucket.count <= split_from_) [[likely]] {
        return append(bucket.list);
      }
      split(bucket);
    }
    return append(bucket.table[target >> block_bits_]);
  }
  Event& append(Cursor& list) {
    if (list.next == list.end) [[unlikely]] {
      start_chunk(list);
    }
    return *list.next++;
  }
  void start_chunk(Cursor& list) {
    EventChunk* const fresh = pool_.take();
    fresh->next = newest(list);
    if (fresh->next != nullptr) {
      fresh->next->count = pool_.capacity();
    }
    list = {fresh->events(), fresh->events() + pool_.capacity()};
  }
  EventChunk* newest(const Cursor& list) const {
    return list.end == nullptr ? nullptr
                               : reinterpret_cast<EventChunk*>(list.end - pool_.capacity()) - 1;
  }
  // The chunks of the list, which ends as such.
  EventChunk* hand_out(Cursor& list) const {
    EventChunk* const chunk = newest(list);
    if (chunk != nullptr) {
      chunk->count = pool_.capacity() - static_cast<std::uint64_t>(list.end - list.next);
    }
    list = {};
    return chunk;
  }
  template <class Visit>
  void visit_list(const Cursor& list, const Visit& visit) const;
  void insert_later(const Event& event, WindowNumber window);
  void split(Bucket& bucket);
  Cursor* take_table();
  // Moves the calendar so that the span of `window` is the current one.
  void enter_span(WindowNumber window);
  void deal_out(WindowNumber span);
  // Empties the list, event by event.
  template <class Visit>
  void take_out(Cursor& list, const Visit& visit);
  // Makes four times as many spans of four times as many windows; that of `window` is the current
  // one then. Nothing is there before `window`.
  void lengthen(WindowNumber window);
  std::size_t far_slot(WindowNumber span) const {
    return static_cast<std::size_t>(span) & (far_.size() - 1);
  }

  WindowClock clock_;
  unsigned block_bits_;
  unsigned blocks_;
  unsigned whole_bits_;       // entities of all blocks, as a power of two
  std::uint32_t split_from_;  // events of a window
  unsigned span_bits_;        // windows of a span, as a power of two
  WindowNumber current_span_ = 0;
  WindowNumber near_end_;  // first window without a bucket of its own
  std::size_t near_mask_;
  std::vector<Bucket> near_;
  Bitmap near_used_;
  std::size_t near_buckets_ = 0;  // used
  std::vector<FarBucket> far_;
  Bitmap far_used_;
  std::size_t far_buckets_ = 0;  // used
  FarHeap beyond_;
  std::uint64_t pushed_beyond_ = 0;  // since the wheels last grew
  EventChunkPool pool_;
  std::vector<std::unique_ptr<Cursor[]>> tables_;
  std::vector<Cursor*> free_tables_;
  Bucket* taken_ = nullptr;  // nothing else comes to its place until the next one is taken
  unsigned next_block_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t largest_size_ = 0;
  WindowNumber last_taken_ = 0;
};

}  // namespace tessera::pdes
