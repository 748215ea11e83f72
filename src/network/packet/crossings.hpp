// What a network along links knows of messages that leave this rank's region: for its outlook.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "packet/owned_runs.hpp"
#include "packet/wire.hpp"
#include "tessera/core/divisor.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/outlook.hpp"
#include "tessera/pdes/pending_crossings.hpp"

namespace tessera::network {

// Routes seen from one region. `Fabric` as in fabric.hpp.
template <class Fabric>
class Crossings {
 public:
  // `hops`: by class of link, the least time from node to node, if it is more than the latency.
  Crossings(const Fabric& fabric, const machine::Topology& topology,
            const pdes::RegionView& regions, const std::vector<SimTime>& hops = {})
      : fabric_(fabric),
        topology_(topology),
        regions_(regions),
        hops_(hops.empty() ? latencies(topology) : hops),
        known_(known_routes),
        uniform_(topology.link_classes().size() == 1) {
    std::uint32_t ranks = 0;
    std::uint64_t here = 0;
    const std::optional<machine::Grid> grid = topology.grid();
    for (std::uint32_t node = 0; node < regions.owner.size(); ++node) {
      ranks = std::max(ranks, regions.owner[node] + 1);
      if (regions.owner[node] == regions.self) {
        ++here;
        if (grid) {
          box_.take(grid->row_of(EntityId(node)), grid->column_of(EntityId(node)));
        }
      }
    }
    pending_.resize(ranks);
    if (Fabric::is_straight && grid) {
      columns_ = Divisor(grid->columns);
      find_inner_box(*grid);
      straight_ = grid;
      is_box_ = !grid->wraps && box_.area() == here;
      if (uniform_) {
        const auto is_own = [&](std::uint32_t row, std::uint32_t column) {
          return is_here(grid->node(row, column));
        };
        row_runs_ = OwnedRuns(grid->rows, grid->columns, grid->wraps, is_own);
        column_runs_ =
            OwnedRuns(grid->columns, grid->rows, grid->wraps,
                      [&](std::uint32_t column, std::uint32_t row) { return is_own(row, column); });
      }
    }
    // Until routes are known, any message may pass through.
    through_.assign(ranks, topology.smallest_latency());
  }

  // Where a message from an entity here first leaves the region.
  pdes::Exit exit_of(EntityId from, EntityId to) {
    if (stays_inside(from, to)) {
      return {};
    }
    if (from == to) {
      return {};
    }
    if (straight_ && uniform_ && is_here(from)) {
      return leave_straight(from, to);
    }
    Known& known = known_[place_of(from, to)];
    if (known.from != from || known.to != to) {
      known = {from, to, walk(from, to)};
    }
    return known.exit;
  }

  // From end to end on an idle machine, of a message in packets that follow each other.
  SimTime least_time(EntityId from, EntityId to, Bytes bytes) {
    if (straight_ && uniform_ && from != to) {
      return hops_[0] * links_between(from, to) +
             floor_time(bytes, topology_.link_classes()[0].bandwidth);
    }
    Line& line = lines_[place_of(from, to)];
    if (line.from != from || line.to != to) {
      line = measure(from, to);
    }
    return line.latency + floor_time(bytes, line.bandwidth);
  }

  // An event at `now` is handled: events run in windows of a link's latency at most, in any order.
  void reached(SimTime now) { handled_ = std::max(handled_, now - topology_.smallest_latency()); }
  // The event of a packet at `time` at `node`, which is here, on its way to `to` elsewhere; whether
  // it is the last one of its message.
  void add(SimTime time, EntityId node, EntityId to, bool is_last) {
    const pdes::Exit way = exit_of(node, to);
    if (way.leaves()) {
      pending_[way.region].reached(handled_);
      pending_[way.region].add(time, time + way.latency, {node, to, way.latency, is_last});
    }
  }

  // `free_at(node, port)`: when a link from here will have carried all that was given to it.
  template <class FreeAt>
  pdes::Outlook outlook(std::uint32_t rank, SimTime next, const FreeAt& free_at) {
    const SimTime at = pending_[rank].earliest(next, [&](SimTime time, const Leaving& packet) {
      return crossing_of(packet, time, free_at);
    });
    return {at, SimTime::never(), through_[rank]};
  }
  // Of a network that does not add what is under way.
  pdes::Outlook outlook(std::uint32_t rank) {
    return {SimTime::never(), SimTime::never(), through_[rank]};
  }

  // Of messages that come from elsewhere and go elsewhere, the least time they take through here.
  void learn(const PairVisit& pairs) {
    std::fill(through_.begin(), through_.end(), SimTime::never());
    pairs([this](EntityId from, EntityId to) {
      if (from != to && may_pass(from, to)) {
        walk_through(from, to);
      }
    });
  }

  bool is_here(EntityId node) const { return regions_.is_here(node); }

 private:
  struct Box {
    std::uint32_t top = ~0U;
    std::uint32_t bottom = 0;
    std::uint32_t left = ~0U;
    std::uint32_t right = 0;

    void take(std::uint32_t row, std::uint32_t column) {
      top = std::min(top, row);
      bottom = std::max(bottom, row);
      left = std::min(left, column);
      right = std::max(right, column);
    }
    bool holds(std::uint32_t row, std::uint32_t column) const {
      return row >= top && row <= bottom && column >= left && column <= right;
    }
    std::uint64_t area() const {
      return top > bottom || left > right ? 0
                                          : std::uint64_t{bottom - top + 1} * (right - left + 1);
    }
  };
  // Whether both are inside the inner box and the way between them is known to be: on a torus where
  // it is shorter than around, or where the box goes all around.
  bool stays_inside(EntityId from, EntityId to) const {
    const std::uint32_t row = columns_.quotient(to.value());
    const std::uint32_t column = columns_.remainder(to.value());
    if (!inner_.holds(row, column)) {
      return false;
    }
    const std::uint32_t from_row = columns_.quotient(from.value());
    const std::uint32_t from_column = columns_.remainder(from.value());
    return inner_.holds(from_row, from_column) &&
           is_direct(row, from_row, inner_.bottom - inner_.top, straight_->rows) &&
           is_direct(column, from_column, inner_.right - inner_.left, straight_->columns);
  }
  // Of `places` in a row or column; the box goes `extent` beyond its first.
  bool is_direct(std::uint32_t a, std::uint32_t b, std::uint32_t extent,
                 std::uint32_t places) const {
    const std::uint32_t apart = a > b ? a - b : b - a;
    return !straight_->wraps || extent + 1 == places || 2 * apart < places;
  }
  // Of the straight route.
  std::int64_t links_between(EntityId from, EntityId to) const {
    const auto links = [this](std::uint32_t a, std::uint32_t b, std::uint32_t places) {
      const std::uint32_t apart = a > b ? a - b : b - a;
      return straight_->wraps ? std::min(apart, places - apart) : apart;
    };
    return std::int64_t{links(columns_.quotient(from.value()), columns_.quotient(to.value()),
                              straight_->rows)} +
           links(columns_.remainder(from.value()), columns_.remainder(to.value()),
                 straight_->columns);
  }

  // Where a node stands in its row or column, and which way a message goes on along it.
  struct Straight {
    std::uint32_t line;
    std::uint32_t place;
    std::uint32_t target;  // place of
    std::uint32_t places;
    bool along_row;
    bool upwards;

    std::uint32_t links() const {
      const std::uint32_t first = upwards ? place : target;
      const std::uint32_t last = upwards ? target : place;
      return last >= first ? last - first : last + places - first;
    }
    std::uint32_t after(std::uint32_t count) const {
      if (upwards) {
        return place + count < places ? place + count : place + count - places;
      }
      return place >= count ? place - count : place + places - count;
    }
  };
  Straight straight(EntityId node, EntityId to, unsigned port) const {
    const std::uint32_t row = columns_.quotient(node.value());
    const std::uint32_t column = columns_.remainder(node.value());
    if (port == machine::west || port == machine::east) {
      return {row,
              column,
              columns_.remainder(to.value()),
              straight_->columns,
              true,
              port == machine::east};
    }
    return {column,          row,   columns_.quotient(to.value()),
            straight_->rows, false, port != machine::north};
  }

  // As `walk`, run by run, on a grid or a torus with links that are all alike.
  pdes::Exit leave_straight(EntityId from, EntityId to) const {
    std::int64_t links = 0;
    for (EntityId node = from; node != to;) {
      const Straight way = straight(node, to, fabric_.next_port(node, to));
      const auto node_after = [&](std::uint32_t count) {
        return way.along_row ? straight_->node(way.line, way.after(count))
                             : straight_->node(way.after(count), way.line);
      };
      const std::uint32_t inside =
          (way.along_row ? row_runs_ : column_runs_).beyond(way.line, way.place, way.upwards);
      if (inside < way.links()) {
        return {regions_.owner[node_after(inside + 1).value()], hops_[0] * (links + inside + 1)};
      }
      links += way.links();
      node = node_after(way.links());
    }
    return {};
  }

  // A packet whose event is pending.
  struct Leaving {
    EntityId node;
    EntityId to;
    SimTime way;  // least latency from the node to the first one elsewhere
    bool is_last = false;
  };
  // Links at most at which it is looked when they are free.
  static constexpr int most_links = 16;

  // Links carry packets in order of arrival: what was given to one before goes first. Of the
  // packets of a message only the last one is an event at the target.
  template <class FreeAt>
  SimTime crossing_of(const Leaving& packet, SimTime time, const FreeAt& free_at) const {
    SimTime left = packet.way;
    EntityId node = packet.node;
    for (int link = 0; link < most_links && is_here(node); ++link) {
      const unsigned port = fabric_.next_port(node, packet.to);
      time = std::max(time, free_at(node, port)) + latency(node, port);
      left -= latency(node, port);
      node = fabric_.neighbour(node, port);
    }
    return node == packet.to && !packet.is_last ? SimTime::never() : time + left;
  }

  // The longest run of rows, or of columns, in which all that lies in the box is of this region.
  void find_inner_box(const machine::Grid& grid) {
    const auto longest = [](std::uint32_t first, std::uint32_t last, const auto& is_whole) {
      std::pair<std::uint32_t, std::uint32_t> best{~0U, 0};
      for (std::uint32_t begin = first; begin <= last; ++begin) {
        std::uint32_t end = begin;
        while (end <= last && is_whole(end)) {
          ++end;
        }
        if (end > begin && (best.first == ~0U || end - begin > best.second - best.first + 1)) {
          best = {begin, end - 1};
        }
        begin = end;
      }
      return best;
    };
    const auto is_whole = [&](Box part) {
      for (std::uint32_t row = part.top; row <= part.bottom; ++row) {
        for (std::uint32_t column = part.left; column <= part.right; ++column) {
          if (!is_here(grid.node(row, column))) {
            return false;
          }
        }
      }
      return true;
    };
    Box rows = box_;
    std::tie(rows.top, rows.bottom) = longest(box_.top, box_.bottom, [&](std::uint32_t row) {
      return is_whole({row, row, box_.left, box_.right});
    });
    Box columns = box_;
    std::tie(columns.left, columns.right) =
        longest(box_.left, box_.right, [&](std::uint32_t column) {
          return is_whole({box_.top, box_.bottom, column, column});
        });
    inner_ = rows.area() >= columns.area() ? rows : columns;
  }

  struct Known {
    EntityId from = EntityId::none();
    EntityId to = EntityId::none();
    pdes::Exit exit;
  };
  struct Line {
    EntityId from = EntityId::none();
    EntityId to = EntityId::none();
    SimTime latency;
    Bandwidth bandwidth = Bandwidth::bytes_per_second(~std::uint64_t{0});  // of the slowest link
  };
  static constexpr std::size_t known_routes = 16384;                  // a power of two
  static constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15U;  // of 2^64: spreads keys

  static std::size_t place_of(EntityId from, EntityId to) {
    const std::uint64_t ends = std::uint64_t{from.value()} << 32U | to.value();
    return (ends * golden_ratio >> 40U) & (known_routes - 1);
  }

  SimTime latency(EntityId node, unsigned port) const {
    return hops_[uniform_ ? 0 : topology_.link(node, port).link_class];
  }
  static std::vector<SimTime> latencies(const machine::Topology& topology) {
    std::vector<SimTime> all;
    for (const machine::LinkClass& link_class : topology.link_classes()) {
      all.push_back(link_class.latency);
    }
    return all;
  }

  pdes::Exit walk(EntityId from, EntityId to) const {
    pdes::Exit exit;
    for (EntityId node = from; node != to;) {
      const unsigned port = fabric_.next_port(node, to);
      exit.latency += latency(node, port);
      node = fabric_.neighbour(node, port);
      if (!regions_.is_here(node)) {
        exit.region = regions_.owner[node.value()];
        return exit;
      }
    }
    return {};
  }

  Line measure(EntityId from, EntityId to) const {
    Line line{.from = from, .to = to, .latency = SimTime::zero()};
    for (EntityId node = from; node != to;) {
      const unsigned port = fabric_.next_port(node, to);
      const unsigned link_class = uniform_ ? 0 : topology_.link(node, port).link_class;
      line.latency += hops_[link_class];
      line.bandwidth = std::min(line.bandwidth, topology_.link_classes()[link_class].bandwidth);
      node = fabric_.neighbour(node, port);
    }
    return line;
  }

  // Whether a message may come in and leave again. A straight route meets no more than the
  // rectangle around its ends, and a rectangle once.
  bool may_pass(EntityId from, EntityId to) const {
    if (!straight_ || straight_->wraps) {
      return true;
    }
    if (is_box_ && (is_here(from) || is_here(to))) {
      return false;
    }
    Box ends;
    ends.take(straight_->row_of(from), straight_->column_of(from));
    ends.take(straight_->row_of(to), straight_->column_of(to));
    return ends.top <= box_.bottom && box_.top <= ends.bottom && ends.left <= box_.right &&
           box_.left <= ends.right;
  }

  void walk_through(EntityId from, EntityId to) {
    bool came_in = false;
    bool was_here = regions_.is_here(from);
    SimTime since_entry;
    for (EntityId node = from; node != to;) {
      const unsigned port = fabric_.next_port(node, to);
      since_entry += latency(node, port);
      node = fabric_.neighbour(node, port);
      const bool is_here = regions_.is_here(node);
      if (is_here && !was_here) {
        came_in = true;
        since_entry = SimTime::zero();
      } else if (!is_here && was_here && came_in) {
        SimTime& least = through_[regions_.owner[node.value()]];
        least = std::min(least, since_entry);
      }
      was_here = is_here;
    }
  }

  const Fabric& fabric_;
  const machine::Topology& topology_;
  pdes::RegionView regions_;
  std::vector<SimTime> hops_;                          // by class of link
  std::vector<pdes::CrossingsWith<Leaving>> pending_;  // [ranks]
  std::vector<SimTime> through_;                       // [ranks]
  SimTime handled_;                                    // events before it
  std::vector<Known> known_;
  std::vector<Line> lines_ = std::vector<Line>(known_routes);
  std::optional<machine::Grid> straight_;  // whose routes are straight
  Divisor columns_{1};
  Box box_;              // around this region
  bool is_box_ = false;  // this region is all of it
  OwnedRuns row_runs_;   // of rows and columns, where links are all alike
  OwnedRuns column_runs_;
  Box inner_;  // wholly of this region: routes between its nodes do not leave
  bool uniform_;
};

}  // namespace tessera::network
