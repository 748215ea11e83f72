#include "waiting.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "mpi/support.hpp"

namespace tessera::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// docs/design/0019-waiting.md has the measurements.
constexpr nanoseconds spin_near = microseconds(200);
constexpr nanoseconds spin_far = microseconds(1000);
// Of sleeps that are not ended by a bell.
constexpr nanoseconds sleep_hurried = microseconds(50);
constexpr nanoseconds sleep_far = microseconds(5);
constexpr nanoseconds sleep_near = microseconds(1000);
constexpr nanoseconds longest_of_all = microseconds(10'000);
// A sleep takes at most this part of the wait so far.
constexpr int part_slept = 8;

// Processors in the masks of all ranks of `node` together.
int processors_of(MPI_Comm node) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int known = sched_getaffinity(0, sizeof mask, &mask) == 0 ? 1 : 0;
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, &mask, static_cast<int>(sizeof mask), MPI_BYTE, MPI_BOR, node),
      "MPI_Allreduce");
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  // A node with more processors than a cpu_set_t holds (1024) refuses to tell its mask.
  return known != 0 ? CPU_COUNT(&mask) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

NodeShare share_of_node(MPI_Comm communicator) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  NodeShare share;
  check_mpi(MPI_Comm_size(node, &share.ranks), "MPI_Comm_size");
  share.processors = processors_of(node);
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return share;
}

bool Wait::spins() {
  now_ = Clock::now();
  if (begin_ == Clock::time_point()) {
    begin_ = now_;
  }
  const std::uint32_t heard = bells_.heard();
  if (heard != heard_) {
    heard_ = heard;
    tests_ = 0;
  }
  ++tests_;
  return tests_ < tests_of_news ||
         (!surroundings_.crowded && waited() < (surroundings_.near ? spin_near : spin_far));
}

void Wait::sleep(std::chrono::nanoseconds limit, bool hurried) {
  bells_.sleep(heard_, std::min(limit, longest_sleep(hurried)));
  heard_ = bells_.heard();
  tests_ = 0;
}

std::chrono::nanoseconds Wait::longest_sleep(bool hurried) const {
  if (hurried) {
    return sleep_hurried;
  }
  return std::clamp(waited() / part_slept, surroundings_.near ? sleep_near : sleep_far,
                    longest_of_all);
}

}  // namespace tessera::comm
