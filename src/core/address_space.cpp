#include "tessera/core/address_space.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace tessera {

std::uint64_t address_space_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

std::uint64_t mapped_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  return file >> pages ? pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

bool has_addresses(std::uint64_t bytes) {
  if (address_space_limit() == 0) {
    return true;
  }
  void* const place =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) {
    return false;
  }
  munmap(place, bytes);
  return true;
}

}  // namespace tessera
