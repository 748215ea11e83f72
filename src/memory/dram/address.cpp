#include "tessera/memory/dram/address.hpp"

#include <bit>

#include "tessera/core/error.hpp"

namespace tessera::memory {
namespace {

// Irreducible over GF(2), by degree, without the leading term (R. Lidl, H. Niederreiter, "Finite
// Fields", table C).
constexpr std::array<std::uint32_t, 13> irreducible{0,   1,    0x3, 0x3, 0x3, 0x5, 0x3,
                                                    0x3, 0x1B, 0x3, 0x9, 0x5, 0x53};

}  // namespace

std::uint32_t ipoly_hash(std::uint64_t value, std::uint32_t count) {
  const auto degree = static_cast<unsigned>(std::countr_zero(count));
  ensure(std::has_single_bit(count) && degree < irreducible.size(), "IPOLY of too many channels");
  if (degree == 0) {
    return 0;
  }
  // Horner's rule from the highest bit: shift in a bit, reduce.
  std::uint32_t remainder = 0;
  for (int bit = static_cast<int>(std::bit_width(value)) - 1; bit >= 0; --bit) {
    remainder = remainder << 1 | static_cast<std::uint32_t>(value >> bit & 1);
    if ((remainder & count) != 0) {
      remainder ^= count | irreducible[degree];
    }
  }
  return remainder;
}

DramAddressMap::DramAddressMap(const DramSpec& spec) {
  const DramOrganization& of = spec.organization;
  const std::array<std::uint32_t, dram_fields> counts{
      of.channels, of.pseudo_channels, of.ranks, of.groups, of.banks, of.rows, of.bursts};
  std::uint8_t position = 0;
  for (auto name = spec.controller.mapping.rbegin(); name != spec.controller.mapping.rend();
       ++name) {
    const auto index = static_cast<std::size_t>(*name);
    shift_[index] = position;
    mask_[index] = counts[index] - 1;
    width_[index] = static_cast<std::uint8_t>(std::countr_zero(counts[index]));
    position = static_cast<std::uint8_t>(position + width_[index]);
  }
  const auto channel = static_cast<std::size_t>(DramField::channel);
  channels_ = of.channels;
  low_bits_ = shift_[channel];
  block_bits_ = low_bits_ + width_[channel];
  if (spec.controller.hash_channels && channels_ > 1) {
    hashed_channels_ = channels_;
    hash_of_byte_.resize(std::size_t{8} * 256);
    for (std::size_t bit = 0; bit < 64; ++bit) {
      // With the bit as the highest of the byte.
      const auto hash = static_cast<std::uint16_t>(ipoly_hash(std::uint64_t{1} << bit, channels_));
      const std::size_t low = std::size_t{1} << bit % 8;
      std::uint16_t* table = &hash_of_byte_[bit / 8 * 256];
      for (std::size_t value = 0; value < low; ++value) {
        table[low + value] = table[value] ^ hash;
      }
    }
  }
}

DramPlace DramAddressMap::place(std::uint64_t burst) const {
  DramPlace place = place_without_channel(burst);
  place.channel = hashed_channels_ > 1
                      ? hash(burst >> low_bits_)
                      : static_cast<std::uint32_t>(field(burst, DramField::channel));
  return place;
}

std::uint64_t DramAddressMap::burst_at(const DramPlace& place) const {
  std::uint64_t burst = 0;
  const auto put = [&](DramField name, std::uint64_t value) {
    burst |= value << shift_[static_cast<std::size_t>(name)];
  };
  std::uint32_t bank = place.bank;
  for (const DramField part :
       {DramField::bank, DramField::group, DramField::rank, DramField::pseudo}) {
    const auto index = static_cast<std::size_t>(part);
    put(part, bank & mask_[index]);
    bank >>= width_[index];
  }
  put(DramField::row, place.row);
  put(DramField::column, place.column);
  std::uint64_t channel = place.channel;
  if (hashed_channels_ > 1) {
    // With the channel's field zero the hash is that of the upper bits; it is linear.
    channel ^= hash(burst >> low_bits_);
  }
  put(DramField::channel, channel);
  return burst;
}

}  // namespace tessera::memory
