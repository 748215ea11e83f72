// How a rank waits for others without taking the processor from them.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace tessera::comm {

// Whether this node has more ranks of `communicator` than processors that they may use: those in
// the affinity mask of at least one of them, as a launcher may bind each rank to its own. Limits of
// processor time (a container's quota) are not seen. Collective.
bool node_is_crowded(MPI_Comm communicator);

// One wait. Call `pause` after each test that found nothing to do.
//
// With a processor for each rank it spins, as the answer is mostly microseconds away, and yields
// now and then for the sake of other programs. On a crowded node it tests a few times, then yields,
// then sleeps for 5 us, doubling up to 200 us: the rank waited for needs the processor.
//
// Yields before sleeps are a choice for a machine of our own: with 8 ranks on 2 cores a reduction
// was measured at 20 to 65 us, against 500 to 830 us when sleeping at once. Where other programs
// keep all processors busy it is the other way round (some ms against 0.3 ms, as each yield gives
// away a time slice).
class Backoff {
 public:
  explicit Backoff(bool crowded) : crowded_(crowded) {}
  void pause();

 private:
  bool crowded_;
  std::uint32_t pauses_ = 0;
  std::int64_t sleep_ns_ = 5'000;
};

}  // namespace tessera::comm
