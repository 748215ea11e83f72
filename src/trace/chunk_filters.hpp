// The bytes of a chunk as a table's filters leave them: shuffle, deflate, Fletcher-32, as HDF5
// applies them, but several times faster, as rows of a trace have many bytes that never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deflate.hpp"

namespace tessera::trace {

class ChunkFilters {
 public:
  // `rows` holds `count` rows of `row_bytes` bytes each, `count` at most
  // `Deflater::longest_plane`. The result lives until the next call.
  std::span<const std::byte> apply(std::span<const std::byte> rows, std::size_t row_bytes);

  std::size_t resident_bytes() const;
  // The same after chunks that pack as rows of a trace do.
  static std::size_t predicted_bytes();

 private:
  void add_columns(const std::byte* rows, std::size_t count, std::size_t row_bytes,
                   std::size_t width);

  Deflater deflater_;
  std::vector<std::byte> planes_;  // eight, each with the deflater's slack
  std::vector<std::byte> out_;
  std::size_t largest_ = 0;  // that `out_` ever was [B]
};

// HDF5's Fletcher-32: 16-bit words, the first byte the high one.
std::uint32_t fletcher32(std::span<const std::byte> bytes);

}  // namespace tessera::trace
