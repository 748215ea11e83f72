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

  // A request of `requester` is on its way to the channel at `channel`, and not there before
  // `earliest`.
  void expect(EntityId channel, EntityId requester, SimTime earliest = SimTime::zero()) {
    const pdes::Exit exit = exit_of_(channel, requester);
    if (!exit.leaves()) {
      return;
    }
    Region& region = regions_[exit.region];
    region.least_reply = std::min(region.least_reply, exit.latency);
    const std::uint32_t number = asked(region, channel);
    Asked& of = region.asked[number];
    ++of.under_way;
    of.exit = std::min(of.exit, exit.latency);
    if (earliest > handled_) {
      ++of.to_come;
      region.coming.push_back({earliest, number});
      std::push_heap(region.coming.begin(), region.coming.end(), Later());
    }
  }
  // One of them has come.
  void take(EntityId channel, EntityId requester) {
    if (const pdes::Exit exit = exit_of_(channel, requester); exit.leaves()) {
      Region& region = regions_[exit.region];
      Asked& of = region.asked[asked(region, channel)];
      ensure(of.under_way > 0, "a request that was not expected");
      --of.under_way;
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
    return outlook(rank, next, [](EntityId /*channel*/) { return SimTime::zero(); });
  }
  // `free_at(channel)`: when it will have served what has come; it serves in order of arrival.
  template <class FreeAt>
  pdes::Outlook outlook(std::uint32_t rank, SimTime next, const FreeAt& free_at) {
    Region& region = regions_[rank];
    pdes::Outlook outlook;
    outlook.at = region.pending.earliest(next);
    add_requests(region, next, free_at, outlook);
    // A device may answer at once, but the reply has its way before it.
    const SimTime least_answer =
        region.least_reply.is_never() ? SimTime::never() : least_latency_ + region.least_reply;
    if (region.held > 0) {
      outlook.after_next = std::min(outlook.after_next, region.least_exit);
    }
    outlook.after_input = region.serves ? least_answer : SimTime::never();
    return outlook;
  }

 private:
  // Of a channel here whose replies go to a region.
  struct Asked {
    EntityId channel;
    SimTime exit = SimTime::never();  // least latency of a reply
    std::uint64_t under_way = 0;      // requests to it
    std::uint64_t to_come = 0;        // of those, at times that are not over
  };
  struct Coming {
    SimTime earliest;
    std::uint32_t asked = 0;  // number
  };
  // Of requests that are to come; of more, the first one stands for all.
  static constexpr std::size_t most_looked_at = 64;
  struct Later {
    bool operator()(const Coming& a, const Coming& b) const { return a.earliest > b.earliest; }
  };
  struct Region {
    pdes::PendingCrossings pending;
    std::vector<Asked> asked;    // few: those with requesters there
    std::vector<Coming> coming;  // a heap
    std::uint64_t held = 0;
    SimTime least_exit = SimTime::never();   // of what was ever held
    SimTime least_reply = SimTime::never();  // from a channel here, of those whose replies go there
    bool serves = false;                     // requests come in whose replies go there
  };

  static std::uint32_t asked(Region& region, EntityId channel) {
    const auto found = std::ranges::find(region.asked, channel, &Asked::channel);
    if (found == region.asked.end()) {
      region.asked.push_back({.channel = channel});
      return static_cast<std::uint32_t>(region.asked.size() - 1);
    }
    return static_cast<std::uint32_t>(found - region.asked.begin());
  }

  // A request whose time has come may be there at the next event; what is there before is served
  // before. One that was taken had come, so that no other is missed.
  template <class FreeAt>
  void add_requests(Region& region, SimTime next, const FreeAt& free_at, pdes::Outlook& outlook) {
    while (!region.coming.empty() && region.coming.front().earliest < next) {
      --region.asked[region.coming.front().asked].to_come;
      std::pop_heap(region.coming.begin(), region.coming.end(), Later());
      region.coming.pop_back();
    }
    for (const Asked& of : region.asked) {
      if (of.under_way > of.to_come) {
        const SimTime free = free_at(of.channel);
        SimTime& bound = free > next ? outlook.at : outlook.after_next;
        bound = std::min(bound, (free > next ? free : SimTime::zero()) + least_latency_ + of.exit);
      }
    }
    if (region.coming.size() > most_looked_at) {
      const SimTime earliest = region.coming.front().earliest;
      outlook.at = std::min(outlook.at, earliest + least_latency_ + region.least_reply);
      return;
    }
    for (const Coming& request : region.coming) {
      const Asked& of = region.asked[request.asked];
      const SimTime served = std::max(request.earliest, free_at(of.channel));
      outlook.at = std::min(outlook.at, served + least_latency_ + of.exit);
    }
  }

  std::function<pdes::Exit(EntityId, EntityId)> exit_of_;
  SimTime window_;
  SimTime handled_;              // events before it
  std::vector<Region> regions_;  // [ranks] by where replies go first
  SimTime least_latency_ = SimTime::never();
};

}  // namespace tessera::memory
