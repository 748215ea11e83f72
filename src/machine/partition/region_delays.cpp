#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "tessera/machine/partition/partition.hpp"

namespace tessera::machine {
namespace {

// Rows or columns from the first to the last of a region.
struct Span {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t last = 0;

  void take(std::uint32_t place) {
    first = std::min(first, place);
    last = std::max(last, place);
  }
};

struct Box {
  Span rows;
  Span columns;
};

// Steps from one span to another on a line of `size` places, which may be a ring.
std::uint32_t steps_between(const Span& a, const Span& b, std::uint32_t size, bool ring) {
  if (a.first <= b.last && b.first <= a.last) {
    return 0;
  }
  const Span& low = a.first < b.first ? a : b;
  const Span& high = a.first < b.first ? b : a;
  const std::uint32_t between = high.first - low.last;
  return ring ? std::min(between, low.first + size - high.last) : between;
}

// On a grid no way is shorter than the steps between the rectangles around two regions.
void use_distances(const Topology& topology, const Partition& partition, std::size_t self,
                   RegionDelays& delays) {
  const Grid grid = *topology.grid();
  std::vector<Box> boxes(static_cast<std::size_t>(partition.ranks));
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    Box& box = boxes[partition.owner[node]];
    box.rows.take(grid.row_of(EntityId(node)));
    box.columns.take(grid.column_of(EntityId(node)));
  }
  const Box& own = boxes[self];
  for (std::size_t other = 0; other < boxes.size(); ++other) {
    if (other == self) {
      continue;
    }
    const Box& box = boxes[other];
    const std::uint32_t steps = steps_between(own.rows, box.rows, grid.rows, grid.wraps) +
                                steps_between(own.columns, box.columns, grid.columns, grid.wraps);
    const SimTime least = topology.smallest_latency() * static_cast<std::int64_t>(steps);
    for (SimTime* delay : {&delays.to[other], &delays.from[other]}) {
      *delay = delay->is_never() ? *delay : std::max(*delay, least);
    }
  }
}

// A way out of a region over one link.
struct Border {
  std::uint32_t to = 0;
  SimTime latency;
};

// Borders of every region, the fastest link of each pair, in order of `to`.
std::vector<std::vector<Border>> borders_of(const Topology& topology, const Partition& partition) {
  std::vector<std::vector<Border>> borders(static_cast<std::size_t>(partition.ranks));
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    const EntityId node(n);
    std::vector<Border>& own = borders[partition.owner[n]];
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      const Link link = topology.link(node, port);
      if (!link.to.valid() || partition.owner[link.to.value()] == partition.owner[n]) {
        continue;
      }
      const Border border{partition.owner[link.to.value()],
                          topology.link_classes()[link.link_class].latency};
      const auto place = std::lower_bound(
          own.begin(), own.end(), border.to,
          [](const Border& known, std::uint32_t region) { return known.to < region; });
      if (place == own.end() || place->to != border.to) {
        own.insert(place, border);
      } else {
        place->latency = std::min(place->latency, border.latency);
      }
    }
  }
  return borders;
}

using Borders = std::vector<std::vector<Border>>;

// The same seen from the other side.
Borders ways_in(const Borders& borders) {
  Borders back(borders.size());
  for (std::uint32_t from = 0; from < borders.size(); ++from) {
    for (const Border& border : borders[from]) {
      back[border.to].push_back({from, border.latency});
    }
  }
  return back;
}

// Dijkstra from `source` over at least one border, which makes its own entry the shortest cycle.
std::vector<SimTime> delays_from(std::uint32_t source, const Borders& borders) {
  using Entry = std::pair<SimTime, std::uint32_t>;
  std::vector<SimTime> delays(borders.size(), SimTime::never());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto cross = [&](std::uint32_t region, SimTime at) {
    for (const Border& border : borders[region]) {
      const SimTime arrival = at + border.latency;
      if (arrival < delays[border.to]) {
        delays[border.to] = arrival;
        open.emplace(arrival, border.to);
      }
    }
  };
  cross(source, SimTime::zero());
  while (!open.empty()) {
    const auto [at, region] = open.top();
    open.pop();
    if (at == delays[region] && region != source) {
      cross(region, at);
    }
  }
  return delays;
}

}  // namespace

RegionDelays region_delays(const Topology& topology, const Partition& partition, int self) {
  if (partition.ranks == 1) {
    return {{SimTime::never()}, {SimTime::never()}, {}};
  }
  const auto source = static_cast<std::uint32_t>(self);
  const Borders borders = borders_of(topology, partition);
  RegionDelays delays;
  delays.to = delays_from(source, borders);
  delays.from = delays_from(source, ways_in(borders));
  if (topology.grid()) {
    use_distances(topology, partition, source, delays);
  }
  for (std::uint32_t from = 0; from < borders.size(); ++from) {
    for (const Border& border : borders[from]) {
      delays.direct.push_back({from, border.to, border.latency});
    }
  }
  return delays;
}

}  // namespace tessera::machine
