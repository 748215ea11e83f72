// Iteration over what answers by number, without a place in memory for each answer.
#pragma once

#include <cstddef>
#include <iterator>

namespace tessera {

// Of a container with `operator[]` that returns a value.
template <class Container>
class IndexIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Container::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = value_type;

  IndexIterator() = default;
  IndexIterator(const Container& container, std::size_t at) : container_(&container), at_(at) {}

  value_type operator*() const { return (*container_)[at_]; }
  value_type operator[](difference_type step) const { return *(*this + step); }
  IndexIterator& operator++() { return *this += 1; }
  IndexIterator& operator--() { return *this += -1; }
  IndexIterator operator++(int) {
    const IndexIterator before = *this;
    ++*this;
    return before;
  }
  IndexIterator operator--(int) {
    const IndexIterator before = *this;
    --*this;
    return before;
  }
  IndexIterator& operator+=(difference_type step) {
    at_ += static_cast<std::size_t>(step);
    return *this;
  }
  IndexIterator& operator-=(difference_type step) { return *this += -step; }
  friend IndexIterator operator+(IndexIterator from, difference_type step) { return from += step; }
  friend IndexIterator operator+(difference_type step, IndexIterator from) { return from += step; }
  friend IndexIterator operator-(IndexIterator from, difference_type step) { return from -= step; }
  friend difference_type operator-(const IndexIterator& a, const IndexIterator& b) {
    return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
  }
  friend bool operator==(const IndexIterator& a, const IndexIterator& b) { return a.at_ == b.at_; }
  friend auto operator<=>(const IndexIterator& a, const IndexIterator& b) {
    return a.at_ <=> b.at_;
  }

 private:
  const Container* container_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace tessera
