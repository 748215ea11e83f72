// The sum of a file that is written by a library, without reading all of it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/trace/store/file_sum.hpp"

namespace tessera::trace {

// A trace may be larger than the memory that the system caches files in, and then reading it once
// more costs what writing it did. So pieces are summed as they are written, where it is known where
// they went, and only what lies between them is read.
class WrittenSum {
 public:
  // A piece was just written to `path`, and stays as it is: at `place` and not before the end of
  // the piece added before. Reads its first and last bytes; if others stand there, the piece is not
  // counted as known. Throws IoError.
  void add(const std::string& path, std::uint64_t place, std::span<const std::byte> piece);
  // Of the whole file. Throws IoError.
  FileSum of(const std::string& path) const;

 private:
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t crc = 0;
  };
  std::vector<Extent> extents_;  // ascending, apart
};

}  // namespace tessera::trace
