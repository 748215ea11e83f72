// Many cycles of a DRAM channel at once.
#pragma once

#include <algorithm>
#include <vector>

#include "dram/port.hpp"
#include "tessera/memory/dram/channel.hpp"

namespace tessera::memory {

// See DramChannel::run. `Scheduler`: the final class, so that no call in the loop is virtual.
template <class Scheduler>
Cycle run_channel(Scheduler& channel, Cycle from, Cycle until, DramPort& port,
                  const DramAddressMap& map, std::vector<DramDone>& done) {
  Cycle now = from;
  Cycle next = channel.Scheduler::next();
  while (now < until) {
    bool submitted = false;
    while (!port.empty() && port.opens() <= now) {
      const WaitingBursts& bursts = port.front();
      const bool write = bursts.write != 0;
      if (!channel.Scheduler::accepts(write)) {
        break;
      }
      const DramPlace at = map.place_in_channel(bursts.index);
      channel.Scheduler::submit(now, {bursts.piece, bursts.index, at.bank, at.row, write}, done);
      port.pop(now);
      submitted = true;
    }
    if (submitted || next <= now) {
      next = channel.Scheduler::tick(now, done);
    }
    // Bursts that were not accepted are tried again after the channel's next command, or at once
    // where that was its last; those that wait for the port when it opens.
    Cycle then = next;
    if (!port.empty()) {
      if (port.opens() > now) {
        then = std::min(then, port.opens());
      } else if (next == no_cycle) {
        then = now + 1;
      }
    }
    now = then;
  }
  return now;
}

}  // namespace tessera::memory
