#include "store/chunk_filters.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

// A chunk of 1 MiB that does not pack at all, and some more.
constexpr std::size_t longest_stream = (std::size_t{1} << 20) * 9 / 8;

}  // namespace

std::span<const std::byte> ChunkFilters::apply(std::span<const BytePlane> planes, std::size_t rows,
                                               std::size_t chunk_rows) {
  ensure(rows > 0 && rows <= chunk_rows, "a chunk of no rows, or of too many");
  out_.clear();
  // Once and for all: a buffer that grows later leaves holes in the heap. What is not written to
  // takes no memory.
  out_.reserve(std::max(out_.capacity(), longest_stream));
  deflater_.start(out_);
  for (const BytePlane& plane : planes) {
    if (plane.bytes == nullptr) {
      deflater_.add_same(plane.value, rows);
    } else {
      deflater_.add(plane.bytes, rows);
    }
    if (rows < chunk_rows) {
      deflater_.add_same(std::byte{0}, chunk_rows - rows);
    }
  }
  deflater_.finish();
  const std::uint32_t sum = fletcher32(out_);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out_.push_back(static_cast<std::byte>(sum >> shift & 0xFF));
  }
  largest_ = std::max(largest_, out_.size());
  return out_;
}

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  // A sum keeps its value modulo 65 535, and stays above zero once it is.
  const auto fold = [](std::uint64_t sum) {
    while (sum > 0xFFFF) {
      sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return sum;
  };
  const std::size_t words = bytes.size() / 2;
  constexpr std::size_t words_a_fold = 4096;  // far from an overflow
  for (std::size_t word = 0; word < words;) {
    for (const std::size_t end = std::min(words, word + words_a_fold); word < end; ++word) {
      low += static_cast<std::uint64_t>(bytes[2 * word]) << 8 |
             static_cast<std::uint64_t>(bytes[2 * word + 1]);
      high += low;
    }
    low = fold(low);
    high = fold(high);
  }
  if (bytes.size() % 2 != 0) {
    low = fold(low + (static_cast<std::uint64_t>(bytes.back()) << 8));
    high = fold(high + low);
  }
  return static_cast<std::uint32_t>(high << 16 | low);
}

std::size_t ChunkFilters::resident_bytes() const {
  return Deflater::working_bytes + largest_;
}

std::size_t ChunkFilters::predicted_bytes() {
  constexpr std::size_t packed_bytes = std::size_t{1} << 18;
  return Deflater::working_bytes + packed_bytes;
}

}  // namespace tessera::trace
