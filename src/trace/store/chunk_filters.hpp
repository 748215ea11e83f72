// The bytes of a chunk as a table's filters leave them: shuffle, deflate, Fletcher-32, as HDF5
// applies them, but several times faster, as rows of a trace have many bytes that never change. The
// shuffle is done by whoever holds the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "store/deflate.hpp"

namespace tessera::trace {

// Byte k of every row of a chunk.
struct BytePlane {
  const std::byte* bytes;  // nullptr: they are all `value`
  std::byte value;
};

class ChunkFilters {
 public:
  // The chunk has `chunk_rows` rows, at most `Deflater::longest_plane`, of which the planes hold
  // the first `rows`; the others are zeros. Behind each plane must be `Deflater::slack` bytes. The
  // result lives until the next call.
  std::span<const std::byte> apply(std::span<const BytePlane> planes, std::size_t rows,
                                   std::size_t chunk_rows);

  std::size_t resident_bytes() const;
  // The same after chunks that pack as rows of a trace do.
  static std::size_t predicted_bytes();

 private:
  Deflater deflater_;
  std::vector<std::byte> out_;
  std::size_t largest_ = 0;  // that `out_` ever was [B]
};

// HDF5's Fletcher-32: 16-bit words, the first byte the high one.
std::uint32_t fletcher32(std::span<const std::byte> bytes);

}  // namespace tessera::trace
