// Random numbers of the models: counter-based, a draw depends on (seed, entity, counter) alone.
//
// A chain of 64-bit finalisers instead of core's Philox: the models should weigh little against
// the engine that is measured, and need no statistical quality beyond even spread.
#pragma once

#include <cmath>
#include <cstdint>

#include "tessera/core/digest.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"

namespace tessera::bench {

// `seed` should be a hash already (mix64), entities and counters need not.
inline std::uint64_t draw(std::uint64_t seed, EntityId entity, std::uint64_t counter) {
  constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;
  return mix64(mix64(seed + entity.value()) + counter * golden_ratio);
}

// Another draw from a draw.
inline std::uint64_t draw_again(std::uint64_t drawn) {
  return mix64(drawn + 0xc2b2ae3d27d4eb4fULL);
}

// Uniform in [0, bound) from 32 random bits.
inline std::uint32_t below(std::uint32_t random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(std::uint64_t{random} * bound >> 32);
}

// Uniform over all entities but `self`; `entities` >= 2.
inline EntityId other_entity(std::uint32_t random, std::uint32_t entities, EntityId self) {
  const std::uint32_t drawn = below(random, entities - 1);
  return EntityId(drawn < self.value() ? drawn : drawn + 1);
}

// Exponential by inversion, rounded down to picoseconds. std::log may differ in the last bit
// between mathematics libraries, so digests are comparable on one machine only.
inline SimTime exponential(std::uint64_t drawn, SimTime mean) {
  const double uniform = static_cast<double>((drawn >> 11) + 1) * 0x1.0p-53;  // (0, 1]
  return SimTime::from_ps(
      static_cast<std::int64_t>(-static_cast<double>(mean.ps()) * std::log(uniform)));
}

// A share of one as the bound below which 32 random bits fall with that probability.
inline std::uint64_t threshold(double share) {
  return static_cast<std::uint64_t>(share * 0x1.0p32);
}

// A hash of what an entity saw, in the order in which it saw it.
inline std::uint64_t noted(std::uint64_t hash, std::uint64_t seen) {
  return (hash ^ seen) * 0x165667b19e3779f9ULL;
}

}  // namespace tessera::bench
