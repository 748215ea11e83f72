// Cuts a set of entities over ranks, for engines without a machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::pdes::testing {

using Owner = std::function<std::uint32_t(std::uint32_t entity, std::uint32_t ranks)>;

inline Owner blocks(std::uint32_t entities) {
  return [entities](std::uint32_t entity, std::uint32_t ranks) {
    return static_cast<std::uint32_t>(std::uint64_t{entity} * ranks / entities);
  };
}

// Closes direct delays under composition, with the shortest cycle on the diagonal.
inline std::vector<SimTime> closed(std::vector<SimTime> delays, std::size_t ranks) {
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    delays[rank * ranks + rank] = SimTime::never();
  }
  for (std::size_t k = 0; k < ranks; ++k) {
    for (std::size_t j = 0; j < ranks; ++j) {
      for (std::size_t i = 0; i < ranks; ++i) {
        delays[j * ranks + i] =
            std::min(delays[j * ranks + i], delays[j * ranks + k] + delays[k * ranks + i]);
      }
    }
  }
  return delays;
}

// As this rank sees them, of all pairs.
inline RegionDelays delays_of(const comm::Communicator& communicator,
                              const std::vector<SimTime>& least,
                              const std::vector<SimTime>& direct) {
  return RegionDelays::seen_from(static_cast<std::size_t>(communicator.rank()),
                                 static_cast<std::size_t>(communicator.size()), least, direct);
}

// Every two regions `distance` apart.
inline Regions regions_of(const comm::Communicator& communicator, std::uint32_t entities,
                          const Owner& owner, SimTime distance) {
  const auto ranks = static_cast<std::uint32_t>(communicator.size());
  Regions regions;
  for (std::uint32_t entity = 0; entity < entities; ++entity) {
    regions.owner.push_back(owner(entity, ranks));
    if (regions.owner.back() == static_cast<std::uint32_t>(communicator.rank())) {
      regions.members.emplace_back(entity);
    }
  }
  std::vector<SimTime> delays(std::size_t{ranks} * ranks, distance);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    delays[rank * ranks + rank] = ranks == 1 ? SimTime::never() : distance * 2;
  }
  regions.delays = delays_of(communicator, delays, delays);
  return regions;
}

}  // namespace tessera::pdes::testing
