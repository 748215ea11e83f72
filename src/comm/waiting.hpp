// How a rank waits for others without taking the processor from them.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>

#include "bells.hpp"

namespace tessera::comm {

struct NodeShare {
  int ranks = 1;
  int processors = 1;
};

// Ranks of `communicator` on this node, and processors that they may use: those in the affinity
// mask of at least one of them, as a launcher may bind each rank to its own. Limits of processor
// time (a container's quota) are not seen. Collective.
NodeShare share_of_node(MPI_Comm communicator);

// A probe of Open MPI looks first, and then takes in what has come: only the next one sees it. So
// it takes as many probes to know that nothing is here.
inline constexpr std::uint32_t tests_of_news = 2;

// What is known of those that a rank waits for.
struct Surroundings {
  bool crowded = false;  // more ranks than processors
  bool near = false;     // all ring the bell of this rank when they send something
};

// One wait. Make it before the first test, and call `spins` after each test that found nothing;
// when it says no, `sleep`.
//
// With a processor for each rank it spins first, as the answer is mostly microseconds away. On a
// crowded node it sleeps at once: the rank waited for needs the processor. It is woken by the bell.
// MPI works in calls only, and ranks of other machines do not ring, so that no sleep is long: those
// of a wait begin short and grow with it.
class Wait {
 public:
  using Clock = std::chrono::steady_clock;

  Wait(Bells& bells, Surroundings surroundings)
      : bells_(bells), surroundings_(surroundings), heard_(bells.heard()) {}

  // Whether to test again at once.
  bool spins();
  // Gives the processor away for at most `limit`. `hurried`: MPI has work that nobody rings for,
  // such as parts of large messages.
  void sleep(std::chrono::nanoseconds limit, bool hurried);
  // Since the first test that found nothing.
  std::chrono::nanoseconds waited() const { return now_ - begin_; }

 private:
  std::chrono::nanoseconds longest_sleep(bool hurried) const;

  Bells& bells_;
  Surroundings surroundings_;
  std::uint32_t heard_;
  std::uint32_t tests_ = 0;  // that found nothing, since the last ring or sleep
  Clock::time_point begin_;
  Clock::time_point now_;
};

}  // namespace tessera::comm
