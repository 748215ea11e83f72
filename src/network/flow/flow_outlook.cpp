#include "flow/flow_outlook.hpp"

#include <algorithm>

#include "flow/hub.hpp"

namespace tessera::network {
namespace {

constexpr std::size_t least_room = 256;  // flows of a region, over or not

}  // namespace

FlowOutlook::FlowOutlook(const pdes::RegionView& regions, SimTime ahead, SimTime window)
    : regions_(regions), ahead_(ahead), window_(window) {
  std::uint32_t ranks = 0;
  for (const std::uint32_t owner : regions.owner) {
    ranks = std::max(ranks, owner + 1);
  }
  of_.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    passes(rank);
  }
}

void FlowOutlook::forget_passes() {
  for (Region& region : of_) {
    region.through = SimTime::never();
  }
}

void FlowOutlook::comes(EntityId target, SimTime time, SimTime arrives) {
  Region& region = of_[region_of(target)];
  region.coming.reached(handled_);
  region.coming.add(time, arrives);
}

void FlowOutlook::flows(const FlowHub& hub, std::uint32_t flow, std::uint32_t generation,
                        EntityId target, SimTime arrives) {
  push(of_[region_of(target)], {arrives, &hub, flow, generation});
}

// A rank that never waits never asks: those that are over are dropped when there are twice as many
// as were kept the last time.
void FlowOutlook::push(Region& region, const Flow& flow) {
  if (region.flowing.size() >= std::max(region.room, least_room)) {
    std::erase_if(region.flowing,
                  [](const Flow& one) { return !one.hub->holds(one.flow, one.generation); });
    std::make_heap(region.flowing.begin(), region.flowing.end(), Later());
    region.room = 2 * region.flowing.size();
  }
  region.flowing.push_back(flow);
  std::push_heap(region.flowing.begin(), region.flowing.end(), Later());
}

// Of those that flow; as late as is known, or as is of use.
SimTime FlowOutlook::earliest(std::uint32_t rank, const pdes::Moment& moment) {
  std::vector<Flow>& flowing = of_[rank].flowing;
  const SimTime enough = std::max(moment.wanted, moment.next + moment.width);
  while (!flowing.empty()) {
    Flow first = flowing.front();
    const bool is_held = first.hub->holds(first.flow, first.generation);
    if (is_held) {
      if (first.arrives >= enough) {
        return first.arrives;
      }
      const SimTime arrives = first.hub->least_end(first.flow, moment.done) + ahead_;
      if (arrives <= first.arrives) {
        return first.arrives;
      }
      first.arrives = arrives;
    }
    std::pop_heap(flowing.begin(), flowing.end(), Later());
    flowing.pop_back();
    if (is_held) {
      flowing.push_back(first);
      std::push_heap(flowing.begin(), flowing.end(), Later());
      if (rank == regions_.self) {
        first.hub->tell_progress(first.flow, first.arrives);
      }
    }
  }
  return SimTime::never();
}

// What flows is over in an event of its hub, which is handled when nothing comes in before, and
// arrives `ahead` after that. Where that says more it is said: `done` goes on with events alone,
// and a bound that is not after the next one would make ranks wait for each other.
pdes::Outlook FlowOutlook::outlook(std::uint32_t rank, const pdes::Moment& moment) {
  earliest(regions_.self, moment);  // for those who wait for it here, and are asked after this
  pdes::Outlook outlook;
  outlook.at = earliest(rank, moment);
  outlook.after_input = of_[rank].through;
  if (outlook.at < moment.next + ahead_) {
    outlook = {SimTime::never(), ahead_, ahead_};
  }
  outlook.at = std::min(outlook.at, of_[rank].coming.earliest(moment.next));
  return outlook;
}

}  // namespace tessera::network
