// The host of each node, which issues its operations one after the other while the device is at
// those before: the longer of both streams counts, not their sum.
//
// Each operation takes the host `issue`, and so does each collective and message between two of
// them. It is ahead of the device without limit, as launches of CUDA are as long as their queue
// holds them (1024, general knowledge, unverified), but where it waits for the device:
// `Issue::waits`. Before the first operation of a pass it takes `pass` for what no operator is for:
// the schedule, batches, losses and timers of a framework.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/compute/messages.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::compute {

class HostStream {
 public:
  // Without an issue time it keeps nothing.
  HostStream(SimTime issue, std::size_t nodes, SimTime pass = {})
      : issue_(issue), pass_(pass), until_(issue + pass > SimTime::zero() ? nodes : 0) {}

  // When the device can begin with an operation that it is free for now.
  SimTime begin(std::uint32_t node, SimTime now, Issue issue) {
    if (until_.empty()) {
      return now;
    }
    SimTime& until = until_[node];
    const SimTime from = issue.waits ? std::max(until, now) : until;
    until = from + issue_ * (1 + std::int64_t{issue.others});
    if (issue.begins) {
      until = until + pass_;
    }
    return std::max(now, until);
  }

  void save(std::uint32_t node, pdes::StateWriter& writer) const {
    if (!until_.empty()) {
      writer.put(until_[node]);
    }
  }
  void restore(std::uint32_t node, pdes::StateReader& reader) {
    if (!until_.empty()) {
      until_[node] = reader.get<SimTime>();
    }
  }

 private:
  SimTime issue_;
  SimTime pass_;
  std::vector<SimTime> until_;  // by local node: busy with what it has issued
};

}  // namespace tessera::compute
