// The host of each node, which issues its operations one after the other while the device is at
// those before: the longer of both streams counts, not their sum.
//
// Each operation takes the host `issue`, and so does each collective and message between two of
// them. It is ahead of the device without limit, as launches of CUDA are as long as their queue
// holds them (1024, general knowledge, unverified), but where it waits for the device:
// `Issue::waits`. Before the first operation of a pass it takes `pass` for what no operator is for:
// the schedule, batches, losses and timers of a framework.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/compute/messages.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::compute {

class HostStream {
 public:
  // Without times it keeps nothing.
  HostStream(const HostTimes& times, std::size_t nodes)
      : times_(times), until_(times.is_nothing() ? 0 : nodes) {}

  SimTime begin(std::uint32_t node, SimTime now, Issue issue) {
    return until_.empty() ? now : times_.begin(until_[node], now, issue);
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
  HostTimes times_;
  std::vector<SimTime> until_;  // by local node: busy with what it has issued
};

}  // namespace tessera::compute
