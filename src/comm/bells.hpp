// Ranks of one machine that wake each other.
//
// Each rank has a futex word of its own in memory that all ranks of its machine share. Who has sent
// something to a rank counts its word up, and enters the kernel only if that rank is asleep: some
// nanoseconds else. A sleeper that is woken runs at once even where other programs keep all
// processors busy, unlike one that yields.
//
// A process has one bell, whatever it waits for, and tests after each ring what has come.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "node_memory.hpp"

namespace tessera::comm {

class Bells {
 public:
  // Collective over `ranks`, whose numbers are those of ring(). Without memory to share (a process
  // alone on its machine, a library without it) the rank has a bell that nobody rings.
  explicit Bells(MPI_Comm ranks);
  Bells(const Bells&) = delete;
  Bells& operator=(const Bells&) = delete;

  // Wakes `rank`, or keeps it from falling asleep, if it is on this machine.
  void ring(int rank) {
    Bell* const bell = bells_[static_cast<std::size_t>(rank)];
    if (bell != nullptr) {
      bell->rings.fetch_add(1);
      if (bell->asleep.load() != 0 && bell->asleep.exchange(0) != 0) {
        wake(*bell);
      }
    }
  }
  // Keeps `rank` from falling asleep, if it is on this machine, but does not wake it.
  void leave_word(int rank) {
    Bell* const bell = bells_[static_cast<std::size_t>(rank)];
    if (bell != nullptr) {
      bell->rings.fetch_add(1);
    }
  }
  // How often this rank was rung for. Read it before testing what has come.
  std::uint32_t heard() const { return mine_->rings.load(); }
  // Sleeps until the rings heard are no longer `heard`, or `limit` is over, or for less.
  void sleep(std::uint32_t heard, std::chrono::nanoseconds limit);
  // Whether each of the ranks 0 to `ranks` - 1 rings for this one.
  bool near(int ranks) const;

 private:
  // On cache lines of its own, two as processors fetch pairs. The next to ring and the sleeper
  // agree through the order of their accesses: the one counts and then reads `asleep`, the other
  // sets `asleep` and then (in the kernel) compares the count.
  struct alignas(NodeMemory::alignment) Bell {
    std::atomic<std::uint32_t> rings{0};
    std::atomic<std::uint32_t> asleep{0};
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

  static void wake(Bell& bell);
  void hang_up(MPI_Comm all, MPI_Comm node);

  std::vector<Bell*> bells_;  // by rank; null on other machines
  Bell alone_;
  Bell* mine_ = &alone_;
  std::unique_ptr<NodeMemory> memory_;
};

}  // namespace tessera::comm
