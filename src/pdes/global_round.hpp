// A round in which all ranks meet: one reduction carries next event times, batch counts and
// counters together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {

class GlobalRound {
 public:
  // `delays`: RegionDelays::from.
  GlobalRound(comm::Communicator& communicator, std::vector<SimTime> delays);

  // Sums of a policy's own over all ranks.
  using Counts = std::array<std::int64_t, 2>;

  // SyncPolicy::advance for a global round; `counts` are this rank's before and all ranks' after.
  RoundResult advance(Site& site, const RoundSums& sums, Counts& counts);
  std::uint64_t batches_sent() const { return batches_sent_; }

 private:
  RoundResult result() const;

  comm::Communicator& communicator_;
  std::vector<SimTime> delays_;
  std::size_t ranks_;
  std::size_t self_;
  std::vector<comm::MinSum> values_;  // [ranks] earliest event and batches, then counters
  std::uint64_t batches_sent_ = 0;
};

// A batch, seen as what it is made of.
std::span<const Event> events_of(std::span<const std::byte> batch);

}  // namespace tessera::pdes
