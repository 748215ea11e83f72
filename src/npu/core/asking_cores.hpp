// Which cores of a rank will ask for memory over a border: for the outlook of cores.
//
// Method: a core asks when it goes on, at a time that it knows where nothing is being moved for it,
// and at any event where something is. What a core without work does follows from those who give it
// some, who say so. Nothing else of a core leaves its node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/pdes/outlook.hpp"
#include "tessera/pdes/pending_crossings.hpp"

namespace tessera::npu {

class AskingCores {
 public:
  // `asks`: whether cores ask for anything. `window`: in which events run in any order.
  AskingCores(const compute::OperandWays& ways, std::span<const EntityId> members, bool asks,
              SimTime window)
      : window_(window), is_moving_(asks ? members.size() : 0), exits_(asks ? members.size() : 0) {
    std::uint32_t ranks = 0;
    for (const std::uint32_t owner : ways.regions->owner) {
      ranks = std::max(ranks, owner + 1);
    }
    regions_.resize(ranks);
    for (std::size_t index = 0; index < exits_.size(); ++index) {
      const EntityId memory = ways.memory_node(members[index]);
      if (memory.valid() && memory != members[index]) {
        // The reply of a channel here may leave and come back, too.
        add_exit(exits_[index], ways.exit_of(members[index], memory));
        if (ways.regions->is_here(memory)) {
          add_exit(exits_[index], ways.exit_of(memory, members[index]));
        }
      }
    }
  }

  struct Stand {
    bool is_moving = false;              // accesses are under way
    SimTime goes_on = SimTime::never();  // by an event of its own
  };
  // Of the core at this index, after an event at `now`.
  void stand(std::uint32_t index, SimTime now, const Stand& stand) {
    if (exits_.empty() || exits_[index].empty()) {
      return;
    }
    for (const auto& [rank, latency] : exits_[index]) {
      Region& region = regions_[rank];
      if (stand.is_moving && !is_moving_[index]) {
        ++region.moving[latency];
      } else if (!stand.is_moving && is_moving_[index] && --region.moving[latency] == 0) {
        region.moving.erase(latency);
      }
      if (!stand.goes_on.is_never()) {
        region.going_on.reached(now - std::min(now, window_));
        region.going_on.add(stand.goes_on, stand.goes_on + latency);
      }
    }
    is_moving_[index] = stand.is_moving;
  }

  pdes::Outlook outlook(std::uint32_t rank, SimTime next) {
    Region& region = regions_[rank];
    pdes::Outlook outlook;
    outlook.at = region.going_on.earliest(next);
    if (!region.moving.empty()) {
      outlook.after_next = region.moving.begin()->first;
    }
    return outlook;
  }

 private:
  using Exits = std::map<std::uint32_t, SimTime>;  // least latency by region
  struct Region {
    pdes::PendingCrossings going_on;
    std::map<SimTime, std::uint64_t> moving;  // cores by their way
  };

  static void add_exit(Exits& exits, const pdes::Exit& exit) {
    if (exit.leaves()) {
      const auto [known, is_new] = exits.try_emplace(exit.region, exit.latency);
      known->second = std::min(known->second, exit.latency);
    }
  }

  SimTime window_;
  std::vector<bool> is_moving_;  // [local entities]
  std::vector<Exits> exits_;     // [local entities]
  std::vector<Region> regions_;  // [ranks]
};

}  // namespace tessera::npu
