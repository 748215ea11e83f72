// Arrays that are looked into at random, on large pages.
#pragma once

#include <cstddef>
#include <vector>

namespace tessera {

// Asks the system to put memory that nobody has touched yet on large pages, where it has such and
// the piece is large enough to gain by them (some pages' worth). A hint: it never fails.
void prefer_large_pages(void* first, std::size_t bytes);

// Makes an empty vector `size` long. Where each entity of a large machine has its state in such an
// array, nearly every access would else need the address of another small page.
template <class T>
void make_on_large_pages(std::vector<T>& values, std::size_t size) {
  values.reserve(size);
  prefer_large_pages(values.data(), size * sizeof(T));
  values.resize(size);
}

}  // namespace tessera
