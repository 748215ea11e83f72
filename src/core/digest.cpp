#include "tessera/core/digest.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace tessera {
namespace {

// Eight tables, so that eight bytes are folded at a time ("slicing by 8").
constexpr auto crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    }
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}();

// Goes on with the inverted CRC `crc`.
std::uint32_t fold_by_tables(const unsigned char* bytes, std::size_t size, std::uint32_t crc) {
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      next ^= crc_tables[7 - i][((crc >> (8 * i)) & 0xFF) ^ bytes[i]];
      next ^= crc_tables[3 - i][bytes[4 + i]];
    }
    crc = next;
  }
  for (; size > 0; --size, ++bytes) {
    crc = (crc >> 8) ^ crc_tables[0][(crc ^ *bytes) & 0xFF];
  }
  return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
// The same by the processor's own instruction, three times as fast.
__attribute__((target("sse4.2"))) std::uint32_t fold_by_processor(const unsigned char* bytes,
                                                                  std::size_t size,
                                                                  std::uint32_t crc) {
  std::uint64_t wide = crc;
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; size > 0; --size, ++bytes) {
    crc = __builtin_ia32_crc32qi(crc, *bytes);
  }
  return crc;
}
#endif

}  // namespace

std::string Digest::to_string() const {
  return fmt::format("{:016x}{:016x}", high_, low_);
}

std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
#if defined(__x86_64__) && defined(__GNUC__)
  static const bool by_processor = __builtin_cpu_supports("sse4.2");
  if (by_processor) {
    return ~fold_by_processor(bytes, size, ~seed);
  }
#endif
  return ~fold_by_tables(bytes, size, ~seed);
}

}  // namespace tessera
