// Where in the memories of a machine a tile's address is, and how a message says so.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dram/stack.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::memory {

inline constexpr unsigned dram_address_bits = 44;
inline constexpr unsigned dram_size_bits = 18;
inline constexpr Bytes largest_dram_transfer(std::uint64_t{1} << dram_size_bits);

struct DramParameters {
  DramSpec spec;
  std::optional<DramSpec> memories;  // at nodes that are memory; none: as others
  Bytes transfer;
  Bytes window;
  Bytes request;
  SimTime latency;
  Bandwidth port;  // of a channel; 0 B/s: none
  bool spread = false;

  const DramSpec& spec_of(const machine::Machine& machine, std::uint32_t channel) const {
    const bool own =
        memories.has_value() &&
        machine.topology->role(machine.channels[channel].node) == machine::NodeRole::memory;
    return own ? *memories : spec;
  }
};

// The word of a message: write, bytes - 1, address. The number of the access travels as the tag.
inline std::uint64_t piece_word(std::uint64_t address, std::uint64_t bytes, bool write) {
  const std::uint64_t mask = (std::uint64_t{1} << dram_address_bits) - 1;
  return (write ? std::uint64_t{1} : 0) << (dram_address_bits + dram_size_bits) |
         (bytes - 1) << dram_address_bits | (address & mask);
}
inline DramPiece piece_of(std::uint64_t word) {
  DramPiece piece;
  piece.address = word & ((std::uint64_t{1} << dram_address_bits) - 1);
  piece.bytes = static_cast<std::uint32_t>(word >> dram_address_bits &
                                           ((std::uint64_t{1} << dram_size_bits) - 1)) +
                1;
  piece.write = static_cast<std::uint32_t>(word >> (dram_address_bits + dram_size_bits));
  return piece;
}

// Whether blocks can be hashed over so many memories.
inline bool hashes_over(std::size_t memories) {
  return memories <= 4096 && std::has_single_bit(memories);
}

// Where a tile's address is: which memory, and which byte of it.
//
// Regions of a memory are parts of its capacity of one size, each of one tile: 256 where the
// machine has no more nodes, of which the tile's number is its own. On larger machines there are as
// many as tiles of the memory need, a power of two and 256 at least, in the order of the tiles; and
// where one asks for another, or addresses are spread over all memories, one for each node.
class DramMemoryMap {
 public:
  DramMemoryMap(const machine::Machine& machine, const DramParameters& parameters)
      : machine_(machine),
        parameters_(parameters),
        regions_of_all_(regions_for(machine.channel_of.size())) {
    if (parameters.spread || !are_counted(machine)) {
      return;
    }
    std::vector<std::uint32_t> tiles(machine.channels.size());
    number_.reserve(machine.channel_of.size());
    for (const std::uint32_t channel : machine.channel_of) {
      number_.push_back(channel < tiles.size() ? tiles[channel]++ : 0);
    }
    regions_.reserve(tiles.size());
    for (const std::uint32_t count : tiles) {
      regions_.push_back(regions_for(count));
    }
  }

  static std::size_t predicted_bytes(const machine::Machine& machine) {
    return are_counted(machine) ? machine.channel_of.size() * sizeof(std::uint32_t) +
                                      machine.channels.size() * sizeof(std::uint64_t)
                                : 0;
  }

  std::uint32_t memory_of(EntityId tile, std::uint64_t address) const {
    if (!parameters_.spread) {
      return machine_.channel_of[tile.value()];
    }
    const std::uint64_t block = address / parameters_.transfer.count();
    const auto count = static_cast<std::uint32_t>(machine_.channels.size());
    return hashes() ? ipoly_hash(block, count) : static_cast<std::uint32_t>(block % count);
  }
  std::uint64_t local_address(std::uint64_t address) const {
    if (!parameters_.spread) {
      return address;
    }
    const std::uint64_t size = parameters_.transfer.count();
    return address / size / machine_.channels.size() * size + address % size;
  }
  // Of the tile's own region in the memory that serves `asking`: itself, or who asks for it.
  std::uint64_t region_address(EntityId tile, EntityId asking, std::uint64_t offset) const {
    const DramOrganization& device = device_of(asking);
    const std::uint64_t stagger = device.burst.count() * device.bursts;
    const std::uint64_t number = number_of(tile, asking);
    const std::uint64_t size = region_bytes(tile, asking);
    return number * size + (offset + number * stagger) % size;
  }
  std::uint64_t region_bytes(EntityId tile, EntityId asking) const {
    const std::uint64_t memories = parameters_.spread ? machine_.channels.size() : 1;
    return std::max(device_of(asking).capacity().count() / regions_of(tile, asking) * memories,
                    parameters_.transfer.count());
  }

 private:
  const DramOrganization& device_of(EntityId asking) const {
    return parameters_.spec_of(machine_, machine_.channel_of[asking.value()]).organization;
  }
  bool hashes() const {
    return parameters_.spec.controller.hash_channels && hashes_over(machine_.channels.size());
  }

  static std::uint64_t regions_for(std::uint64_t tiles) {
    return std::max(least_regions, std::bit_ceil(tiles));
  }
  static bool are_counted(const machine::Machine& machine) {
    return machine.channel_of.size() > least_regions;
  }
  bool is_among_its_own(EntityId tile, EntityId asking) const {
    return !number_.empty() && tile == asking;
  }
  std::uint64_t number_of(EntityId tile, EntityId asking) const {
    return is_among_its_own(tile, asking) ? number_[tile.value()] : tile.value();
  }
  std::uint64_t regions_of(EntityId tile, EntityId asking) const {
    return is_among_its_own(tile, asking) ? regions_[machine_.channel_of[tile.value()]]
                                          : regions_of_all_;
  }

  static constexpr std::uint64_t least_regions = 256;

  const machine::Machine& machine_;
  const DramParameters& parameters_;
  std::uint64_t regions_of_all_;
  std::vector<std::uint32_t> number_;   // [nodes] among those of its memory; empty: by node
  std::vector<std::uint64_t> regions_;  // [channels], where tiles are numbered so
};

}  // namespace tessera::memory
