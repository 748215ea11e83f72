// Times of collectives that a library gives: see tessera/collective/library.hpp.
#include <algorithm>
#include <set>
#include <vector>

#include "collective_time.hpp"

namespace tessera::plan {

bool CollectiveClock::is_of_library(Group group, const GroupShape& shape,
                                    collective::Kind kind) const {
  return collective::models(transfers_.library.library, kind) && group != Group::tied &&
         is_ring(group, shape, kind);
}

// The strategy's rings say what the machine's links take for the bytes, with what other groups send
// over them, and nothing of latencies, which are the library's. A ring passes all of its chunks but
// one over its slowest link. Where a vector goes in channels some of them leave the server at each
// member, and the others have the rest of it on the link within.
collective::LibraryLinks CollectiveClock::library_links(std::uint32_t stage, Group group,
                                                        const GroupShape& shape,
                                                        collective::Kind kind, Bytes bytes) {
  const auto& rings = rings_of(stage, group, shape, kind, 0);
  const auto server_of = [&](collective::Member member) {
    return servers_->of(tile(stage, shape.place_of(member, 0)));
  };
  const auto visit = [&](const auto& take) {
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
      for (std::uint32_t place = 0; place < shape.size; ++place) {
        const std::uint32_t before = place == 0 ? shape.size - 1 : place - 1;
        const collective::Member from = shape.turned_back(before, channel);
        const collective::Member to = shape.turned_back(place, channel);
        take(channel, rings[channel][place], from, server_of(from) == server_of(to));
      }
    }
  };
  std::vector<std::int64_t> inside(shape.size);  // [members] channels that go on in the server
  visit([&](std::uint32_t, const RingLink&, collective::Member from, bool stays) {
    inside[from] += stays ? 1 : 0;
  });
  const auto steps = static_cast<std::int64_t>(Plan::steps_of(plan_.algorithm(group), shape, kind) /
                                               shape.channels);
  collective::LibraryLinks links;
  visit([&](std::uint32_t channel, const RingLink& link, collective::Member from, bool stays) {
    const Bytes share = collective::chunk_bytes(bytes, shape.channels, channel);
    const SimTime once = link.on_links(share);
    if (stays) {
      links.inside = std::max(
          links.inside, SimTime::from_ps(once.ps() * std::int64_t{shape.channels} / inside[from]));
    } else {
      links.between = std::max(links.between, once);
    }
    const Bytes chunk = collective::chunk_bytes(share, shape.size, 0);
    links.ring = std::max(links.ring, link.on_links(chunk) * steps);
  });
  return links;
}

SimTime CollectiveClock::of_library(std::uint32_t stage, Group group, const GroupShape& shape,
                                    collective::Kind kind, Bytes bytes) {
  if (!servers_) {
    servers_.emplace(topology_);
  }
  std::set<std::uint32_t> servers;
  for (std::uint32_t member = 0; member < shape.size; ++member) {
    servers.insert(servers_->of(tile(stage, shape.place_of(member, 0))));
  }
  return collective::choose(transfers_.library, kind,
                            {shape.size, static_cast<std::uint32_t>(servers.size())}, bytes,
                            library_links(stage, group, shape, kind, bytes))
      .time;
}

}  // namespace tessera::plan
