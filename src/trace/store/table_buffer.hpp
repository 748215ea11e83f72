// The rows of one table that wait until a chunk is whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "store/chunk_filters.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {

// Holds the chunk that is not whole yet as byte planes, as its filters want it: rows are few enough
// to stay in the processor's nearest cache until they are spread over the planes, and a plane that
// is one value so far takes no memory and no time. Rows that were already taken as a tail stay, so
// that the chunk need not be read back to be made whole.
class TableBuffer {
 public:
  explicit TableBuffer(const TableSpec& spec);

  std::size_t row_bytes() const { return row_bytes_; }
  std::size_t chunk_rows() const { return chunk_rows_; }
  // Rows that were ever added, and those of them that were taken.
  std::uint64_t rows() const { return base_ + count_ + staged_; }
  std::uint64_t taken() const { return taken_; }
  // The first row of the present chunk.
  std::uint64_t base() const { return base_; }
  // True when the chunk is whole; then it has to be taken before the next row.
  bool whole() const { return count_ + staged_ == chunk_rows_; }
  std::size_t resident_bytes() const;
  // The same of a table that fills chunks.
  std::size_t predicted_bytes() const;

  // Where the next row of `size` bytes belongs; it counts as added.
  std::byte* add(std::size_t size) {
    ensure(size == row_bytes_, "a row of another table");
    if (staged_ == stage_rows) [[unlikely]] {
      spread();
    } else if (stage_ == nullptr) [[unlikely]] {
      make_room();
    }
    return stage_.get() + staged_++ * row_bytes_;
  }

  // The present chunk; its last rows, those that were not taken before, now count as taken. Valid
  // until the next row.
  struct Taken {
    std::span<const BytePlane> planes;
    std::size_t rows;           // in them, the rest of the chunk is not there yet
    std::uint64_t fresh_bytes;  // of rows that were not taken before
    std::uint32_t fresh_crc;    // CRC-32C of those rows
  };
  Taken take();
  // Gives the memory back; for a table that ends.
  void release();

 private:
  static constexpr std::size_t stage_rows = 64;

  // At most eight bytes of a row some of which belong to no field; those are stored as zeros, since
  // what a struct's padding holds is left to chance and would differ from run to run.
  struct Gap {
    std::size_t place;   // of the eight bytes
    std::uint64_t kept;  // their bits that belong to fields
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<std::byte[], Free>;

  std::vector<Gap> gaps_of(const TableSpec& spec) const;
  void make_room();
  void spread();
  void spread_word(std::size_t word);
  void clear_gaps();
  void give_back();
  std::size_t plane_stride() const;
  std::byte* plane(std::size_t column) { return planes_.get() + column * plane_stride(); }

  std::size_t row_bytes_;
  std::size_t chunk_rows_;
  std::vector<Gap> gaps_;
  Memory stage_;                         // rows as they came; made at the first row
  std::size_t staged_ = 0;               // rows in it
  Memory planes_;                        // what was never written to takes no memory
  std::size_t count_ = 0;                // rows in them
  std::vector<std::byte> first_;         // the chunk's first row
  std::vector<std::uint64_t> changing_;  // by word of a row: its bytes that are not as in the first
  std::vector<std::uint64_t> used_;      // likewise, with memory of their planes
  std::vector<std::uint64_t> earlier_;   // likewise, in the chunk before
  std::vector<BytePlane> taken_planes_;
  std::uint32_t fresh_crc_ = 0;  // of the rows in the planes that were not taken
  std::uint64_t base_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace tessera::trace
