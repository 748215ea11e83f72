#include "store/table_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "schema.hpp"
#include "tessera/core/digest.hpp"

namespace tessera::trace {
namespace {

constexpr std::size_t word_bytes = 8;
constexpr std::uint64_t all_bits = ~std::uint64_t{0};

// The rows of a chunk: 16 384, fewer where a row is long, so that a chunk keeps to 1 MiB, or where
// they come slowly.
std::size_t chunk_rows_of(const TableSpec& spec) {
  constexpr std::size_t most_rows = 16'384;
  constexpr std::size_t slow_rows = 512;
  static_assert(most_rows <= Deflater::longest_plane);
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  return std::min(spec.is_slow ? slow_rows : most_rows,
                  std::bit_floor(std::max<std::size_t>(most_bytes / spec.row_bytes, 1)));
}

std::uint64_t load(const std::byte* place) {
  std::uint64_t word;
  std::memcpy(&word, place, word_bytes);
  return word;
}

bool has_byte(std::uint64_t word, std::size_t byte) {
  return (word >> (8 * byte) & 0xFF) != 0;
}

// Every byte that is not zero becomes 0xFF.
std::uint64_t whole_bytes(std::uint64_t word) {
  constexpr std::uint64_t low_bits = 0x0101'0101'0101'0101;
  word |= word >> 4;
  word |= word >> 2;
  word |= word >> 1;
  return (word & low_bits) * 0xFF;
}

// Sixteen bytes in a vector register.
using Bytes16 [[gnu::vector_size(16)]] = std::uint8_t;
using Words2 [[gnu::vector_size(16)]] = std::uint64_t;

// Bytes of the lower halves of `a` and `b`, or of the upper, in turns.
Bytes16 zip_low(Bytes16 a, Bytes16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes16 zip_high(Bytes16 a, Bytes16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}

// The words of eight rows, `row_bytes` apart, as eight columns: a column of bytes each.
std::array<std::uint64_t, 8> columns_of(const std::byte* rows, std::size_t row_bytes) {
  // Zipping rows 0 and 4, 1 and 5 ... and again, thrice, leaves the bits of a byte's number, which
  // are those of row and column, turned about by three.
  const auto row = [&](std::size_t i) {
    return std::bit_cast<Bytes16>(Words2{load(rows + i * row_bytes), 0});
  };
  const Bytes16 a0 = zip_low(row(0), row(4));
  const Bytes16 a1 = zip_low(row(1), row(5));
  const Bytes16 a2 = zip_low(row(2), row(6));
  const Bytes16 a3 = zip_low(row(3), row(7));
  const Bytes16 b0 = zip_low(a0, a2);
  const Bytes16 b1 = zip_high(a0, a2);
  const Bytes16 b2 = zip_low(a1, a3);
  const Bytes16 b3 = zip_high(a1, a3);
  const std::array<Bytes16, 4> columns{zip_low(b0, b2), zip_high(b0, b2), zip_low(b1, b3),
                                       zip_high(b1, b3)};
  return std::bit_cast<std::array<std::uint64_t, 8>>(columns);
}

std::byte* allocate(std::size_t bytes) {
  auto* const memory = static_cast<std::byte*>(std::malloc(bytes));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

TableBuffer::TableBuffer(const TableSpec& spec)
    : row_bytes_(spec.row_bytes), chunk_rows_(chunk_rows_of(spec)), gaps_(gaps_of(spec)) {
  const std::size_t words = (row_bytes_ + word_bytes - 1) / word_bytes;
  first_.resize(words * word_bytes);
  changing_.resize(words);
  used_.resize(words);
  earlier_.assign(words, all_bits);
  taken_planes_.resize(row_bytes_);
}

std::vector<TableBuffer::Gap> TableBuffer::gaps_of(const TableSpec& spec) const {
  std::vector<bool> belongs(row_bytes_);
  for (const Field& field : spec.fields) {
    std::fill_n(belongs.begin() + static_cast<std::ptrdiff_t>(field.offset), size_of(field.type),
                true);
  }
  std::vector<Gap> gaps;
  for (std::size_t place = 0; place < row_bytes_; place += word_bytes) {
    Gap gap{place, all_bits};
    for (std::size_t i = 0; i < std::min(word_bytes, row_bytes_ - place); ++i) {
      if (!belongs[place + i]) {
        gap.kept &= ~(std::uint64_t{0xFF} << (8 * i));
      }
    }
    if (gap.kept != all_bits) {
      gaps.push_back(gap);
    }
  }
  return gaps;
}

void TableBuffer::clear_gaps() {
  for (const Gap& gap : gaps_) {
    std::byte* place = stage_.get() + gap.place;
    for (std::size_t row = 0; row < staged_; ++row, place += row_bytes_) {
      const std::uint64_t word = load(place) & gap.kept;
      std::memcpy(place, &word, word_bytes);
    }
  }
}

std::size_t TableBuffer::plane_stride() const {
  return chunk_rows_ + Deflater::slack;
}

void TableBuffer::make_room() {
  // A word of slack, as the last row's last word may reach over its end.
  stage_.reset(allocate(stage_rows * row_bytes_ + word_bytes));
  planes_.reset(allocate(row_bytes_ * plane_stride()));
}

void TableBuffer::release() {
  stage_.reset();
  planes_.reset();
}

// Spreads the rows of the stage over the planes.
void TableBuffer::spread() {
  if (staged_ == 0) {
    return;
  }
  clear_gaps();
  fresh_crc_ = crc32c(stage_.get(), staged_ * row_bytes_, fresh_crc_);
  if (count_ == 0) {
    give_back();
    std::memcpy(first_.data(), stage_.get(), row_bytes_);
    std::fill(changing_.begin(), changing_.end(), 0);
  }
  for (std::size_t word = 0; word < changing_.size(); ++word) {
    spread_word(word);
  }
  count_ += staged_;
  staged_ = 0;
}

// Memory of planes that changed in the last chunk, but not in the one before: the high bytes of
// times do so once in a long while, each at its own, and would all have memory in the end.
void TableBuffer::give_back() {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t column = 0; column < row_bytes_; ++column) {
    const std::size_t word = column / word_bytes;
    if (has_byte(changing_[word] & ~earlier_[word], column % word_bytes)) {
      std::byte* const begin = plane(column);
      const auto address = reinterpret_cast<std::uintptr_t>(begin);
      const std::uintptr_t first = (address + page - 1) / page * page;
      const std::uintptr_t last = (address + plane_stride()) / page * page;
      if (first < last) {
        madvise(begin + (first - address), last - first, MADV_DONTNEED);
      }
      used_[word] &= ~whole_bytes(std::uint64_t{1} << (8 * (column % word_bytes)));
    }
  }
  earlier_ = changing_;
}

void TableBuffer::spread_word(std::size_t word) {
  const std::size_t first_column = word * word_bytes;
  const std::size_t width = std::min(word_bytes, row_bytes_ - first_column);
  const std::byte* const rows = stage_.get() + first_column;
  const std::uint64_t first = load(first_.data() + first_column);
  std::uint64_t differing = 0;
  for (std::size_t row = 0; row < staged_; ++row) {
    differing |= load(rows + row * row_bytes_) ^ first;
  }
  // Of a row that ends within the word, the rest is of the row behind it.
  differing &= all_bits >> (8 * (word_bytes - width));
  const std::uint64_t before = changing_[word];
  const std::uint64_t changing = before | whole_bytes(differing);
  if (changing == 0) {
    return;
  }
  if (changing != before) {
    for (std::size_t byte = 0; byte < width; ++byte) {
      if (has_byte(changing & ~before, byte)) {
        std::memset(plane(first_column + byte), static_cast<int>(first_[first_column + byte]),
                    count_);
      }
    }
    changing_[word] = changing;
    used_[word] |= changing;
  }
  std::array<std::byte*, word_bytes> places;
  std::array<std::size_t, word_bytes> bytes;
  std::size_t planes = 0;
  for (std::size_t byte = 0; byte < width; ++byte) {
    places[planes] = plane(first_column + byte) + count_;
    bytes[planes] = byte;
    planes += has_byte(changing, byte) ? 1 : 0;
  }
  std::size_t row = 0;
  for (; row + word_bytes <= staged_; row += word_bytes) {
    const std::array<std::uint64_t, 8> columns = columns_of(rows + row * row_bytes_, row_bytes_);
    for (std::size_t i = 0; i < planes; ++i) {
      std::memcpy(places[i] + row, &columns[bytes[i]], word_bytes);
    }
  }
  for (; row < staged_; ++row) {
    for (std::size_t i = 0; i < planes; ++i) {
      places[i][row] = rows[row * row_bytes_ + bytes[i]];
    }
  }
}

TableBuffer::Taken TableBuffer::take() {
  spread();
  for (std::size_t column = 0; column < row_bytes_; ++column) {
    const bool changes = has_byte(changing_[column / word_bytes], column % word_bytes);
    taken_planes_[column] = {changes ? plane(column) : nullptr, first_[column]};
  }
  const Taken taken{taken_planes_, count_, (rows() - taken_) * row_bytes_,
                    std::exchange(fresh_crc_, 0)};
  taken_ = rows();
  if (count_ == chunk_rows_) {
    base_ += chunk_rows_;
    count_ = 0;
  }
  return taken;
}

std::size_t TableBuffer::resident_bytes() const {
  if (stage_ == nullptr) {
    return 0;
  }
  int planes = 0;
  for (const std::uint64_t word : used_) {
    planes += std::popcount(word) / 8;
  }
  return stage_rows * row_bytes_ + static_cast<std::size_t>(planes) * chunk_rows_;
}

// Times, sizes and ids have wide types: about half of their bytes never change.
std::size_t TableBuffer::predicted_bytes() const {
  return stage_rows * row_bytes_ + row_bytes_ * chunk_rows_ / 2;
}

}  // namespace tessera::trace
