// What tells a file from a damaged one.
#pragma once

#include <cstdint>

namespace tessera::trace {

struct FileSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC-32C
  friend bool operator==(const FileSum&, const FileSum&) = default;
};

}  // namespace tessera::trace
