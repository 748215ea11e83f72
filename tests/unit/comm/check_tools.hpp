// What checks of communicators have in common: how they fail, and words as bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera::comm::checks {

class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void check(bool condition, const std::string& what,
                  std::source_location where = std::source_location::current()) {
  if (!condition) {
    throw CheckFailed("line " + std::to_string(where.line()) + ": " + what);
  }
}

template <class Exception, class Action>
void check_throws(const Action& action, const std::string& what,
                  std::source_location where = std::source_location::current()) {
  try {
    action();
  } catch (const Exception&) {
    return;
  }
  check(false, what, where);
}

inline std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

inline std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t word = 0;
  const auto part = bytes.subspan(index * sizeof word, sizeof word);
  std::ranges::copy(part, std::as_writable_bytes(std::span(&word, 1)).begin());
  return word;
}

// Whether the two ranks exchange batches in rounds that nobody meets in: a ring.
inline bool are_neighbours(int a, int b, int n) {
  return a != b && ((a + 1) % n == b || (b + 1) % n == a);
}

}  // namespace tessera::comm::checks
