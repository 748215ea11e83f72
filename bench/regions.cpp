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
    first.push_back(static_cast<std::uint32_t>(std::uint64_t{units} *
                                               static_cast<std::uint64_t>(rank) /
                                               static_cast<std::uint64_t>(ranks)));
  }
  return first;
}

using Delay = std::function<SimTime(std::size_t from, std::size_t to)>;

pdes::Regions cut(const comm::Communicator& communicator, const std::vector<std::uint32_t>& first,
                  std::uint32_t width, const Delay& delay) {
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
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      // No path leads out of the only region and back.
      regions.delays.push_back(ranks == 1 ? SimTime::never() : delay(from, to));
    }
  }
  return regions;
}

}  // namespace

pdes::Regions complete_regions(const comm::Communicator& communicator, std::uint32_t entities,
                               SimTime hop) {
  const auto first = block_starts(entities, communicator.size());
  return cut(communicator, first, 1,
             [&](std::size_t from, std::size_t to) { return from == to ? hop * 2 : hop; });
}

pdes::Regions row_regions(const comm::Communicator& communicator, std::uint32_t rows,
                          std::uint32_t width, SimTime hop) {
  const auto first = block_starts(rows, communicator.size());
  return cut(communicator, first, width, [&](std::size_t from, std::size_t to) {
    if (from == to) {
      return hop * 2;
    }
    const std::uint32_t distance =
        from < to ? first[to] - first[from + 1] + 1 : first[from] - first[to + 1] + 1;
    return hop * distance;
  });
}

pdes::Regions ring_regions(const comm::Communicator& communicator, std::uint32_t entities,
                           SimTime hop) {
  const auto first = block_starts(entities, communicator.size());
  return cut(communicator, first, 1, [&](std::size_t from, std::size_t to) {
    // From the last entity of one region onwards to the first of the other.
    const std::uint32_t last = first[from + 1] - 1;
    const std::uint32_t target = first[to] + (first[to] > last ? 0 : entities);
    return hop * (target - last);
  });
}

}  // namespace tessera::bench
