#include "search/ring_floor.hpp"

#include <algorithm>
#include <limits>

namespace tessera::explore {

RingFloor::RingFloor(const std::vector<Way>& ways)
    : others_(static_cast<double>(ways.size()) - 1),
      slowest_(0),
      slowest_latency_(std::numeric_limits<double>::infinity()) {
  Way longest;
  for (const Way& way : ways) {
    round_.latency += way.latency;
    round_.ps_per_byte += way.ps_per_byte;
    longest.latency = std::max(longest.latency, way.latency);
    longest.ps_per_byte = std::max(longest.ps_per_byte, way.ps_per_byte);
  }
  round_.latency -= longest.latency;
  round_.ps_per_byte -= longest.ps_per_byte;
  slowest_ = longest.ps_per_byte;
  // Twice round, so that the run over the end counts too.
  std::uint32_t run = 0;
  for (std::size_t i = 0; i < 2 * ways.size(); ++i) {
    const Way& way = ways[i % ways.size()];
    if (way.ps_per_byte == slowest_) {
      slowest_latency_ = std::min(slowest_latency_, way.latency);
      run = 0;
    } else {
      behind_ = std::max(behind_, ++run);
    }
  }
}

double RingFloor::least(double steps, double chunk, bool share_links) const {
  const double one_by_one = steps / others_ * (round_.latency + chunk * round_.ps_per_byte);
  const double chunks = std::max(0.0, steps - static_cast<double>(behind_));
  return share_links && chunks > 0
             ? std::max(one_by_one, slowest_latency_ + chunks * chunk * slowest_)
             : one_by_one;
}

}  // namespace tessera::explore
