// How well sizes of tiles suit.
#pragma once

#include <algorithm>
#include <tuple>

#include "tessera/core/wide.hpp"

namespace tessera::npu {

// First the cycles of the busiest core, where differences of a sixteenth do not count, then what is
// moved, then the number of tiles.
struct TilingScore {
  Wide busiest = 0;
  Wide moved = 0;  // [B]
  Wide tiles = 0;

  bool is_better_than(const TilingScore& other) const {
    const Wide slack = std::min(busiest, other.busiest) / 16;
    if (busiest + slack < other.busiest || other.busiest + slack < busiest) {
      return busiest < other.busiest;
    }
    return std::tie(moved, busiest, tiles) < std::tie(other.moved, other.busiest, other.tiles);
  }
};

}  // namespace tessera::npu
