// What a collective over a ring takes at least, by where its members lie.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace tessera::explore {

// From one tile to another on an idle machine.
struct Way {
  double latency = 0;      // of a message without bytes [ps]
  double ps_per_byte = 0;  // of its slowest link
  friend auto operator<=>(const Way&, const Way&) = default;
};

// Method. Of the members of a ring let m be the last to begin. What m sends goes from member to
// member, each of which sends on what it has received: over as many consecutive ways as there are
// steps, whose messages go one after the other. For size - 1 steps these are all ways of the ring
// but one, for twice as many all but one, twice. This holds on any network that is never faster
// than an idle one.
// Where messages share links there is more: of the ways with the lowest bandwidth one begins at
// most `behind` members after m; so all chunks but as many follow each other on it once m has
// begun. The last member ends no earlier than either, counted from the last beginning. So sums of
// these times, over what tiles do one after the other, hold for the latest tile of a stage.
class RingFloor {
 public:
  // ways[i]: from member i to the next one; two at least.
  explicit RingFloor(const std::vector<Way>& ways);
  // `chunk`: bytes of the smallest that is sent in a step [ps].
  double least(double steps, double chunk, bool share_links) const;
  friend auto operator<=>(const RingFloor&, const RingFloor&) = default;

 private:
  double others_;           // members without one
  Way round_;               // sums over all ways, each without its largest
  double slowest_;          // lowest bandwidth of a way [ps per byte]
  double slowest_latency_;  // the smallest of ways that are so slow
  std::uint32_t behind_ = 0;
};

}  // namespace tessera::explore
