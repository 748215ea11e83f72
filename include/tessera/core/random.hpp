// Counter-based random numbers: a draw depends on (seed, entity, stream, index) and on nothing
// else, so results do not change with the number of ranks or the order of handling.
//
// Philox4x32-10 of Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC'11, doi:10.1145/2063384.2063405.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/core/ids.hpp"

namespace tessera {

// The ten-round Philox4x32 bijection of `counter` under `key`.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// One stream of draws of one entity. State is the index of the next draw: 8 bytes to checkpoint.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, EntityId entity, std::uint32_t stream, std::uint64_t index = 0)
      : seed_(seed), entity_(entity), stream_(stream), index_(index) {}

  std::uint64_t index() const { return index_; }
  // Uniform over all 64-bit values.
  std::uint64_t next_u64();
  // Uniform in [0, 1) with 53 bits.
  double next_uniform();
  // Uniform in [0, bound), bound > 0; unbiased to 2^-64 (multiply-shift).
  std::uint64_t next_below(std::uint64_t bound);
  // Exponential with the given mean, by inversion; computed with a fixed series of IEEE operations.
  double next_exponential(double mean);

 private:
  std::uint64_t seed_;
  EntityId entity_;
  std::uint32_t stream_;
  std::uint64_t index_;
};

}  // namespace tessera
