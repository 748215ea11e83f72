// What a rank promises of the messages at its hubs: the outlook of the `flow` network.
//
// Method: a message that comes to a hub here is over no sooner than if it had all links of its
// route to itself. One that flows is over no sooner than if it had them from now on: others may end
// and leave it their shares. Both stay true whatever happens, so that bounds are kept in a heap for
// each region; one that flows gets better as time goes on, and is looked at again when it is the
// first and too early for those who ask. A message that waits for its turn comes after the one
// before it, which is there, too.
//
// Bounds of messages to nodes here that somebody follows (followed_flag) are kept alike, and told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/outlook.hpp"
#include "tessera/pdes/pending_crossings.hpp"

namespace tessera::network {

class FlowHub;

class FlowOutlook {
 public:
  // `ahead`: from a hub to a receiver. `window`: events run in windows of that at most. Until told,
  // messages may pass through here from anywhere to anywhere. The view outlives it.
  FlowOutlook(const pdes::RegionView& regions, SimTime ahead, SimTime window);

  bool is_here(EntityId node) const { return regions_.is_here(node); }
  std::uint32_t region_of(EntityId node) const { return regions_.owner[node.value()]; }

  // Nothing passes through here but what is told from now on: by a hub here, to a region, of what
  // nodes elsewhere send.
  void forget_passes();
  void passes(std::uint32_t region) { of_[region].through = ahead_; }

  // An event at `now` is handled: events run in windows, in any order.
  void reached(SimTime now) { handled_ = std::max(handled_, now - window_); }
  // The hub's event of a message is pending for `time`; it arrives elsewhere at `arrives` or later.
  void comes(EntityId target, SimTime time, SimTime arrives);
  // A message flows: under this number, as long as FlowHub::holds() says so.
  void flows(const FlowHub& hub, std::uint32_t flow, std::uint32_t generation, EntityId target,
             SimTime arrives);

  pdes::Outlook outlook(std::uint32_t rank, const pdes::Moment& moment);

 private:
  struct Flow {
    SimTime arrives;  // or later
    const FlowHub* hub = nullptr;
    std::uint32_t flow = 0;
    std::uint32_t generation = 0;
  };
  struct Later {
    bool operator()(const Flow& a, const Flow& b) const { return a.arrives > b.arrives; }
  };
  struct Region {
    pdes::PendingCrossings coming;
    std::vector<Flow> flowing;  // a heap
    std::size_t room = 0;
    SimTime through = SimTime::never();
  };

  void push(Region& region, const Flow& flow);
  SimTime earliest(std::uint32_t rank, const pdes::Moment& moment);

  pdes::RegionView regions_;
  SimTime ahead_;
  SimTime window_;
  SimTime handled_;         // events before it
  std::vector<Region> of_;  // [ranks]; of this one, what is followed
};

}  // namespace tessera::network
