// How long a collective takes that nothing disturbs.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "tessera/plan/plan.hpp"

namespace tessera::plan {

// Follows the steps of every member: a step is over when the own one before is over and the message
// has come that its sender sent after its own step before. Exact where no two messages share a
// link. Remembers what it was asked.
class CollectiveClock {
 public:
  // Both must outlive the clock; of the plan, placement and algorithms must be there.
  CollectiveClock(const Plan& plan, const TransferTime& transfer_time)
      : plan_(plan), transfer_time_(transfer_time) {}
  // Of the group that the first tile of the stage is in. O(steps * members).
  SimTime time(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
               Bytes bytes);

 private:
  SimTime compute(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
                  Bytes bytes) const;

  const Plan& plan_;
  const TransferTime& transfer_time_;
  std::map<std::tuple<std::uint32_t, Group, collective::Kind, Bytes>, SimTime> known_;
};

}  // namespace tessera::plan
