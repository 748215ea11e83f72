// The rows of one table that wait until a chunk is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {

// Holds the rows of the chunk that is not whole yet, also those that were already taken as a tail:
// with them the chunk need not be read back to be made whole.
class TableBuffer {
 public:
  explicit TableBuffer(const TableSpec& spec);

  std::size_t row_bytes() const { return row_bytes_; }
  std::size_t chunk_rows() const { return chunk_rows_; }
  std::size_t chunk_bytes() const { return chunk_rows_ * row_bytes_; }
  // Rows that were ever added, and those of them that were taken.
  std::uint64_t rows() const { return base_ + count_; }
  std::uint64_t taken() const { return taken_; }
  // The first row of the present chunk.
  std::uint64_t base() const { return base_; }
  std::size_t resident_bytes() const { return chunk_ == nullptr ? 0 : chunk_bytes(); }

  // True when the chunk is whole; then it has to be taken before the next row.
  bool add(const void* row, std::size_t size) {
    ensure(size == row_bytes_, "a row of another table");
    if (chunk_ == nullptr) [[unlikely]] {
      make_chunk();
    }
    std::memcpy(chunk_.get() + count_ * row_bytes_, row, row_bytes_);
    return ++count_ == chunk_rows_;
  }

  // The present chunk, with zeros for the rows that are not there yet; its last rows, those that
  // were not taken before, now count as taken. Valid until the next row.
  struct Taken {
    std::span<const std::byte> chunk;
    std::span<const std::byte> fresh;  // the part of it that was not taken before
  };
  Taken take();
  // Gives the memory back; for a table that ends.
  void release() { chunk_.reset(); }

 private:
  // At most eight bytes of a row some of which belong to no field; those are stored as zeros, since
  // what a struct's padding holds is left to chance and would differ from run to run.
  struct Gap {
    std::size_t place;   // of the eight bytes
    std::uint64_t kept;  // their bits that belong to fields
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::vector<Gap> gaps_of(const TableSpec& spec) const;
  void make_chunk();
  void clear_gaps(std::byte* rows, std::size_t count) const;

  std::size_t row_bytes_;
  std::size_t chunk_rows_;
  std::vector<Gap> gaps_;
  std::unique_ptr<std::byte[], Free> chunk_;  // made at the first row, of zeros
  std::size_t count_ = 0;                     // rows in it
  // Places that rows have ever had: the rest is still zero, and no memory yet.
  std::size_t used_ = 0;
  std::uint64_t base_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace tessera::trace
