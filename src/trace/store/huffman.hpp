// Prefix codes of the deflate format (RFC 1951, section 3.2.2) for given frequencies.
//
// Lengths by Huffman's algorithm on sorted frequencies; a code that would be longer than allowed is
// shortened, and others made longer until all fit (nearly optimal, as frequencies of long codes
// are small).
#pragma once

#include <cstdint>
#include <span>

namespace tessera::trace {

// A symbol's bits, in the order in which they are written, lowest first.
struct PrefixCode {
  std::uint16_t bits = 0;
  std::uint8_t length = 0;  // 0: the symbol does not occur
};

// The code of symbol i goes to codes[i]; at most 15 and at most `longest` bits. When fewer than two
// symbols occur, others get a code, too: decoders like codes without holes. `frequencies` and
// `codes` are of one size, from 2 to 288. Cost: O(n log n).
void make_prefix_codes(std::span<const std::uint32_t> frequencies, unsigned longest,
                       std::span<PrefixCode> codes);

}  // namespace tessera::trace
