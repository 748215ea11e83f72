// How soon what happens in one region of a cut machine can matter in another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/core/time.hpp"

namespace tessera {

// As the rank of one region needs to know it: O(ranks), and the pairs that send straight to each
// other.
struct RegionDelays {
  // An entity of one region sends an event straight to one of another.
  struct Direct {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    SimTime delay;  // at least
  };

  // [ranks] From here to there, and from there to here. No path is shorter; of the region itself,
  // no cycle through another one, and never where it is the only one.
  std::vector<SimTime> to;
  std::vector<SimTime> from;
  // In order of `from`, then `to`. Pairs without this region may be left out where there are more
  // than `most_listed` regions and all send to all.
  std::vector<Direct> direct;

  static constexpr std::size_t most_listed = 32;

  // Of region `self`, from those of all pairs [ranks * ranks], row: from. `direct` is never where
  // nothing is sent, and not used on the diagonal.
  static RegionDelays seen_from(std::size_t self, std::size_t ranks, std::span<const SimTime> least,
                                std::span<const SimTime> direct) {
    RegionDelays delays;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      delays.to.push_back(least[self * ranks + rank]);
      delays.from.push_back(least[rank * ranks + self]);
    }
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        if (from != to && !direct[from * ranks + to].is_never()) {
          delays.direct.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                                   direct[from * ranks + to]});
        }
      }
    }
    return delays;
  }

  // Where an entity of any region may send to one of any other: `reach` away, or as far as what
  // goes along links.
  void connect_all(std::size_t self, std::optional<SimTime> reach) {
    const std::size_t ranks = to.size();
    for (std::size_t rank = 0; reach && rank < ranks; ++rank) {
      const SimTime least = *reach * (rank == self ? 2 : 1);
      to[rank] = std::min(to[rank], least);
      from[rank] = std::min(from[rank], least);
    }
    direct.clear();
    for (std::uint32_t a = 0; a < ranks; ++a) {
      for (std::uint32_t b = 0; b < ranks; ++b) {
        if (a != b && (a == self || b == self || ranks <= most_listed)) {
          direct.push_back({a, b, a == self ? to[b] : b == self ? from[a] : SimTime::zero()});
        }
      }
    }
  }
};

}  // namespace tessera
