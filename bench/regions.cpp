#include "regions.hpp"

#include <functional>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

// Blocks of `units` (rows, or single entities) over the ranks: rank r has [first[r], first[r + 1]).
std::vector<std::uint32_t> block_starts(std::uint32_t units, int ranks) {
  if (units < static_cast<std::uint32_t>(ranks)) {
    throw ConfigError("only " + std::to_string(units) + " parts to cut over " +
                      std::to_string(ranks) + " ranks");
  }
  std::vector<std::uint32_t> first;
  for (int rank = 0; rank <= ranks; ++rank) {
    first.push_back(
        static_cast<std::uint32_t>(std::uint64_t{units} * static_cast<std::uint64_t>(rank) /
                                   static_cast<std::uint64_t>(ranks)));
  }
  return first;
}

using Delay = std::function<SimTime(std::size_t from, std::size_t to)>;

// `closed` of any two regions, `direct` of two different ones.
pdes::Regions cut_blocks(const comm::Communicator& communicator,
                         const std::vector<std::uint32_t>& first, std::uint32_t width,
                         const Delay& closed, const Delay& direct) {
  const std::size_t ranks = first.size() - 1;
  const auto self = static_cast<std::size_t>(communicator.rank());
  pdes::Regions regions;
  regions.owner.reserve(std::size_t{first.back()} * width);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t end = std::size_t{first[rank + 1]} * width;
    regions.owner.resize(end, static_cast<std::uint32_t>(rank));
  }
  regions.members.reserve(std::size_t{first[self + 1] - first[self]} * width);
  for (std::uint32_t entity = first[self] * width; entity < first[self + 1] * width; ++entity) {
    regions.members.emplace_back(entity);
  }
  std::vector<SimTime> least;
  std::vector<SimTime> links;
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      // No path leads out of the only region and back.
      least.push_back(ranks == 1 ? SimTime::never() : closed(from, to));
      links.push_back(from == to ? SimTime::never() : direct(from, to));
    }
  }
  regions.delays = RegionDelays::seen_from(self, ranks, least, links);
  return regions;
}

}  // namespace

pdes::Regions complete_cut(const comm::Communicator& communicator, std::uint32_t entities,
                           SimTime hop) {
  const auto first = block_starts(entities, communicator.size());
  const auto closed = [&](std::size_t from, std::size_t to) { return from == to ? hop * 2 : hop; };
  return cut_blocks(communicator, first, 1, closed, closed);
}

pdes::Regions row_cut(const comm::Communicator& communicator, std::uint32_t rows,
                      std::uint32_t width, SimTime hop) {
  const auto first = block_starts(rows, communicator.size());
  const auto closed = [&](std::size_t from, std::size_t to) {
    if (from == to) {
      return hop * 2;
    }
    return hop * (from < to ? first[to] - first[from + 1] + 1 : first[from] - first[to + 1] + 1);
  };
  const auto direct = [&](std::size_t from, std::size_t to) {
    return from + 1 == to || to + 1 == from ? hop : SimTime::never();
  };
  return cut_blocks(communicator, first, width, closed, direct);
}

pdes::Regions ring_cut(const comm::Communicator& communicator, std::uint32_t entities,
                       SimTime hop) {
  const auto first = block_starts(entities, communicator.size());
  const auto closed = [&](std::size_t from, std::size_t to) {
    // From the last entity of one region onwards to the first of the other.
    const std::uint32_t last = first[from + 1] - 1;
    return hop * (first[to] + (first[to] > last ? 0 : entities) - last);
  };
  const auto direct = [&](std::size_t from, std::size_t to) {
    return to == (from + 1) % (first.size() - 1) ? hop : SimTime::never();
  };
  return cut_blocks(communicator, first, 1, closed, direct);
}

}  // namespace tessera::bench
