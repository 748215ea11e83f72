#include "cost.hpp"

#include <malloc.h>
#include <sys/resource.h>

#include <ctime>
#include <fstream>
#include <string>

namespace tessera::bench {

double CpuClock::seconds() const {
  std::timespec time{};
  clock_gettime(of_thread_ ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void forget_peak_memory() {
  malloc_trim(0);  // what an earlier run freed is not this one's
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::uint64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) {
      return kibibytes * 1024;
    }
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tessera::bench
