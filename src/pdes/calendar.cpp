#include "tessera/pdes/calendar.hpp"

#include <algorithm>
#include <bit>

#include "tessera/core/error.hpp"

namespace tessera::pdes {
namespace {

bool later(const Event& a, const Event& b) {
  return a.time > b.time;
}

}  // namespace

EventChunk* EventChunkPool::take() {
  if (free_ == nullptr) {
    slabs_.push_back(std::make_unique_for_overwrite<EventChunk[]>(slab_chunks));
    for (std::size_t i = slab_chunks; i > 0; --i) {
      give_back(&slabs_.back()[i - 1]);
    }
  }
  EventChunk* chunk = free_;
  free_ = chunk->next;
  return chunk;
}

std::size_t EventChunkPool::resident_bytes() const {
  return slabs_.size() * slab_chunks * sizeof(EventChunk);
}

Calendar::Calendar(SimTime width)
    : width_(width),
      near_end_(2 * static_cast<WindowNumber>(span_windows)),
      near_(2 * span_windows),
      near_used_(2 * span_windows / 64),
      far_(spans_ahead),
      far_first_(spans_ahead, no_window),
      far_used_(spans_ahead / 64) {
  ensure(width > SimTime::zero(), "a calendar needs windows of some length");
}

std::size_t Calendar::find_used(const Bitmap& used, std::size_t from) {
  const std::size_t words = used.size();
  const std::size_t first = from / 64;
  std::uint64_t word = used[first] & (~std::uint64_t{0} << (from % 64));
  for (std::size_t step = 0; step <= words; ++step) {
    const std::size_t at = (first + step) % words;
    if (step > 0) {
      word = used[at];
    }
    if (step == words) {  // round again: the part of the first word before `from`
      word &= ~(~std::uint64_t{0} << (from % 64));
    }
    if (word != 0) {
      return at * 64 + static_cast<std::size_t>(std::countr_zero(word));
    }
  }
  return words * 64;
}

void Calendar::insert_later(const Event& event, WindowNumber window) {
  const WindowNumber span = window / static_cast<WindowNumber>(span_windows);
  if (span < current_span_ + static_cast<WindowNumber>(spans_ahead)) {
    const std::size_t bucket = static_cast<std::size_t>(span) % spans_ahead;
    append(far_[bucket], event);
    far_first_[bucket] = std::min(far_first_[bucket], window);
    mark(far_used_, bucket);
  } else {
    beyond_.push_back(event);
    std::push_heap(beyond_.begin(), beyond_.end(), later);
  }
}

void Calendar::deal_out(WindowNumber span) {
  const std::size_t bucket = static_cast<std::size_t>(span) % spans_ahead;
  EventChunk* list = far_[bucket];
  far_[bucket] = nullptr;
  far_first_[bucket] = no_window;
  unmark(far_used_, bucket);
  while (list != nullptr) {
    for (std::uint32_t i = 0; i < list->count; ++i) {
      insert(list->events[i]);
      --size_;
    }
    EventChunk* const next = list->next;
    pool_.give_back(list);
    list = next;
  }
}

void Calendar::enter_span(WindowNumber span) {
  const WindowNumber before = current_span_;
  current_span_ = span;
  near_end_ = (span + 2) * static_cast<WindowNumber>(span_windows);
  // Spans that now have buckets of their own, and had none before.
  for (WindowNumber s = std::max(before + 2, span); s < span + 2; ++s) {
    deal_out(s);
  }
  const WindowNumber horizon = span + static_cast<WindowNumber>(spans_ahead);
  while (!beyond_.empty() &&
         window_of(beyond_.front().time) / static_cast<WindowNumber>(span_windows) < horizon) {
    std::pop_heap(beyond_.begin(), beyond_.end(), later);
    const Event event = beyond_.back();
    beyond_.pop_back();
    insert(event);
    --size_;
  }
}

WindowNumber Calendar::next_window() const {
  if (size_ == 0) {
    return no_window;
  }
  const std::size_t from = static_cast<std::size_t>(last_taken_) % near_.size();
  const std::size_t found = find_used(near_used_, from);
  if (found < near_.size()) {
    return last_taken_ + static_cast<WindowNumber>((found + near_.size() - from) % near_.size());
  }
  const std::size_t bucket =
      find_used(far_used_, static_cast<std::size_t>(current_span_ + 2) % spans_ahead);
  return bucket < spans_ahead ? far_first_[bucket] : window_of(beyond_.front().time);
}

EventChunk* Calendar::take(WindowNumber window) {
  largest_size_ = std::max(largest_size_, size_);
  last_taken_ = window;
  const WindowNumber span = window / static_cast<WindowNumber>(span_windows);
  if (span != current_span_) {
    enter_span(span);
  }
  const std::size_t bucket = static_cast<std::size_t>(window) % near_.size();
  EventChunk* list = near_[bucket];
  near_[bucket] = nullptr;
  unmark(near_used_, bucket);
  for (const EventChunk* chunk = list; chunk != nullptr; chunk = chunk->next) {
    size_ -= chunk->count;
  }
  return list;
}

void Calendar::release(EventChunk* list) {
  while (list != nullptr) {
    EventChunk* const next = list->next;
    pool_.give_back(list);
    list = next;
  }
}

void Calendar::visit(const std::function<void(const Event&)>& visit) const {
  for (const std::vector<EventChunk*>* ring : {&near_, &far_}) {
    for (const EventChunk* list : *ring) {
      for (const EventChunk* chunk = list; chunk != nullptr; chunk = chunk->next) {
        std::for_each_n(chunk->events, chunk->count, visit);
      }
    }
  }
  std::ranges::for_each(beyond_, visit);
}

std::size_t Calendar::resident_bytes() const {
  return pool_.resident_bytes() + (near_.size() + far_.size()) * sizeof(EventChunk*) +
         far_first_.size() * sizeof(WindowNumber) + beyond_.capacity() * sizeof(Event);
}

}  // namespace tessera::pdes
