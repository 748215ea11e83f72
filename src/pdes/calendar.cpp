#include "tessera/pdes/calendar.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::pdes {
namespace {

// Events of a chunk, entities of a block as a power of two, and the events for each block from
// which on a window is split into blocks: fewer would leave most of a chunk unused.
struct Sizes {
  std::uint32_t chunk;
  unsigned block_bits;
  std::uint32_t events_a_block;
};
constexpr Sizes sizes_of_large = {Calendar::largest_chunk, 10, 128};
// With few entities half-filled chunks would weigh more than the events.
constexpr std::uint32_t small_machine = 16384;  // entities
constexpr Sizes sizes_of_small = {8, 8, 32};
// Windows a span, and spans with a bucket of their own: a small machine has small tables.
constexpr std::uint32_t fewest_spans = 64;
constexpr std::uint32_t most_spans = 4096;
constexpr std::uint32_t entities_a_span = 64;
// Wheels grow once this many events a window with a bucket of its own went through the heap, since
// growing visits each bucket; and so far, since buckets should stay in the second-level cache.
constexpr std::uint64_t pushes_a_bucket = 4;
constexpr std::uint32_t most_grown_spans = 1024;
constexpr unsigned growth_bits = 2;
constexpr std::size_t smallest_slab = 4;  // chunks
constexpr std::size_t largest_slab = 1024;
constexpr std::size_t slab_share = 128;  // a slab is this part of the chunks there are

const Sizes& sizes_for(std::uint32_t entities) {
  return entities <= small_machine ? sizes_of_small : sizes_of_large;
}

std::uint32_t spans_for(std::uint32_t entities) {
  return std::clamp(std::bit_ceil(entities) / entities_a_span, fewest_spans, most_spans);
}

// Gives the last chunk.
template <class Visit>
EventChunk* visit_chunks(EventChunk* chunks, const Visit& visit) {
  EventChunk* last = nullptr;
  for (EventChunk* chunk = chunks; chunk != nullptr; chunk = chunk->next) {
    std::for_each_n(chunk->events(), chunk->count, visit);
    last = chunk;
  }
  return last;
}

}  // namespace

void EventChunkPool::grow() {
  const std::size_t fresh = std::clamp(chunks_ / slab_share, smallest_slab, largest_slab);
  slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(fresh * chunk_bytes_));
  for (std::size_t i = fresh; i > 0; --i) {
    EventChunk* const chunk = new (&slabs_.back()[(i - 1) * chunk_bytes_]) EventChunk;
    give_back(chunk, chunk);
  }
  chunks_ += fresh;
}

Calendar::Calendar(SimTime width, std::uint32_t entities)
    : clock_(width),
      block_bits_(sizes_for(entities).block_bits),
      blocks_((std::max(entities, 1U) - 1) / (1U << block_bits_) + 1),
      whole_bits_(static_cast<unsigned>(std::bit_width(blocks_ - 1)) + block_bits_),
      split_from_(blocks_ == 1 ? ~0U : blocks_ * sizes_for(entities).events_a_block),
      span_bits_(static_cast<unsigned>(std::countr_zero(spans_for(entities)))),
      near_end_(WindowNumber{2} << span_bits_),
      near_mask_(static_cast<std::size_t>(near_end_) - 1),
      near_(static_cast<std::size_t>(near_end_)),
      near_used_(near_.size() / 64),
      far_(spans_for(entities)),
      far_used_(far_.size() / 64),
      pool_(sizes_for(entities).chunk) {}

void Calendar::insert_later(const Event& event, WindowNumber window) {
  const WindowNumber span = window >> span_bits_;
  if (span < current_span_ + static_cast<WindowNumber>(far_.size())) {
    const std::size_t slot = far_slot(span);
    append(far_[slot].list) = event;
    if (far_[slot].first == no_window) {
      mark(far_used_, slot);
      ++far_buckets_;
    }
    far_[slot].first = std::min(far_[slot].first, window);
  } else {
    beyond_.push(event);
    ++pushed_beyond_;
  }
}

Calendar::Cursor* Calendar::take_table() {
  if (free_tables_.empty()) {
    tables_.push_back(std::make_unique<Cursor[]>(blocks_));
    free_tables_.push_back(tables_.back().get());
  }
  Cursor* const table = free_tables_.back();
  free_tables_.pop_back();
  return table;
}

template <class Visit>
void Calendar::take_out(Cursor& list, const Visit& visit) {
  const List whole{hand_out(list), 0, 0};
  if (EventChunk* const last = visit_chunks(whole.chunks, visit)) {
    release(whole, last);
  }
}

void Calendar::split(Bucket& bucket) {
  Cursor list = bucket.list;
  bucket.table = take_table();
  bucket.is_split = true;
  take_out(list,
           [&](const Event& event) { append(bucket.table[event.target >> block_bits_]) = event; });
}

void Calendar::deal_out(WindowNumber span) {
  const std::size_t slot = far_slot(span);
  far_[slot].first = no_window;
  unmark(far_used_, slot);
  --far_buckets_;
  take_out(far_[slot].list, [&](const Event& event) {
    insert(event);
    --size_;
  });
}

void Calendar::lengthen(WindowNumber window) {
  std::vector<Event> events;
  events.reserve(size_);
  const auto keep = [&](const Event& event) { events.push_back(event); };
  for (Bucket& bucket : near_) {
    if (!bucket.is_split) {
      take_out(bucket.list, keep);
      continue;
    }
    for (unsigned block = 0; block < blocks_; ++block) {
      take_out(bucket.table[block], keep);
    }
    free_tables_.push_back(bucket.table);
  }
  for (FarBucket& bucket : far_) {
    take_out(bucket.list, keep);
  }
  beyond_.visit(keep);
  beyond_ = FarHeap();
  pushed_beyond_ = 0;
  size_ = 0;

  span_bits_ += growth_bits;
  current_span_ = window >> span_bits_;
  near_end_ = (current_span_ + 2) << span_bits_;
  const std::size_t spans = far_.size() << growth_bits;
  near_mask_ = 2 * spans - 1;
  near_.assign(2 * spans, {});
  near_used_.assign(2 * spans / 64, 0);
  near_buckets_ = 0;
  far_.assign(spans, {});
  far_used_.assign(spans / 64, 0);
  far_buckets_ = 0;
  for (const Event& event : events) {
    insert(event);
  }
}

void Calendar::enter_span(WindowNumber window) {
  if (pushed_beyond_ >= pushes_a_bucket * near_.size() && far_.size() < most_grown_spans) {
    lengthen(window);
    return;
  }
  const WindowNumber span = window >> span_bits_;
  const WindowNumber before = current_span_;
  current_span_ = span;
  near_end_ = (span + 2) << span_bits_;
  // Spans that now have buckets of their own, and had none before.
  for (WindowNumber s = std::max(before + 2, span); s < span + 2; ++s) {
    if (far_[far_slot(s)].first != no_window) {
      deal_out(s);
    }
  }
  while (!beyond_.is_empty() && window_of(beyond_.first_time()) < near_end_) {
    insert(beyond_.first());
    beyond_.pop();
    --size_;
  }
}

WindowNumber Calendar::next_far_window() const {
  WindowNumber next = beyond_.is_empty() ? no_window : window_of(beyond_.first_time());
  if (far_buckets_ > 0) {
    next = std::min(next, far_[find_used(far_used_, far_slot(current_span_ + 2))].first);
  }
  return next;
}

Calendar::List Calendar::next_block() {
  for (; next_block_ < blocks_; ++next_block_) {
    if (EventChunk* const list = hand_out(taken_->table[next_block_])) {
      return {list, next_block_ << block_bits_, block_bits_};
    }
  }
  free_tables_.push_back(taken_->table);
  *taken_ = Bucket{};
  return {};
}

template <class Visit>
void Calendar::visit_list(const Cursor& list, const Visit& visit) const {
  if (EventChunk* const chunk = newest(list)) {
    std::for_each(chunk->events(), list.next, visit);
    visit_chunks(chunk->next, visit);
  }
}

void Calendar::visit(const std::function<void(const Event&)>& visit) const {
  for (const Bucket& bucket : near_) {
    if (!bucket.is_split) {
      visit_list(bucket.list, visit);
      continue;
    }
    for (unsigned block = 0; block < blocks_; ++block) {
      visit_list(bucket.table[block], visit);
    }
  }
  for (const FarBucket& bucket : far_) {
    visit_list(bucket.list, visit);
  }
  beyond_.visit(visit);
}

std::size_t Calendar::resident_bytes() const {
  return pool_.resident_bytes() + near_.size() * sizeof(Bucket) + far_.size() * sizeof(FarBucket) +
         tables_.size() * blocks_ * sizeof(Cursor) + beyond_.resident_bytes();
}

}  // namespace tessera::pdes
