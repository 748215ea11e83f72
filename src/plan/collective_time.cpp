#include "collective_time.hpp"

#include <algorithm>

namespace tessera::plan {

SimTime CollectiveClock::time(std::uint32_t stage, Group group, const GroupShape& shape,
                              collective::Kind kind, Bytes bytes) {
  const auto [place, fresh] = known_.try_emplace({stage, group, kind, bytes});
  if (fresh) {
    place->second = compute(stage, group, shape, kind, bytes, 0);
  }
  return place->second;
}

SimTime CollectiveClock::slowest(std::uint32_t stage, Group group, const GroupShape& shape,
                                 collective::Kind kind, Bytes bytes) const {
  std::vector<std::uint32_t> firsts;
  for (std::uint32_t place = 0; place < plan_.placement.stage_tiles(); ++place) {
    if (shape.member(place) == 0) {
      firsts.push_back(place);
    }
  }
  SimTime longest;
  const std::size_t looked_at = std::min<std::size_t>(firsts.size(), most_groups);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::uint32_t base = firsts[i * firsts.size() / looked_at];
    longest = std::max(longest, compute(stage, group, shape, kind, bytes, base));
  }
  return longest;
}

SimTime CollectiveClock::boundary(std::uint32_t stage, std::uint32_t other, const GroupShape& shape,
                                  Bytes bytes) const {
  Loads loads;
  std::vector<std::uint32_t> senders;
  for (std::uint32_t place = 0; place < plan_.placement.stage_tiles(); ++place) {
    if (shape.leads(shape.member(place))) {
      senders.push_back(place);
      add_load(tile(stage, place), tile(other, place), loads);
    }
  }
  SimTime longest;
  for (const std::uint32_t place : senders) {
    const Transit way = transit(tile(stage, place), tile(other, place), bytes, loads);
    longest = std::max(longest, way.latency + way.on_links);
  }
  return longest;
}

void CollectiveClock::add_load(EntityId from, EntityId to, Loads& loads) const {
  for (const machine::Hop& hop : transfers_.hops(from, to)) {
    ++loads[hop];
  }
}

CollectiveClock::Loads CollectiveClock::loads_of(std::uint32_t stage, Group group,
                                                 const GroupShape& shape, collective::Kind kind,
                                                 std::uint32_t step) const {
  Loads loads;
  for (std::uint32_t place = 0; place < plan_.placement.stage_tiles(); ++place) {
    const collective::Member member = shape.member(place);
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
      const collective::Step now = Plan::step_of(plan_.algorithm(group), shape, kind, member,
                                                 Bytes(0), step * shape.channels + channel);
      if (now.send_to != collective::nobody) {
        add_load(tile(stage, place), tile(stage, shape.place_of(now.send_to, place)), loads);
      }
    }
  }
  return loads;
}

CollectiveClock::Transit CollectiveClock::transit(EntityId from, EntityId to, Bytes bytes,
                                                  const Loads& loads) const {
  Transit transit{transfers_.overhead, {}};
  for (const machine::Hop& hop : transfers_.hops(from, to)) {
    const machine::Link link = topology_.link(hop.node, hop.port);
    const machine::LinkClass& link_class = topology_.link_classes()[link.link_class];
    transit.latency += link_class.latency;
    transit.on_links =
        std::max(transit.on_links, serialization_time(bytes * loads.at(hop), link_class.bandwidth));
  }
  return transit;
}

SimTime CollectiveClock::compute(std::uint32_t stage, Group group, const GroupShape& shape,
                                 collective::Kind kind, Bytes bytes, std::uint32_t base) const {
  using From = std::tuple<collective::Member, collective::Member, Bytes>;
  // Steps that are steady look all like the first.
  const bool changes = !plan_.algorithm(group).is_steady(kind);
  Loads loads = loads_of(stage, group, shape, kind, 0);
  std::map<From, Transit> transits;
  // Of each member and channel: when its steps so far are over, and when the way of its last
  // message was free again.
  std::vector<SimTime> ready(std::size_t{shape.size} * shape.channels);
  std::vector<SimTime> free(ready.size());
  const std::uint32_t steps = Plan::steps_of(plan_.algorithm(group), shape, kind) / shape.channels;
  for (std::uint32_t step = 0; step < steps; ++step) {
    if (changes && step > 0) {
      loads = loads_of(stage, group, shape, kind, step);
      transits.clear();
    }
    std::vector<SimTime> next = ready;
    for (std::uint32_t i = 0; i < ready.size(); ++i) {
      const collective::Member member = i / shape.channels;
      const std::uint32_t channel = i % shape.channels;
      const collective::Step now = Plan::step_of(plan_.algorithm(group), shape, kind, member, bytes,
                                                 step * shape.channels + channel);
      if (now.receive_from == collective::nobody) {
        continue;
      }
      const auto [place, fresh] =
          transits.try_emplace(From{now.receive_from, member, now.receive_bytes});
      if (fresh) {
        place->second =
            transit(tile(stage, shape.place_of(now.receive_from, base)),
                    tile(stage, shape.place_of(member, base)), now.receive_bytes, loads);
      }
      const Transit& way = place->second;
      free[i] =
          std::max(free[i], ready[now.receive_from * shape.channels + channel]) + way.on_links;
      next[i] = std::max(next[i], free[i] + way.latency);
    }
    ready.swap(next);
  }
  return *std::max_element(ready.begin(), ready.end());
}

std::uint32_t CollectiveClock::boundary_share(std::uint32_t stage, std::uint32_t other,
                                              std::uint32_t tiles, const GroupShape& shape) const {
  Loads loads;
  for (std::uint32_t place = 0; place < tiles; ++place) {
    if (shape.leads(shape.member(place))) {
      add_load(tile(stage, place), tile(other, place), loads);
    }
  }
  std::uint32_t share = 1;
  for (const machine::Hop& hop : transfers_.hops(tile(stage, 0), tile(other, 0))) {
    share = std::max(share, loads.at(hop));
  }
  return share;
}

}  // namespace tessera::plan
