// Rings of groups on the machine's links: see RingClock for what they take.
#include <algorithm>
#include <optional>

#include "collective_time.hpp"

namespace tessera::plan {
namespace {

bool is_nic(const machine::Topology& topology, EntityId node) {
  return topology.cluster()->place(node).kind == machine::ClusterPlace::Kind::nic;
}

}  // namespace

// NCCL before 2.12 has a ring leave a server by the NIC that it came in by, for which the last
// member of the ring there must share it with the first, or go by way of the host's memory (NVIDIA,
// "Doubling all2all performance with NVIDIA Collective Communication Library 2.12", 2022: newer
// ones go over NVLink to a GPU beside the NIC).
std::set<std::uint32_t> CollectiveClock::servers_apart(std::uint32_t stage, const GroupShape& shape,
                                                       std::uint32_t base) const {
  const std::optional<machine::Cluster> cluster = topology_.cluster();
  if (!cluster || cluster->through_host == Bandwidth()) {
    return {};
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> nics;
  for (std::uint32_t member = 0; member < shape.size; ++member) {
    const machine::ClusterPlace place = cluster->place(tile(stage, shape.place_of(member, base)));
    nics[place.server].push_back(place.index / cluster->share());
  }
  std::set<std::uint32_t> apart;
  for (auto& [server, numbers] : nics) {
    std::sort(numbers.begin(), numbers.end());
    if (numbers.size() > 1 && std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end()) {
      apart.insert(server);
    }
  }
  return apart;
}

RingLink CollectiveClock::ring_link(EntityId from, EntityId to, const Loads& loads,
                                    const std::set<std::uint32_t>& apart) const {
  RingLink link{transfers_.overhead, {}};
  const bool by_host =
      apart.contains(topology_.domain(from)) && topology_.domain(from) != topology_.domain(to);
  const std::vector<machine::Hop> way = transfers_.hops(from, to);
  for (const machine::Hop& hop : way) {
    const machine::Link on = topology_.link(hop.node, hop.port);
    const machine::LinkClass& link_class = topology_.link_classes()[on.link_class];
    const std::uint32_t share = share_at(hop, way.front(), loads);
    link.latency += link_class.latency;
    link.add(link_class.bandwidth, share);
    if (by_host && is_nic(topology_, hop.node)) {
      link.add(topology_.cluster()->through_host, share);
    }
  }
  return link;
}

const std::vector<std::vector<RingLink>>& CollectiveClock::rings_of(std::uint32_t stage,
                                                                    Group group,
                                                                    const GroupShape& shape,
                                                                    collective::Kind kind,
                                                                    std::uint32_t base) {
  if (rings_stage_ != stage) {
    rings_.clear();
    rings_stage_ = stage;
  }
  const auto [entry, fresh] = rings_.try_emplace({group, base});
  if (fresh) {
    const Loads loads = loads_of(stage, group, shape, kind, 0);
    const std::set<std::uint32_t> apart = servers_apart(stage, shape, base);
    entry->second.resize(shape.channels);
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
      const auto at = [&](std::uint32_t place) {
        return tile(stage, shape.place_of(shape.turned_back(place, channel), base));
      };
      for (std::uint32_t place = 0; place < shape.size; ++place) {
        entry->second[channel].push_back(
            ring_link(at(place == 0 ? shape.size - 1 : place - 1), at(place), loads, apart));
      }
    }
  }
  return entry->second;
}

std::vector<Bytes> CollectiveClock::first_chunks(Group group, const GroupShape& shape,
                                                 collective::Kind kind, Bytes bytes,
                                                 std::uint32_t channel) const {
  const Bytes share =
      shape.channels == 1 ? bytes : collective::chunk_bytes(bytes, shape.channels, channel);
  std::vector<Bytes> first;
  for (std::uint32_t place = 0; place < shape.size; ++place) {
    first.push_back(plan_.algorithm(group).step(kind, shape.size, place, share, 0).receive_bytes);
  }
  return first;
}

SimTime CollectiveClock::around(std::uint32_t stage, Group group, const GroupShape& shape,
                                collective::Kind kind, Bytes bytes, std::uint32_t base) {
  const auto& rings = rings_of(stage, group, shape, kind, base);
  const std::uint32_t steps = Plan::steps_of(plan_.algorithm(group), shape, kind) / shape.channels;
  SimTime longest;
  for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
    const RingClock ring(rings[channel], first_chunks(group, shape, kind, bytes, channel));
    longest = std::max(longest, ring.time(steps));
  }
  return longest;
}

SimTime CollectiveClock::on_links(std::uint32_t stage, Group group, const GroupShape& shape,
                                  collective::Kind kind, Bytes bytes, Occasion occasion) {
  if (sharing_ == Sharing::nothing) {
    return SimTime::zero();
  }
  if (!is_ring(group, shape, kind)) {
    return time(stage, group, shape, kind, bytes, occasion) -
           time(stage, group, shape, kind, Bytes(0), occasion);
  }
  const std::uint32_t steps = Plan::steps_of(plan_.algorithm(group), shape, kind) / shape.channels;
  const std::vector<Bytes> first = first_chunks(group, shape, kind, bytes, 0);
  const Bytes largest = *std::max_element(first.begin(), first.end());  // of all channels
  SimTime busiest;
  for (const std::vector<RingLink>& ring : rings_of(stage, group, shape, kind, 0)) {
    for (const RingLink& link : ring) {
      busiest = std::max(busiest, link.on_links(largest));
    }
  }
  return busiest * std::int64_t{steps};
}

}  // namespace tessera::plan
