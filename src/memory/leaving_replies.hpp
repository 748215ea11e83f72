// Replies of memory channels to requesters in other regions: for the outlook of a memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/pdes/outlook.hpp"
#include "tessera/pdes/pending_crossings.hpp"

namespace tessera::memory {

class LeavingReplies {
 public:
  // `setup.regions` is not null. Outlives nothing of it but the machine. `latency`: of any channel
  // from a request to its reply, at least; none: as the machine says.
  explicit LeavingReplies(const MemorySetup& setup, std::optional<SimTime> latency = std::nullopt)
      : exit_of_(setup.exit_of), window_(setup.machine.topology->smallest_latency()) {
    const machine::Machine& machine = setup.machine;
    std::uint32_t ranks = 0;
    for (const std::uint32_t owner : setup.regions->owner) {
      ranks = std::max(ranks, owner + 1);
    }
    regions_.resize(ranks);
    for (std::uint32_t node = 0; node < machine.topology->nodes(); ++node) {
      const EntityId tile(node);
      if (node >= machine.channel_of.size() ||
          machine.channel_of[node] >= machine.channels.size()) {
        continue;
      }
      const machine::MemoryChannel& channel = machine.channels[machine.channel_of[node]];
      if (!setup.regions->is_here(channel.node)) {
        continue;
      }
      least_latency_ = std::min(least_latency_, latency.value_or(channel.latency));
      const pdes::Exit exit = exit_of_(channel.node, tile);
      // Requests of a tile here may come in, too: on a route that leaves the region and returns.
      if (exit.leaves()) {
        regions_[exit.region].least_reply =
            std::min(regions_[exit.region].least_reply, exit.latency);
      }
      if (exit.leaves() &&
          (!setup.regions->is_here(tile) || exit_of_(tile, channel.node).leaves())) {
        regions_[exit.region].serves = true;
      }
    }
  }

  // A request of `requester` is on its way to the channel at `channel`, `messages` of it.
  void expect(EntityId channel, EntityId requester, std::uint64_t messages) {
    if (const pdes::Exit exit = exit_of_(channel, requester); exit.leaves()) {
      Region& region = regions_[exit.region];
      region.under_way += messages;
      region.least_reply = std::min(region.least_reply, exit.latency);
    }
  }
  // One of them has come.
  void take(EntityId channel, EntityId requester) {
    if (const pdes::Exit exit = exit_of_(channel, requester); exit.leaves()) {
      ensure(regions_[exit.region].under_way > 0, "a request that was not expected");
      --regions_[exit.region].under_way;
    }
  }
  // An event at `now` is handled: events run in windows of a link's latency at most, in any order.
  void reached(SimTime now) { handled_ = std::max(handled_, now - window_); }
  // It will be answered at `time`.
  void answer_at(SimTime time, EntityId channel, EntityId requester) {
    if (const pdes::Exit exit = exit_of_(channel, requester); exit.leaves()) {
      regions_[exit.region].pending.reached(handled_);
      regions_[exit.region].pending.add(time, time + exit.latency);
    }
  }
  // Any event here may send a message from `from`, which is here, to `to`, until it is let go.
  void hold(EntityId from, EntityId to) {
    if (const pdes::Exit exit = exit_of_(from, to); exit.leaves()) {
      Region& region = regions_[exit.region];
      ++region.held;
      region.least_exit = std::min(region.least_exit, exit.latency);
    }
  }
  void let_go(EntityId from, EntityId to) {
    if (const pdes::Exit exit = exit_of_(from, to); exit.leaves()) {
      ensure(regions_[exit.region].held > 0, "a message that was not held");
      --regions_[exit.region].held;
    }
  }
  bool leaves(EntityId from, EntityId to) const { return exit_of_(from, to).leaves(); }

  pdes::Outlook outlook(std::uint32_t rank, SimTime next) {
    Region& region = regions_[rank];
    pdes::Outlook outlook;
    outlook.at = region.pending.earliest(next);
    // A device may answer at once, but the reply has its way before it.
    const SimTime least_answer =
        region.least_reply.is_never() ? SimTime::never() : least_latency_ + region.least_reply;
    outlook.after_next = region.under_way > 0 ? least_answer : SimTime::never();
    if (region.held > 0) {
      outlook.after_next = std::min(outlook.after_next, region.least_exit);
    }
    outlook.after_input = region.serves ? least_answer : SimTime::never();
    return outlook;
  }

 private:
  struct Region {
    pdes::PendingCrossings pending;
    std::uint64_t under_way = 0;  // messages to channels here whose replies go there
    std::uint64_t held = 0;
    SimTime least_exit = SimTime::never();   // of what was ever held
    SimTime least_reply = SimTime::never();  // from a channel here, of those whose replies go there
    bool serves = false;                     // requests come in whose replies go there
  };
  std::function<pdes::Exit(EntityId, EntityId)> exit_of_;
  SimTime window_;
  SimTime handled_;              // events before it
  std::vector<Region> regions_;  // [ranks] by where replies go first
  SimTime least_latency_ = SimTime::never();
};

}  // namespace tessera::memory
