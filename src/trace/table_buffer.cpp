#include "table_buffer.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "deflate.hpp"
#include "schema.hpp"

namespace tessera::trace {
namespace {

// The rows of a chunk: 16 384, fewer where a row is long, so that a chunk keeps to 1 MiB.
std::size_t chunk_rows_of(std::size_t row_bytes) {
  constexpr std::size_t most_rows = 16'384;
  static_assert(most_rows <= Deflater::longest_plane);
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  return std::min(most_rows, std::bit_floor(std::max<std::size_t>(most_bytes / row_bytes, 1)));
}

constexpr std::size_t word_bytes = 8;

}  // namespace

TableBuffer::TableBuffer(const TableSpec& spec)
    : row_bytes_(spec.row_bytes), chunk_rows_(chunk_rows_of(row_bytes_)), gaps_(gaps_of(spec)) {}

std::vector<TableBuffer::Gap> TableBuffer::gaps_of(const TableSpec& spec) const {
  std::vector<bool> belongs(row_bytes_);
  for (const Field& field : spec.fields) {
    std::fill_n(belongs.begin() + static_cast<std::ptrdiff_t>(field.offset), size_of(field.type),
                true);
  }
  const std::size_t width = std::min(row_bytes_, word_bytes);
  std::vector<Gap> gaps;
  for (std::size_t first = 0; first < row_bytes_; first += word_bytes) {
    Gap gap{std::min(first, row_bytes_ - width), ~std::uint64_t{0}};
    for (std::size_t i = 0; i < width; ++i) {
      if (!belongs[gap.place + i]) {
        gap.kept &= ~(std::uint64_t{0xFF} << (8 * i));
      }
    }
    if (gap.kept != ~std::uint64_t{0}) {
      gaps.push_back(gap);
    }
  }
  return gaps;
}

void TableBuffer::clear_gaps(std::byte* rows, std::size_t count) const {
  const auto clear = [&](const Gap& gap, std::size_t width) {
    std::byte* place = rows + gap.place;
    for (std::size_t row = 0; row < count; ++row, place += row_bytes_) {
      std::uint64_t word = 0;
      std::memcpy(&word, place, width);
      word &= gap.kept;
      std::memcpy(place, &word, width);
    }
  };
  for (const Gap& gap : gaps_) {
    if (row_bytes_ >= word_bytes) {
      clear(gap, word_bytes);  // a constant: no call for each row
    } else {
      clear(gap, row_bytes_);
    }
  }
}

void TableBuffer::make_chunk() {
  chunk_.reset(static_cast<std::byte*>(std::calloc(chunk_rows_, row_bytes_)));
  if (chunk_ == nullptr) {
    throw std::bad_alloc();
  }
  used_ = 0;
}

TableBuffer::Taken TableBuffer::take() {
  std::byte* const begin = chunk_.get();
  const std::size_t old_rows = taken_ - base_;
  std::byte* const fresh = begin + old_rows * row_bytes_;
  const std::size_t fresh_rows = count_ - old_rows;
  clear_gaps(fresh, fresh_rows);
  used_ = std::max(used_, count_);
  std::memset(fresh + fresh_rows * row_bytes_, 0, (used_ - count_) * row_bytes_);
  taken_ = rows();
  if (count_ == chunk_rows_) {
    base_ += chunk_rows_;
    count_ = 0;
  }
  return {{begin, chunk_bytes()}, {fresh, fresh_rows * row_bytes_}};
}

}  // namespace tessera::trace
