// The memory that the ranks of run_ranks_as_threads share.
//
// One lock guards all of it. It is held for handing over a batch or for combining the values of a
// reduction, never for the work of a rank; a rank that waits sleeps on a condition variable.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tessera::comm {

// Which collective call a rank is in; all ranks have to be in the same one.
enum class Collective { reduce_min_sum, reduce_sum, reduce_max, broadcast, gather, barrier };

struct Batch {
  int source = 0;
  std::vector<std::byte> bytes;
};

class ThreadGroup {
 public:
  explicit ThreadGroup(int ranks);

  int size() const { return static_cast<int>(offers_.size()); }

  // What a rank brings to a collective call: `length` (a number of elements, or a root) has to be
  // the same on all ranks, `data` is known to the caller's `combine`.
  struct Offer {
    Collective collective = Collective::barrier;
    std::size_t length = 0;
    void* data = nullptr;
  };
  using Combine = std::function<void(std::span<const Offer>)>;
  // Runs `combine` once, on the thread of the last rank to come and with the offers of all ranks in
  // rank order, and then lets all go on. Throws Aborted; InternalError when the calls differ or a
  // rank has already ended.
  void meet(int rank, const Offer& offer, const Combine& combine);

  // Puts a batch of round `round` in the box of `target`. Throws Aborted.
  void post(int target, std::uint64_t round, Batch batch);
  // Takes a batch of the ended round `round` from the box of `rank`. It never waits: all ranks
  // posted theirs before the reduction that ended the round. Throws Aborted; InternalError when the
  // box is empty.
  Batch take(int rank, std::uint64_t round);
  // Throws InternalError when the box of `rank` still holds a batch of the ended round `round`.
  void expect_all_taken(int rank, std::uint64_t round);

  // Makes every waiting or later call of any rank throw Aborted with the code of the first stop.
  void stop(int code);
  // One rank makes no more calls.
  void leave();

 private:
  // By parity of the round. Two rounds at most have batches: a rank posts round r+1 only after the
  // reduction of round r, which no rank enters before it has received round r-1.
  using Boxes = std::array<std::deque<Batch>, 2>;

  void throw_if_stopped() const;
  void require_same_call() const;

  std::mutex mutex_;
  std::condition_variable progress_;  // a call completed, a rank ended or gave up
  std::vector<Boxes> boxes_;          // by receiving rank
  std::vector<Offer> offers_;         // by rank, to the current collective call
  int present_ = 0;                   // ranks in the current collective call
  std::uint64_t completed_ = 0;       // collective calls
  bool left_ = false;                 // some rank has ended
  std::optional<int> stopped_;        // code of the first stop
};

}  // namespace tessera::comm
