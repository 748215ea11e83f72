// Runs of nodes of equal weight.
#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

// A grid as lines that a run goes through one after the other.
class Lines {
 public:
  Lines(const Grid& grid, RunOrder order)
      : grid_(grid),
        down_(order == RunOrder::columns),
        number_(down_ ? grid.columns : grid.rows),
        length_(down_ ? grid.rows : grid.columns) {}

  bool down() const { return down_; }
  std::uint32_t number() const { return number_; }
  std::uint32_t length() const { return length_; }
  std::uint32_t node_at(std::uint32_t place) const {
    return down_ ? grid_.node(place % length_, place / length_).value() : place;
  }
  std::uint32_t place_of(std::uint32_t node) const {
    const EntityId id(node);
    return down_ ? grid_.column_of(id) * length_ + grid_.row_of(id) : node;
  }

 private:
  Grid grid_;
  bool down_;
  std::uint32_t number_;
  std::uint32_t length_;
};

}  // namespace

std::vector<std::uint32_t> once_each(std::vector<std::uint32_t> places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

RunOfLoads::RunOfLoads(const std::vector<std::uint64_t>& loads)
    : items_(static_cast<std::uint32_t>(loads.size())), usual_(0), others_(loads.size()), more_{0} {
  std::iota(others_.begin(), others_.end(), 0U);
  std::partial_sum(loads.begin(), loads.end(), std::back_inserter(more_));
}

RunOfLoads::RunOfLoads(std::uint32_t items, std::uint64_t usual,
                       std::vector<std::pair<std::uint32_t, std::uint64_t>> others)
    : items_(items), usual_(usual), more_{0} {
  std::sort(others.begin(), others.end());
  for (const auto& [item, load] : others) {
    others_.push_back(item);
    more_.push_back(more_.back() + load - usual);  // wraps where it is less, and back in a sum
  }
}

std::uint64_t RunOfLoads::before(std::uint32_t item) const {
  const auto place = std::lower_bound(others_.begin(), others_.end(), item) - others_.begin();
  return usual_ * item + more_[static_cast<std::size_t>(place)];
}

std::vector<std::uint32_t> even_cuts(const RunOfLoads& loads, std::uint32_t parts) {
  const std::uint64_t total = loads.before(loads.size());
  std::vector<std::uint32_t> cuts{0};
  for (std::uint32_t part = 1; part < parts; ++part) {
    // part · total / parts, rounded up, without leaving 64 bits.
    const std::uint64_t target = total / parts * part + (total % parts * part + parts - 1) / parts;
    std::uint32_t item = cuts.back() + 1;
    std::uint32_t highest = loads.size() - (parts - part);
    while (item < highest) {
      const std::uint32_t middle = item + (highest - item) / 2;
      if (loads.before(middle) < target) {
        item = middle + 1;
      } else {
        highest = middle;
      }
    }
    cuts.push_back(item);
  }
  cuts.push_back(loads.size());
  return cuts;
}

// A cut is between two nodes of one line or between two lines: what is before it in its line is in
// another part than what comes after, and the lines between two such ones are each of one part.
Owners banded_runs(const Grid& grid, const std::vector<std::uint32_t>& cuts, RunOrder order) {
  const Lines lines(grid, order);
  std::vector<std::uint32_t> across{0};
  std::vector<std::uint32_t> along{0};
  for (std::size_t part = 1; part + 1 < cuts.size(); ++part) {
    const std::uint32_t line = cuts[part] / lines.length();
    const std::uint32_t at = cuts[part] % lines.length();
    across.push_back(line);
    along.push_back(at);
    if (at > 0 && line + 1 < lines.number()) {
      across.push_back(line + 1);
    }
  }
  across = once_each(std::move(across));
  along = once_each(std::move(along));
  const auto owner_of = [&](std::uint32_t line, std::uint32_t at) {
    const std::uint32_t place = line * lines.length() + at;
    return static_cast<std::uint32_t>(std::upper_bound(cuts.begin(), cuts.end(), place) -
                                      cuts.begin() - 1);
  };
  std::vector<std::uint32_t> rows = lines.down() ? std::move(along) : std::move(across);
  std::vector<std::uint32_t> columns = lines.down() ? std::move(across) : std::move(along);
  std::vector<std::uint32_t> owner;
  owner.reserve(rows.size() * columns.size());
  for (const std::uint32_t row : rows) {
    for (const std::uint32_t column : columns) {
      owner.push_back(lines.down() ? owner_of(column, row) : owner_of(row, column));
    }
  }
  return {std::make_shared<const GridParts>(grid, std::move(rows), std::move(columns),
                                            std::move(owner))};
}

Partition cut_in_runs(const Topology& topology, int ranks, const Weights& weights, RunOrder order) {
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  const Lines lines(topology.grid().value_or(Grid{.rows = 1, .columns = topology.nodes()}), order);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> others;
  weights.visit([&](std::size_t node, std::uint32_t weight) {
    others.emplace_back(lines.place_of(static_cast<std::uint32_t>(node)), weight);
  });
  const std::vector<std::uint32_t> cuts =
      even_cuts(RunOfLoads(topology.nodes(), weights.of_others(), std::move(others)),
                static_cast<std::uint32_t>(ranks));
  if (is_vast(topology)) {
    return partition_from(topology, ranks, banded_runs(*topology.grid(), cuts, order), weights);
  }
  std::vector<std::uint32_t> owner(topology.nodes());
  for (std::uint32_t rank = 0; rank + 1 < cuts.size(); ++rank) {
    for (std::uint32_t place = cuts[rank]; place < cuts[rank + 1]; ++place) {
      owner[lines.node_at(place)] = rank;
    }
  }
  return partition_from(topology, ranks, std::move(owner), weights);
}

}  // namespace tessera::machine
