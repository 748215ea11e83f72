#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "tessera/machine/partition.hpp"

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
void use_distances(const Topology& topology, const Partition& partition,
                   std::vector<SimTime>& delays) {
  const Grid grid = *topology.grid();
  const auto ranks = static_cast<std::size_t>(partition.ranks);
  std::vector<Box> boxes(ranks);
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    Box& box = boxes[partition.owner[node]];
    box.rows.take(grid.row_of(EntityId(node)));
    box.columns.take(grid.column_of(EntityId(node)));
  }
  const SimTime latency = topology.smallest_latency();
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      SimTime& delay = delays[from * ranks + to];
      if (from == to || delay.is_never()) {
        continue;
      }
      const Box& a = boxes[from];
      const Box& b = boxes[to];
      const std::uint32_t steps = steps_between(a.rows, b.rows, grid.rows, grid.wraps) +
                                  steps_between(a.columns, b.columns, grid.columns, grid.wraps);
      delay = std::max(delay, latency * static_cast<std::int64_t>(steps));
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

// Dijkstra from `source` over at least one border, which makes `delays[source]` the shortest cycle.
void delays_from(std::uint32_t source, const std::vector<std::vector<Border>>& borders,
                 SimTime* delays) {
  using Entry = std::pair<SimTime, std::uint32_t>;
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
}

}  // namespace

std::vector<SimTime> region_delays(const Topology& topology, const Partition& partition) {
  const auto ranks = static_cast<std::size_t>(partition.ranks);
  const auto borders = borders_of(topology, partition);
  std::vector<SimTime> delays(ranks * ranks, SimTime::never());
  for (std::uint32_t source = 0; source < ranks; ++source) {
    delays_from(source, borders, delays.data() + source * ranks);
  }
  if (topology.grid()) {
    use_distances(topology, partition, delays);
  }
  return delays;
}

std::vector<SimTime> direct_delays(const Topology& topology, const Partition& partition) {
  const auto ranks = static_cast<std::size_t>(partition.ranks);
  const auto borders = borders_of(topology, partition);
  std::vector<SimTime> delays(ranks * ranks, SimTime::never());
  for (std::size_t source = 0; source < ranks; ++source) {
    for (const Border& border : borders[source]) {
      delays[source * ranks + border.to] = border.latency;
    }
  }
  return delays;
}

}  // namespace tessera::machine
