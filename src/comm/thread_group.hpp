// The memory that the ranks of run_ranks_as_threads share.
//
// One lock guards all of it. It is held for handing over a batch or for combining the values of a
// reduction, never for the work of a rank; a rank that waits sleeps on a condition variable.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tessera::comm {

// Which collective call a rank is in; all ranks have to be in the same one.
enum class Collective { reduce_min_sum, reduce_sum, reduce_max, broadcast, gather, barrier, first };

struct Batch {
  int source = 0;
  std::uint64_t round = 0;
  std::vector<std::byte> bytes;
};

class ThreadGroup {
 public:
  explicit ThreadGroup(int ranks, ThreadGroup* whole = nullptr);

  int size() const { return static_cast<int>(offers_.size()); }

  // What a rank brings to a collective call: `length` (a number of elements, or a root) and `round`
  // have to be the same on all ranks, `data` is known to the caller's `combine`.
  struct Offer {
    Collective collective = Collective::barrier;
    std::size_t length = 0;
    void* data = nullptr;
    std::uint64_t round = 0;  // of batches
  };
  using Combine = std::function<void(std::span<const Offer>)>;
  // Runs `combine` once, on the thread of the last rank to come and with the offers of all ranks in
  // rank order, and then lets all go on. Throws Aborted; InternalError when the calls differ, a
  // rank has already ended, or all wait for each other.
  void meet(int rank, const Offer& offer, const Combine& combine);

  // Puts a batch in the box of `target`. Throws Aborted.
  void post(int target, Batch batch);
  // Takes a batch of the ended round `round` from the box of `rank`; waits for it unless
  // `all_here`: the ranks met at the end of the round. Throws Aborted; InternalError when it cannot
  // come.
  Batch take(int rank, std::uint64_t round, bool all_here);
  // Throws InternalError when the box of `rank` still holds a batch of the round `round` or before.
  void expect_all_taken(int rank, std::uint64_t round);

  // Puts an asynchronous batch in the box of `target`; its round means nothing. Throws Aborted.
  void post_async(int target, Batch batch, bool wakes);
  bool has_async(int rank) const { return boxes_[static_cast<std::size_t>(rank)].some_async; }
  // All asynchronous batches in the box of `rank`, those of one source in the order posted. Throws
  // Aborted.
  std::vector<Batch> take_async(int rank);
  // Waits until there is one, but no longer than `limit`. Throws Aborted.
  void await_async(int rank, std::chrono::nanoseconds limit);

  // A group of as many ranks that stops with this one and the other way round. It must not outlive
  // this one. For `combine` of meet().
  std::shared_ptr<ThreadGroup> make_part(int ranks);

  // Makes every waiting or later call of any rank throw Aborted with the code of the first stop, in
  // this group, those it is a part of, and their parts.
  void stop(int code);
  // One rank makes no more calls.
  void leave();

 private:
  // What was posted to a rank and not yet taken.
  struct Box {
    std::deque<Batch> batches;
    std::optional<std::uint64_t> wanted;  // the rank waits for a batch of this round
    std::vector<Batch> async;
    std::atomic<bool> some_async = false;  // for a look without the lock
    std::condition_variable arrival;
  };

  void stop_with_parts(int code);
  void throw_if_stopped() const;
  void require_same_call() const;
  bool nobody_runs() const { return present_ + starved_ + left_ >= size(); }
  void wake_all();

  std::mutex mutex_;
  std::condition_variable progress_;     // a call completed, a rank ended or gave up
  std::vector<Box> boxes_;               // by receiving rank
  std::vector<Offer> offers_;            // by rank, to the current collective call
  int present_ = 0;                      // ranks in the current collective call
  int starved_ = 0;                      // ranks that wait for a batch
  int left_ = 0;                         // ranks that have ended
  std::uint64_t completed_ = 0;          // collective calls
  std::optional<int> stopped_;           // code of the first stop
  std::atomic<bool> some_stop_ = false;  // for a look without the lock
  ThreadGroup* whole_;                   // that this is a part of
  std::vector<std::weak_ptr<ThreadGroup>> parts_;
};

}  // namespace tessera::comm
