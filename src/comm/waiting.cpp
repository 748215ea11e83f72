#include "waiting.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "mpi_support.hpp"

namespace tessera::comm {
namespace {

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

bool node_is_crowded(MPI_Comm communicator) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  int ranks = 0;
  check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
  const bool crowded = ranks > processors_of(node);
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return crowded;
}

void Backoff::pause() {
  constexpr std::uint32_t tests_between_yields = 256;
  constexpr std::uint32_t tests_first = 8;
  constexpr std::uint32_t yields_first = 24;
  constexpr std::int64_t longest_sleep_ns = 200'000;
  ++pauses_;
  if (!crowded_) {
    if (pauses_ % tests_between_yields == 0) {
      sched_yield();
    }
  } else if (pauses_ > tests_first + yields_first) {
    const timespec span{0, sleep_ns_};
    nanosleep(&span, nullptr);
    sleep_ns_ = std::min(2 * sleep_ns_, longest_sleep_ns);
  } else if (pauses_ > tests_first) {
    sched_yield();
  }
}

}  // namespace tessera::comm
