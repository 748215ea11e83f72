#include "table_buffer.hpp"

#include <algorithm>
#include <bit>

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

}  // namespace

TableBuffer::TableBuffer(const TableSpec& spec)
    : row_bytes_(spec.row_bytes), chunk_rows_(chunk_rows_of(row_bytes_)), gaps_(gaps_of(spec)) {}

std::vector<TableBuffer::Gap> TableBuffer::gaps_of(const TableSpec& spec) {
  std::vector<Field> fields = spec.fields;
  std::sort(fields.begin(), fields.end(),
            [](const Field& a, const Field& b) { return a.offset < b.offset; });
  std::vector<Gap> gaps;
  std::size_t end = 0;
  for (const Field& field : fields) {
    if (field.offset > end) {
      gaps.push_back({end, field.offset - end});
    }
    end = field.offset + size_of(field.type);
  }
  if (spec.row_bytes > end) {
    gaps.push_back({end, spec.row_bytes - end});
  }
  return gaps;
}

void TableBuffer::clear_gaps(std::byte* rows, std::size_t count) const {
  for (const Gap& gap : gaps_) {
    std::byte* place = rows + gap.offset;
    for (std::size_t row = 0; row < count; ++row, place += row_bytes_) {
      for (std::size_t i = 0; i < gap.size; ++i) {
        place[i] = std::byte{0};
      }
    }
  }
}

TableBuffer::Taken TableBuffer::take() {
  std::byte* const begin = chunk_.get();
  const std::size_t old_rows = taken_ - base_;
  std::byte* const fresh = begin + old_rows * row_bytes_;
  const std::size_t fresh_rows = count_ - old_rows;
  clear_gaps(fresh, fresh_rows);
  std::memset(fresh + fresh_rows * row_bytes_, 0, (chunk_rows_ - count_) * row_bytes_);
  taken_ = rows();
  if (count_ == chunk_rows_) {
    base_ += chunk_rows_;
    count_ = 0;
  }
  return {{begin, chunk_bytes()}, {fresh, fresh_rows * row_bytes_}};
}

}  // namespace tessera::trace
