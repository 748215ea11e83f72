#include "scheduling.hpp"

#include <dlfcn.h>
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

constexpr const char* yield_variable = "OMPI_MCA_mpi_yield_when_idle";
using SetYields = bool (*)(bool);

// Of the library that the process has; nullptr: it has none, or the user has chosen.
SetYields set_yields = nullptr;

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

void prepare_mpi_yields() {
  if (std::getenv(yield_variable) != nullptr) {
    return;
  }
  set_yields =
      reinterpret_cast<SetYields>(dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle"));
  if (set_yields == nullptr) {
    setenv(yield_variable, "0", 0);
  }
}

bool set_mpi_yields(bool yields) {
  return set_yields != nullptr && set_yields(yields);
}

}  // namespace tessera::comm
