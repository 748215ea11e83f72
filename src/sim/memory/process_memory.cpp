#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

#include "tessera/sim/simulation.hpp"

namespace tessera::sim {

// What `getrusage` says a program takes over from the process that started it, where that had more.
std::uint64_t peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    std::uint64_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %" SCNu64 " kB", &kibibytes) == 1) {
      return kibibytes * 1024;
    }
  }
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
