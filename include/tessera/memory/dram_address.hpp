// Where in a DRAM a byte is: channel, bank, row.
//
// The address in bursts is cut into the fields of the mapping, whose counts are powers of two; what
// is beyond the capacity wraps around. With IPOLY the channel is instead the remainder of the
// address from the channel's field on, read as a polynomial over GF(2), modulo an irreducible one:
// B. R. Rau, "Pseudo-randomly interleaved memory", ISCA 1991, doi:10.1145/115952.115961. For given
// upper bits it permutes the channels, so that no two addresses share a place.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/memory/dram_spec.hpp"

namespace tessera::memory {

struct DramPlace {
  std::uint32_t channel = 0;
  std::uint32_t bank =
      0;  // of the channel: ((pseudo * ranks + rank) * groups + group) * banks + bank
  std::uint32_t row = 0;
  std::uint32_t column = 0;  // burst of the row
};

// Remainder of `value` modulo the irreducible polynomial of degree log2(count). Count: a power of
// two up to 4096.
std::uint32_t ipoly_hash(std::uint64_t value, std::uint32_t count);

class DramAddressMap {
 public:
  explicit DramAddressMap(const DramSpec& spec);
  // Of the burst with that number: byte / burst size.
  DramPlace place(std::uint64_t burst) const;
  // The burst at a place.
  std::uint64_t burst_at(const DramPlace& place) const;

 private:
  std::uint64_t field(std::uint64_t burst, DramField field) const {
    const auto index = static_cast<std::size_t>(field);
    return burst >> shift_[index] & mask_[index];
  }

  std::array<std::uint8_t, dram_fields> shift_{};
  std::array<std::uint64_t, dram_fields> mask_{};
  std::array<std::uint8_t, dram_fields> width_{};
  std::uint32_t hashed_channels_ = 0;  // 0: no hash
};

}  // namespace tessera::memory
