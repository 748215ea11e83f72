#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "tessera/sim/simulation.hpp"

namespace tessera::sim {

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  if (!(file >> total >> resident)) {
    return peak_resident_bytes();
  }
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tessera::sim
