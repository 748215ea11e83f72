// The pending-event set: a calendar whose bucket is one window.
//
// Time is cut into windows of the lookahead. Events of the current and the next span of 4096
// windows lie in one bucket a window; later ones, up to 4096 spans ahead, in one bucket a span, and
// are dealt out when their span comes near; the rest in a heap. Buckets are lists of fixed chunks
// from a pool, a bitmap finds the next used one: insertion is O(1) but for the far heap, empty
// stretches cost nothing, and memory follows the number of pending events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::pdes {

using WindowNumber = std::int64_t;
inline constexpr WindowNumber no_window = std::numeric_limits<WindowNumber>::max();

// A run of events in one piece of memory; chunks of a bucket form a list, newest first.
struct EventChunk {
  static constexpr std::uint32_t capacity = 21;  // with the head, 1 KiB
  EventChunk* next = nullptr;
  std::uint32_t count = 0;
  std::uint32_t unused = 0;
  Event events[capacity];
};
static_assert(sizeof(EventChunk) == 1024);

// Gives and takes back chunks; memory is returned when the pool goes.
class EventChunkPool {
 public:
  EventChunk* take();
  void give_back(EventChunk* chunk) {
    chunk->next = free_;
    free_ = chunk;
  }
  std::size_t resident_bytes() const;

 private:
  static constexpr std::size_t slab_chunks = 64;
  EventChunk* free_ = nullptr;
  std::vector<std::unique_ptr<EventChunk[]>> slabs_;
};

class Calendar {
 public:
  // `width` > 0: the length of a window.
  explicit Calendar(SimTime width);
  ~Calendar() = default;
  Calendar(const Calendar&) = delete;
  Calendar& operator=(const Calendar&) = delete;

  SimTime width() const { return width_; }
  WindowNumber window_of(SimTime time) const { return time.ps() / width_.ps(); }
  SimTime start_of(WindowNumber window) const {
    return window == no_window ? SimTime::never() : width_ * window;
  }

  // The event's window must not be before the last one taken.
  void insert(const Event& event) {
    const WindowNumber window = window_of(event.time);
    if (window < near_end_) [[likely]] {
      append(near_[static_cast<std::size_t>(window) % near_.size()], event);
      mark(near_used_, static_cast<std::size_t>(window) % near_.size());
    } else {
      insert_later(event, window);
    }
    ++size_;
  }

  // The earliest window that holds an event; no_window when there is none. Changes nothing: an
  // earlier event may still come in.
  WindowNumber next_window() const;

  // Detaches the events of `window`, which must be next_window(); the caller gives them back with
  // `release` when they were handled.
  EventChunk* take(WindowNumber window);
  void release(EventChunk* list);

  void visit(const std::function<void(const Event&)>& visit) const;

  std::uint64_t size() const { return size_; }
  std::uint64_t largest_size() const { return largest_size_; }
  std::size_t resident_bytes() const;

 private:
  static constexpr std::size_t span_windows = 4096;  // windows a span
  static constexpr std::size_t spans_ahead = 4096;   // spans with a bucket of their own
  using Bitmap = std::vector<std::uint64_t>;

  static void mark(Bitmap& used, std::size_t bucket) {
    used[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
  }
  static void unmark(Bitmap& used, std::size_t bucket) {
    used[bucket / 64] &= ~(std::uint64_t{1} << (bucket % 64));
  }
  // First used bucket at or after `from`, going round once; used.size() * 64 when none is used.
  static std::size_t find_used(const Bitmap& used, std::size_t from);

  void append(EventChunk*& list, const Event& event) {
    if (list == nullptr || list->count == EventChunk::capacity) [[unlikely]] {
      EventChunk* fresh = pool_.take();
      fresh->next = list;
      fresh->count = 0;
      list = fresh;
    }
    list->events[list->count++] = event;
  }
  void insert_later(const Event& event, WindowNumber window);
  // Moves the calendar so that `span` is the current one.
  void enter_span(WindowNumber span);
  void deal_out(WindowNumber span);

  SimTime width_;
  WindowNumber current_span_ = 0;
  WindowNumber near_end_;  // first window without a bucket of its own
  std::vector<EventChunk*> near_;
  Bitmap near_used_;
  std::vector<EventChunk*> far_;
  std::vector<WindowNumber> far_first_;  // earliest window in each used bucket
  Bitmap far_used_;
  std::vector<Event> beyond_;  // heap by time
  EventChunkPool pool_;
  std::uint64_t size_ = 0;
  std::uint64_t largest_size_ = 0;
  WindowNumber last_taken_ = 0;
};

}  // namespace tessera::pdes
