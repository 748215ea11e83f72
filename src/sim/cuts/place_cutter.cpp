#include "cuts/place_cutter.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace tessera::sim {
namespace {

// How much more than its share a part has at most, all bisections that it goes through added up.
constexpr double most_uneven = 1.0 / 3;

class PlaceCutter {
 public:
  PlaceCutter(const machine::WeightedGraph& graph, std::span<const std::uint64_t> load,
              std::span<const Place> place, std::uint32_t ranks)
      : graph_(graph),
        load_(load),
        place_(place),
        slack_(most_uneven / std::bit_width(ranks - 1)),
        owners_(load.size()),
        side_(load.size(), Side::none),
        talk_(graph.vertex_weights.size() - load.size()) {
    std::vector<std::uint32_t> groups(load.size());
    std::iota(groups.begin(), groups.end(), 0);
    bisect(groups, 0, ranks);
  }

  std::vector<std::uint32_t> owners() && { return std::move(owners_); }

 private:
  enum class Side : std::uint8_t { none, first, second };
  struct Found {
    bool is_too_uneven = true;
    std::uint64_t messages = std::numeric_limits<std::uint64_t>::max();
    double uneven =
        std::numeric_limits<double>::max();  // of the larger part over its share, less one
    bool by_columns = true;
    std::size_t groups = 0;  // of the first part

    // Where all are too uneven, the most even one is best.
    bool is_better_than(const Found& other) const {
      if (is_too_uneven != other.is_too_uneven) {
        return other.is_too_uneven;
      }
      return is_too_uneven ? std::tie(uneven, messages) < std::tie(other.uneven, other.messages)
                           : std::tie(messages, uneven) < std::tie(other.messages, other.uneven);
    }
  };
  // Messages between a vertex that is no group and the groups of either side.
  struct Talk {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint64_t crossing() const { return std::min(first, second); }
  };

  void sort(std::span<std::uint32_t> groups, bool by_columns) const {
    std::sort(groups.begin(), groups.end(), [&](std::uint32_t a, std::uint32_t b) {
      return comes_first(place_[a], place_[b], by_columns) ||
             (!comes_first(place_[b], place_[a], by_columns) && a < b);
    });
  }

  void bisect(std::span<std::uint32_t> groups, std::uint32_t rank, std::uint32_t ranks) {
    if (ranks == 1) {
      for (const std::uint32_t group : groups) {
        owners_[group] = rank;
      }
      return;
    }
    Found best;
    for (const bool by_columns : {true, false}) {
      sort(groups, by_columns);
      const Found found = look(groups, ranks, by_columns);
      best = found.is_better_than(best) ? found : best;
    }
    sort(groups, best.by_columns);
    const std::uint32_t first_ranks = ranks / 2;
    bisect(groups.first(best.groups), rank, first_ranks);
    bisect(groups.subspan(best.groups), rank + first_ranks, ranks - first_ranks);
  }

  // The best place in this order. All go over from the second part to the first, one by one.
  Found look(std::span<const std::uint32_t> groups, std::uint32_t ranks, bool by_columns) {
    const std::uint32_t first_ranks = ranks / 2;
    double load = 0;
    for (const std::uint32_t group : groups) {
      side_[group] = Side::second;
      load += static_cast<double>(load_[group]);
    }
    for (const std::uint32_t group : groups) {
      visit_others(group, [&](Talk& talk, std::uint64_t messages) { talk.second += messages; });
    }
    const double share = load * first_ranks / ranks;
    Found best;
    std::uint64_t crossing = 0;
    double before = 0;
    for (std::size_t done = 1; done + (ranks - first_ranks) <= groups.size(); ++done) {
      const std::uint32_t group = groups[done - 1];
      crossing = move(group, crossing);
      before += static_cast<double>(load_[group]);
      if (done < first_ranks) {
        continue;
      }
      const double uneven =
          load > 0 ? std::max(before / share, (load - before) / (load - share)) - 1 : 0;
      const Found found{uneven > slack_, crossing, uneven, by_columns, done};
      best = found.is_better_than(best) ? found : best;
    }
    for (const std::uint32_t group : groups) {
      side_[group] = Side::none;
      visit_others(group, [](Talk& talk, std::uint64_t) { talk = {}; });
    }
    return best;
  }

  // What crosses when the group goes over.
  std::uint64_t move(std::uint32_t group, std::uint64_t crossing) {
    for (std::uint64_t at = graph_.first[group]; at < graph_.first[group + 1]; ++at) {
      const std::uint32_t other = graph_.neighbours[at];
      if (other < side_.size()) {
        crossing += side_[other] == Side::second ? graph_.edge_weights[at] : 0;
        crossing -= side_[other] == Side::first ? graph_.edge_weights[at] : 0;
      }
    }
    visit_others(group, [&](Talk& talk, std::uint64_t messages) {
      crossing -= talk.crossing();
      talk.first += messages;
      talk.second -= messages;
      crossing += talk.crossing();
    });
    side_[group] = Side::first;
    return crossing;
  }

  // Vertices that the group talks to and that are no groups.
  template <class Visit>
  void visit_others(std::uint32_t group, const Visit& visit) {
    for (std::uint64_t at = graph_.first[group]; at < graph_.first[group + 1]; ++at) {
      if (graph_.neighbours[at] >= side_.size()) {
        visit(talk_[graph_.neighbours[at] - side_.size()], graph_.edge_weights[at]);
      }
    }
  }

  const machine::WeightedGraph& graph_;
  std::span<const std::uint64_t> load_;
  std::span<const Place> place_;
  double slack_;
  std::vector<std::uint32_t> owners_;
  std::vector<Side> side_;  // [groups] of those that are being parted
  std::vector<Talk> talk_;  // [vertices that are no groups]
};

}  // namespace

std::vector<std::uint32_t> cut_where_few_cross(const machine::WeightedGraph& graph,
                                               std::span<const std::uint64_t> load,
                                               std::span<const Place> place, std::uint32_t ranks) {
  return PlaceCutter(graph, load, place, ranks).owners();
}

}  // namespace tessera::sim
