#include "thread_group.hpp"

#include <algorithm>
#include <utility>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"

namespace tessera::comm {

ThreadGroup::ThreadGroup(int ranks, ThreadGroup* whole)
    : boxes_(static_cast<std::size_t>(ranks)),
      offers_(static_cast<std::size_t>(ranks)),
      whole_(whole) {}

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
  ensure(!nobody_runs(), "all ranks wait for each other");
  const std::uint64_t before = completed_;
  progress_.wait(lock, [&] { return completed_ != before || stopped_ || left_ > 0; });
  throw_if_stopped();
  // A call that completed counts, even if a faster rank has ended since.
  ensure(completed_ != before, "a rank has ended while others wait for it in a collective call");
}

void ThreadGroup::post(int target, Batch batch) {
  const std::scoped_lock lock(mutex_);
  throw_if_stopped();
  Box& box = boxes_[static_cast<std::size_t>(target)];
  if (box.wanted == batch.round) {
    box.wanted.reset();
    --starved_;
    box.arrival.notify_one();
  }
  box.batches.push_back(std::move(batch));
}

Batch ThreadGroup::take(int rank, std::uint64_t round, bool all_here) {
  std::unique_lock lock(mutex_);
  Box& box = boxes_[static_cast<std::size_t>(rank)];
  const auto find = [&] {
    return std::ranges::find_if(box.batches, [=](const Batch& b) { return b.round == round; });
  };
  throw_if_stopped();
  auto found = find();
  if (found == box.batches.end()) {
    ensure(!all_here, "more batches are expected than were posted in the round");
    box.wanted = round;
    ++starved_;
    box.arrival.wait(lock, [&] { return !box.wanted || stopped_ || nobody_runs(); });
    throw_if_stopped();
    found = find();
    ensure(found != box.batches.end(), "a batch is expected, but no rank is left to post it");
  }
  Batch batch = std::move(*found);
  box.batches.erase(found);
  return batch;
}

void ThreadGroup::expect_all_taken(int rank, std::uint64_t round) {
  const std::scoped_lock lock(mutex_);
  ensure(std::ranges::none_of(boxes_[static_cast<std::size_t>(rank)].batches,
                              [=](const Batch& batch) { return batch.round <= round; }),
         "a batch of the last round was not received");
}

void ThreadGroup::post_async(int target, Batch batch, bool wakes) {
  Box& box = boxes_[static_cast<std::size_t>(target)];
  {
    const std::scoped_lock lock(mutex_);
    throw_if_stopped();
    box.async.push_back(std::move(batch));
    box.some_async = true;
  }
  if (wakes) {
    box.arrival.notify_one();
  }
}

std::vector<Batch> ThreadGroup::take_async(int rank) {
  Box& box = boxes_[static_cast<std::size_t>(rank)];
  if (!box.some_async && !some_stop_) {
    return {};
  }
  const std::scoped_lock lock(mutex_);
  throw_if_stopped();
  box.some_async = false;
  return std::exchange(box.async, {});
}

void ThreadGroup::await_async(int rank, std::chrono::nanoseconds limit) {
  Box& box = boxes_[static_cast<std::size_t>(rank)];
  std::unique_lock lock(mutex_);
  box.arrival.wait_for(lock, limit, [&] { return !box.async.empty() || stopped_; });
  throw_if_stopped();
}

std::shared_ptr<ThreadGroup> ThreadGroup::make_part(int ranks) {
  auto part = std::make_shared<ThreadGroup>(ranks, this);
  parts_.push_back(part);
  return part;
}

void ThreadGroup::stop(int code) {
  if (whole_ != nullptr) {
    whole_->stop(code);
  } else {
    stop_with_parts(code);
  }
}

void ThreadGroup::stop_with_parts(int code) {
  std::vector<std::weak_ptr<ThreadGroup>> parts;
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) {
      return;
    }
    stopped_ = code;
    some_stop_ = true;
    wake_all();
    parts = parts_;
  }
  for (const std::weak_ptr<ThreadGroup>& part : parts) {
    if (const auto alive = part.lock()) {
      alive->stop_with_parts(code);
    }
  }
}

void ThreadGroup::leave() {
  const std::scoped_lock lock(mutex_);
  ++left_;
  wake_all();
}

void ThreadGroup::wake_all() {
  progress_.notify_all();
  for (Box& box : boxes_) {
    box.arrival.notify_one();
  }
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
    ensure(offer.round == offers_.front().round, "ranks are in different rounds of batches");
  }
}

}  // namespace tessera::comm
