#include "tessera/core/large_pages.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdint>

namespace tessera {
namespace {

constexpr std::uintptr_t page = std::uintptr_t{2} << 20;  // bytes, of x86-64 and most of AArch64
constexpr std::uintptr_t fewest_pages = 4;

}  // namespace

void prefer_large_pages(void* first, std::size_t bytes) {
  const auto begin = (reinterpret_cast<std::uintptr_t>(first) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(first) + bytes) / page * page;
  if (end < begin + fewest_pages * page) {
    return;
  }
#ifdef MADV_HUGEPAGE
  // Refused where the system has none: as good as not asked.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#endif
}

}  // namespace tessera
