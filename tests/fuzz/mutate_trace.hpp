// Changes what an HDF5 file holds and makes its sums right again, so that a reader looks at it.
#pragma once

#include <cstdint>
#include <span>

namespace tessera::fuzz {

// One to three bytes of a part with a sum of its own: a row of a trace's commits (CRC-32C), or
// unless `only_commits` metadata of HDF5 (Jenkins' lookup3, section III of its file format
// specification 3.0). False, and nothing is changed, where the bytes have no such part.
bool mutate_summed(std::span<std::uint8_t> bytes, bool only_commits, unsigned seed);

}  // namespace tessera::fuzz
