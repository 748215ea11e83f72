#include "thread_group.hpp"

#include <utility>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"

namespace tessera::comm {

ThreadGroup::ThreadGroup(int ranks)
    : boxes_(static_cast<std::size_t>(ranks)), offers_(static_cast<std::size_t>(ranks)) {}

void ThreadGroup::meet(int rank, const Offer& offer, const Combine& combine) {
  std::unique_lock lock(mutex_);
  throw_if_stopped();
  offers_[static_cast<std::size_t>(rank)] = offer;
  if (++present_ == size()) {
    require_same_call();
    combine(offers_);
    present_ = 0;
    ++completed_;
    progress_.notify_all();
    return;
  }
  const std::uint64_t before = completed_;
  progress_.wait(lock, [&] { return completed_ != before || stopped_ || left_; });
  throw_if_stopped();
  // A call that completed counts, even if a faster rank has ended since.
  ensure(completed_ != before, "a rank has ended while others wait for it in a collective call");
}

void ThreadGroup::post(int target, std::uint64_t round, Batch batch) {
  const std::scoped_lock lock(mutex_);
  throw_if_stopped();
  boxes_[static_cast<std::size_t>(target)][round % 2].push_back(std::move(batch));
}

Batch ThreadGroup::take(int rank, std::uint64_t round) {
  const std::scoped_lock lock(mutex_);
  throw_if_stopped();
  auto& box = boxes_[static_cast<std::size_t>(rank)][round % 2];
  ensure(!box.empty(), "more batches are expected than were posted in the round");
  Batch batch = std::move(box.front());
  box.pop_front();
  return batch;
}

void ThreadGroup::expect_all_taken(int rank, std::uint64_t round) {
  const std::scoped_lock lock(mutex_);
  ensure(boxes_[static_cast<std::size_t>(rank)][round % 2].empty(),
         "a batch of the last round was not received");
}

void ThreadGroup::stop(int code) {
  const std::scoped_lock lock(mutex_);
  if (!stopped_) {
    stopped_ = code;
    progress_.notify_all();
  }
}

void ThreadGroup::leave() {
  const std::scoped_lock lock(mutex_);
  left_ = true;
  progress_.notify_all();
}

void ThreadGroup::throw_if_stopped() const {
  if (stopped_) {
    throw Aborted(*stopped_);
  }
}

void ThreadGroup::require_same_call() const {
  for (const Offer& offer : offers_) {
    ensure(offer.collective == offers_.front().collective,
           "ranks are in different collective calls");
    ensure(offer.length == offers_.front().length,
           "ranks give different lengths or roots to a collective call");
  }
}

}  // namespace tessera::comm
