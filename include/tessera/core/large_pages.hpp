// Arrays that are looked into at random, on large pages.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace tessera {

// Memory that begins with a cache line, and with a large page where it spans some: then the system
// is asked for such pages, which it may refuse. Throws std::bad_alloc.
void* take_large_pages(std::size_t bytes);
void give_back_large_pages(void* first, std::size_t bytes) noexcept;

template <class T>
struct LargePageAllocator {
  using value_type = T;
  LargePageAllocator() = default;
  template <class Other>
  // NOLINTNEXTLINE(google-explicit-constructor): allocators convert.
  explicit(false) LargePageAllocator(const LargePageAllocator<Other>& /*same*/) {}
  T* allocate(std::size_t count) { return static_cast<T*>(take_large_pages(count * sizeof(T))); }
  void deallocate(T* first, std::size_t count) noexcept {
    give_back_large_pages(first, count * sizeof(T));
  }
  friend bool operator==(LargePageAllocator, LargePageAllocator) { return true; }
};

// Where each entity of a large machine has its state in an array, nearly every access would else
// need the address of another small page, and state of 32 bytes might lie across two cache lines.
template <class T>
using LargePageVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace tessera
