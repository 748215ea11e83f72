#include "scheduling.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace tessera::comm {
namespace {

// The first version of struct sched_attr, which C libraries before glibc 2.41 do not declare.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
};
static_assert(sizeof(SchedulingAttributes) == 48);

// The least that Linux grants [ns].
constexpr std::uint64_t shortest_slice = 100'000;
constexpr std::uint32_t policy_of_everyone = 0;  // SCHED_OTHER

}  // namespace

void ask_for_short_slices() {
  SchedulingAttributes attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != policy_of_everyone) {
    return;
  }
  attributes.runtime = shortest_slice;
  syscall(SYS_sched_setattr, 0, &attributes, 0);  // a wish; refused, it makes no difference
}

void keep_mpi_from_yielding() {
  setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
}

}  // namespace tessera::comm
