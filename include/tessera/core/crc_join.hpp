// CRC-32C of two pieces put together, from the CRC-32C of each.
//
// A CRC is the remainder of the message as a polynomial over GF(2); appending n bytes multiplies by
// x^(8n). Bit 31 holds the coefficient of x^0, as in the reflected algorithm. O(log n).
#pragma once

#include <cstdint>

namespace tessera {

// a * b modulo the Castagnoli polynomial.
constexpr std::uint32_t crc_multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x8000'0000U; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) {
      product ^= b;
    }
    b = (b >> 1) ^ ((b & 1) != 0 ? 0x82F6'3B78U : 0U);
  }
  return product;
}

// The CRC of piece one (CRC `first`) followed by piece two (CRC `second`, of `second_bytes` bytes).
constexpr std::uint32_t crc_join(std::uint32_t first, std::uint32_t second,
                                 std::uint64_t second_bytes) {
  std::uint32_t power = 0x8000'0000U >> 8;  // x^8: one byte
  for (; second_bytes != 0; second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) {
      first = crc_multiply(first, power);
    }
    power = crc_multiply(power, power);
  }
  return first ^ second;
}

}  // namespace tessera
