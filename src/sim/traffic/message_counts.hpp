// What is known of the messages of synthetic traffic when they have come.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/executor/time_distribution.hpp"
#include "tessera/pdes/state.hpp"
#include "tessera/trace/summary.hpp"
#include "traffic/executor.hpp"

namespace tessera::sim {

// Of what is measured, in order.
std::vector<std::string> message_measures();

// Of one rank, or of some before a checkpoint.
class MessageCounts {
 public:
  std::uint64_t sent = 0;
  std::uint64_t come = 0;
  std::uint64_t in_time = 0;  // of these, that came while messages were still sent

  // One has come after so long.
  void take(SimTime latency, bool came_in_time);
  void add_all(const MessageCounts& other);
  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
  std::size_t resident_bytes() const { return latencies_.resident_bytes(); }

  // Of all ranks, on each: what came, and how long it took. Percentiles are as
  // executor::TimeDistribution has them, whatever the number of ranks.
  std::vector<trace::Measure> measures(const TrafficWork& work,
                                       comm::Communicator& communicator) const;

 private:
  std::uint64_t least_ps_ = ~std::uint64_t{0};
  executor::TimeDistribution latencies_;
};

}  // namespace tessera::sim
