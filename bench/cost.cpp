#include "cost.hpp"

#include <malloc.h>
#include <sys/resource.h>

#include <ctime>
#include <fstream>
#include <optional>
#include <string>

namespace tessera::bench {
namespace {

// A line of /proc/self/status, given there in KiB.
std::optional<std::uint64_t> status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == name && status >> kibibytes) {
      return kibibytes * 1024;
    }
  }
  return std::nullopt;
}

}  // namespace

double CpuClock::seconds() const {
  std::timespec time{};
  clock_gettime(of_thread_ ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void forget_peak_memory() {
  malloc_trim(0);  // what an earlier run freed is not this one's
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::uint64_t present_memory_bytes() {
  malloc_trim(0);
  return status_bytes("VmRSS:").value_or(0);
}

std::uint64_t peak_memory_bytes() {
  if (const auto bytes = status_bytes("VmHWM:")) {
    return *bytes;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tessera::bench
