// Where in a DRAM a byte is: channel, bank, row.
//
// The address in bursts is cut into the fields of the mapping, whose counts are powers of two; what
// is beyond the capacity wraps around. With IPOLY the channel is instead the remainder of the
// address from the channel's field on, read as a polynomial over GF(2), modulo an irreducible one:
// B. R. Rau, "Pseudo-randomly interleaved memory", ISCA 1991, doi:10.1145/115952.115961. For given
// upper bits it permutes the channels, so that no two addresses share a place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/memory/dram/spec.hpp"

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

  // A channel's bursts counted on their own, in order of address, without end: where number `index`
  // is, with 0 for the channel.
  DramPlace place_in_channel(std::uint64_t index) const {
    return place_without_channel(block_of(index) | low_of(index));
  }
  // Those among the bursts from `first` to `last`, as visit(channel, index, count), without the
  // channels that have none.
  template <class Visit>
  void for_each_channel(std::uint64_t first, std::uint64_t last, Visit visit) const {
    const std::uint32_t first_hash = hash_of_block(first >> block_bits_);
    const std::uint32_t last_hash = hash_of_block((last + 1) >> block_bits_);
    for (std::uint32_t channel = 0; channel < channels_; ++channel) {
      const std::uint64_t begin = index_from(channel, first, first_hash);
      const std::uint64_t end = index_from(channel, last + 1, last_hash);
      if (begin < end) {
        visit(channel, begin, static_cast<std::uint32_t>(end - begin));
      }
    }
  }

  std::size_t resident_bytes() const { return hash_of_byte_.capacity() * sizeof(std::uint16_t); }

 private:
  std::uint64_t field(std::uint64_t burst, DramField field) const {
    const auto index = static_cast<std::size_t>(field);
    return burst >> shift_[index] & mask_[index];
  }

  DramPlace place_without_channel(std::uint64_t burst) const {
    const auto get = [&](DramField name) { return static_cast<std::uint32_t>(field(burst, name)); };
    const auto width = [&](DramField name) { return width_[static_cast<std::size_t>(name)]; };
    DramPlace place;
    place.bank = get(DramField::pseudo);
    for (const DramField part : {DramField::rank, DramField::group, DramField::bank}) {
      place.bank = place.bank << width(part) | get(part);
    }
    place.row = get(DramField::row);
    place.column = get(DramField::column);
    return place;
  }

  // A channel's index in the parts above and below the channel's field.
  std::uint64_t block_of(std::uint64_t index) const { return index >> low_bits_ << block_bits_; }
  std::uint64_t low_of(std::uint64_t index) const {
    return index & ((std::uint64_t{1} << low_bits_) - 1);
  }
  // A block is what shares the bits above the channel's field: it has equally many bursts of each
  // channel. The hash of its first burst turns a channel into its field and back.
  std::uint32_t hash_of_block(std::uint64_t block) const {
    return hashed_channels_ > 1 ? hash(block << (block_bits_ - low_bits_)) : 0;
  }
  static std::uint64_t field_of(std::uint32_t channel, std::uint32_t hash_of_block) {
    return channel ^ hash_of_block;
  }
  // The index of the channel's first burst that is not before `burst`, in whose block that hash is.
  std::uint64_t index_from(std::uint32_t channel, std::uint64_t burst, std::uint32_t hash) const {
    const std::uint64_t row = std::uint64_t{1} << low_bits_;
    const std::uint64_t block = burst >> block_bits_;
    const std::uint64_t begin = block << block_bits_ | field_of(channel, hash) << low_bits_;
    return (block << low_bits_) + (burst > begin ? std::min(burst - begin, row) : 0);
  }
  // ipoly_hash of the channels, byte by byte, as it is linear.
  std::uint32_t hash(std::uint64_t value) const {
    std::uint32_t sum = 0;
    for (const std::uint16_t* table = hash_of_byte_.data(); value != 0; value >>= 8, table += 256) {
      sum ^= table[value & 255];
    }
    return sum;
  }

  std::array<std::uint8_t, dram_fields> shift_{};
  std::array<std::uint64_t, dram_fields> mask_{};
  std::array<std::uint8_t, dram_fields> width_{};
  std::uint32_t channels_ = 1;
  std::uint32_t hashed_channels_ = 0;        // 0: no hash
  unsigned low_bits_ = 0;                    // below the channel's field
  unsigned block_bits_ = 0;                  // with it
  std::vector<std::uint16_t> hash_of_byte_;  // [8][256]
};

}  // namespace tessera::memory
