// What is under way in a flit network and will be heard of in other regions: for its outlook.
//
// Method: routes are known, so that a head tells where its packet leaves the region and how far
// that is. It counts from the moment it comes in until its tail has gone over the border, with the
// way that its head still has at least: what waits in a buffer moves with events alone. A message
// at its sender counts like a head there until its last flit is in the router. Flits that came over
// a border count until they have left the buffer that they came to, since a credit goes back then.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "flit/routes.hpp"
#include "packet/crossings.hpp"
#include "tessera/core/error.hpp"

namespace tessera::network {

// Routes that do not depend on what is under way, as Crossings sees them.
class FlitFabric {
 public:
  static constexpr bool is_straight = false;
  FlitFabric(const machine::Topology& topology, const FlitRoutes& routes)
      : topology_(&topology), routes_(&routes) {}
  unsigned next_port(EntityId here, EntityId target) const {
    return routes_->next({here, here, target, topology_->ports(here), 0}).port;
  }
  EntityId neighbour(EntityId here, unsigned port) const { return topology_->link(here, port).to; }

 private:
  const machine::Topology* topology_;
  const FlitRoutes* routes_;
};

// Least times over a link, by class: of a flit from the beginning of the cycle in which its router
// lets it go, and of the credit that goes back beside it.
struct FlitReach {
  std::vector<SimTime> flit;
  std::vector<SimTime> credit;
  SimTime early;  // as much later than the beginning of a cycle routers work in it
};

class FlitDepartures {
 public:
  // All is kept by reference but `reach`.
  FlitDepartures(const machine::Topology& topology, const FlitRoutes& routes,
                 const pdes::RegionView& regions, FlitReach reach)
      : topology_(topology),
        regions_(regions),
        reach_(std::move(reach)),
        fabric_(topology, routes),
        crossings_(fabric_, topology, regions, reach_.flit) {
    for (std::uint32_t node = 0; node < regions.owner.size(); ++node) {
      regions_there_.resize(std::max<std::size_t>(regions_there_.size(), regions.owner[node] + 1));
    }
    for (std::uint32_t node = 0; node < regions.owner.size(); ++node) {
      find_credits(EntityId(node));
    }
  }

  Crossings<FlitFabric>& crossings() { return crossings_; }

  // A head, or a message that waits, is at `here` on its way to `target`; it is there no more.
  void come(EntityId here, EntityId target) { count(crossings_.exit_of(here, target)); }
  void go(EntityId here, EntityId target) { forget(crossings_.exit_of(here, target)); }
  // A flit goes over a link of that class to `next`.
  void pass(EntityId here, EntityId next, std::uint16_t link_class, const Flit& flit) {
    if (!regions_.is_here(next)) {
      if (flit.is(Flit::tail)) {
        forget({regions_.owner[next.value()], reach_.flit[link_class]});
      }
    } else if (flit.is(Flit::head)) {
      go(here, EntityId(flit.target));
      come(next, EntityId(flit.target));
    }
  }
  // The head of a packet has gone over the border to `next`, its tail has not.
  void stay_between(EntityId next, std::uint16_t link_class) {
    if (!regions_.is_here(next)) {
      count({regions_.owner[next.value()], reach_.flit[link_class]});
    }
  }

  // A flit from `neighbour` is to come into a buffer or is in it; it has left that.
  void hold(EntityId neighbour) {
    if (!regions_.is_here(neighbour)) {
      ++regions_there_[regions_.owner[neighbour.value()]].held;
    }
  }
  void release(EntityId neighbour) {
    if (!regions_.is_here(neighbour)) {
      std::uint64_t& held = regions_there_[regions_.owner[neighbour.value()]].held;
      ensure(held > 0, "a flit that leaves its buffer came into it");
      --held;
    }
  }
  // The node at the other end of the link by which a flit comes in through `port`.
  EntityId neighbour(EntityId here, unsigned port) const { return topology_.link(here, port).to; }

  pdes::Outlook outlook(std::uint32_t rank) {
    pdes::Outlook outlook = crossings_.outlook(rank);
    const Region& region = regions_there_[rank];
    outlook.after_input = std::min(outlook.after_input, region.credit);
    if (!region.ways.empty()) {
      outlook.after_next = region.ways.begin()->first - reach_.early;
    }
    if (region.held > 0) {
      outlook.after_next = std::min(outlook.after_next, region.credit - reach_.early);
    }
    return outlook;
  }

 private:
  struct Region {
    std::map<SimTime, std::uint64_t> ways;  // how many have as much before them at least
    std::uint64_t held = 0;                 // flits that came from there
    SimTime credit = SimTime::never();      // from here to there
  };

  void count(const pdes::Exit& way) {
    if (way.leaves()) {
      ++regions_there_[way.region].ways[way.latency];
    }
  }
  void forget(const pdes::Exit& way) {
    if (way.leaves()) {
      auto& ways = regions_there_[way.region].ways;
      const auto found = ways.find(way.latency);
      ensure(found != ways.end(), "a packet that leaves was counted");
      if (--found->second == 0) {
        ways.erase(found);
      }
    }
  }

  // Credits take the links that lead out.
  void find_credits(EntityId node) {
    for (unsigned port = 0; regions_.is_here(node) && port < topology_.ports(node); ++port) {
      const machine::Link link = topology_.link(node, port);
      if (link.to.valid() && !regions_.is_here(link.to)) {
        SimTime& credit = regions_there_[regions_.owner[link.to.value()]].credit;
        credit = std::min(credit, reach_.credit[link.link_class]);
      }
    }
  }

  const machine::Topology& topology_;
  pdes::RegionView regions_;
  FlitReach reach_;
  FlitFabric fabric_;
  Crossings<FlitFabric> crossings_;
  std::vector<Region> regions_there_;  // [ranks]
};

}  // namespace tessera::network
