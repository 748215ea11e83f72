#include "chunk_filters.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

constexpr std::size_t word_bytes = 8;
constexpr std::size_t plane_stride = Deflater::longest_plane + Deflater::slack;
constexpr std::size_t planes_bytes = word_bytes * plane_stride;
// A chunk of 1 MiB that does not pack at all, and some more.
constexpr std::size_t longest_stream = (std::size_t{1} << 20) * 9 / 8;

std::uint64_t load(const std::byte* place, std::size_t width) {
  std::uint64_t word = 0;
  std::memcpy(&word, place, width);
  return word;
}

// The bits in which the words of all rows differ.
std::uint64_t changing_bits(const std::byte* rows, std::size_t count, std::size_t row_bytes,
                            std::size_t width) {
  const std::uint64_t first = load(rows, width);
  std::uint64_t changing = 0;
  if (width == word_bytes) {
    for (std::size_t row = 1; row < count; ++row) {
      changing |= load(rows + row * row_bytes, word_bytes) ^ first;
    }
  } else {
    for (std::size_t row = 1; row < count; ++row) {
      changing |= load(rows + row * row_bytes, width) ^ first;
    }
  }
  return changing;
}

// Exchanges the blocks of `bits` bits beside the diagonal of two rows of a matrix of bytes.
void swap_blocks(std::uint64_t& upper, std::uint64_t& lower, unsigned bits, std::uint64_t mask) {
  const std::uint64_t difference = (upper >> bits ^ lower) & mask;
  lower ^= difference;
  upper ^= difference << bits;
}

// Transposes a matrix of 8 x 8 bytes.
void transpose(std::array<std::uint64_t, 8>& matrix) {
  for (std::size_t i = 0; i < 4; ++i) {
    swap_blocks(matrix[i], matrix[i + 4], 32, 0x0000'0000'FFFF'FFFF);
  }
  for (const std::size_t i : {0, 1, 4, 5}) {
    swap_blocks(matrix[i], matrix[i + 2], 16, 0x0000'FFFF'0000'FFFF);
  }
  for (const std::size_t i : {0, 2, 4, 6}) {
    swap_blocks(matrix[i], matrix[i + 1], 8, 0x00FF'00FF'00FF'00FF);
  }
}

// Spreads the words of all rows over eight planes.
void split(const std::byte* rows, std::size_t count, std::size_t row_bytes, std::byte* planes) {
  std::size_t row = 0;
  for (; row + word_bytes <= count; row += word_bytes) {
    std::array<std::uint64_t, word_bytes> matrix;
    for (std::size_t i = 0; i < word_bytes; ++i) {
      matrix[i] = load(rows + (row + i) * row_bytes, word_bytes);
    }
    transpose(matrix);
    for (std::size_t plane = 0; plane < word_bytes; ++plane) {
      std::memcpy(planes + plane * plane_stride + row, &matrix[plane], word_bytes);
    }
  }
  for (; row < count; ++row) {
    for (std::size_t plane = 0; plane < word_bytes; ++plane) {
      planes[plane * plane_stride + row] = rows[row * row_bytes + plane];
    }
  }
}

}  // namespace

std::span<const std::byte> ChunkFilters::apply(std::span<const std::byte> rows,
                                               std::size_t row_bytes) {
  const std::size_t count = rows.size() / row_bytes;
  ensure(count > 0 && count * row_bytes == rows.size(), "a chunk of broken rows");
  planes_.resize(planes_bytes);
  out_.clear();
  // Once and for all: a buffer that grows later leaves holes in the heap. What is not written to
  // takes no memory.
  out_.reserve(std::max(out_.capacity(), longest_stream));
  deflater_.start(out_);
  for (std::size_t first = 0; first < row_bytes; first += word_bytes) {
    add_columns(rows.data() + first, count, row_bytes, std::min(word_bytes, row_bytes - first));
  }
  deflater_.finish();
  const std::uint32_t sum = fletcher32(out_);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out_.push_back(static_cast<std::byte>(sum >> shift & 0xFF));
  }
  largest_ = std::max(largest_, out_.size());
  return out_;
}

void ChunkFilters::add_columns(const std::byte* rows, std::size_t count, std::size_t row_bytes,
                               std::size_t width) {
  const std::uint64_t changing = changing_bits(rows, count, row_bytes, width);
  if (changing != 0 && width == word_bytes) {
    split(rows, count, row_bytes, planes_.data());
  }
  for (std::size_t column = 0; column < width; ++column) {
    if ((changing >> (8 * column) & 0xFF) == 0) {
      deflater_.add_same(rows[column], count);
      continue;
    }
    std::byte* plane = planes_.data() + column * plane_stride;
    if (width != word_bytes) {
      for (std::size_t row = 0; row < count; ++row) {
        plane[row] = rows[row * row_bytes + column];
      }
    }
    deflater_.add(plane, count);
  }
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
  return Deflater::working_bytes + planes_.capacity() + largest_;
}

std::size_t ChunkFilters::predicted_bytes() {
  constexpr std::size_t packed_bytes = std::size_t{1} << 18;
  return Deflater::working_bytes + planes_bytes + packed_bytes;
}

}  // namespace tessera::trace
