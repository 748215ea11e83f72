#include "tessera/core/large_pages.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tessera {
namespace {

constexpr std::size_t page = std::size_t{2} << 20;  // bytes, of x86-64 and most of AArch64
constexpr std::size_t fewest_pages = 4;
constexpr std::size_t cache_line = 64;

bool is_large(std::size_t bytes) {
  return bytes >= fewest_pages * page;
}

std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{is_large(bytes) ? page : cache_line};
}

}  // namespace

void* take_large_pages(std::size_t bytes) {
  void* const first = ::operator new(bytes, alignment(bytes));
#ifdef MADV_HUGEPAGE
  if (is_large(bytes)) {
    // The last page may hold something else, too. Refused where the system has no such pages: as
    // good as not asked.
    static_cast<void>(madvise(first, bytes / page * page, MADV_HUGEPAGE));
  }
#endif
  return first;
}

void give_back_large_pages(void* first, std::size_t bytes) noexcept {
  ::operator delete(first, alignment(bytes));
}

}  // namespace tessera
