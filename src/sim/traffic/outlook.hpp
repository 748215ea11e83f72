// What tiles with synthetic traffic know of the messages that they will send to another rank.
//
// Nothing that comes in makes a tile send, and the next message of each is drawn as soon as the one
// before was sent. A message that was drawn reaches another rank at its cycle and its way there;
// those behind it go a cycle later at the earliest, over the shortest way that the pattern may
// take. Where a rank has many tiles, one is always about to send: there the shortest way of all
// counts from whatever the rank handles next. Ways are looked up where the pattern is fixed or the
// tiles are few; elsewhere the least delay between two nodes stands for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "traffic/executor.hpp"

namespace tessera::sim {

class TrafficOutlook {
 public:
  // A tile of this rank: its next message, if it has one.
  struct Standing {
    bool has_begun = false;
    std::optional<network::TrafficMessage> next;
    SimTime begin;  // when its cycles began
  };

  // `numbers` [members] of its tiles, no_number elsewhere; both outlive the outlook.
  static constexpr std::uint32_t no_number = 0xffff'ffff;
  TrafficOutlook(const TrafficWorkSetup& setup, std::span<const std::uint32_t> numbers)
      : setup_(setup), numbers_(numbers) {
    for (const std::uint32_t number : numbers_) {
      tiles_ += number == no_number ? 0 : 1;
    }
    const std::uint64_t ways = tiles_ * setup.work.tiles.size();
    looks_up_ = setup.work.pattern->is_fixed() || ways <= most_ways;
  }

  template <class StandingOf>
  pdes::Outlook outlook(std::uint32_t rank, StandingOf standing_of) {
    const Ways& ways = ways_to(rank);
    pdes::Outlook all;
    if (tiles_ > most_watched) {
      all.after_next = ways.least;
      return all;
    }
    for (std::uint32_t index = 0; index < numbers_.size(); ++index) {
      if (numbers_[index] != no_number) {
        add(index, rank, ways, standing_of(index), all);
      }
    }
    return all;
  }

 private:
  // Least times from tiles here to another rank.
  struct Ways {
    std::vector<SimTime> of;  // [members] empty: as `least`
    SimTime least = SimTime::never();
  };

  static constexpr std::uint64_t most_ways = 1U << 16U;
  static constexpr std::uint64_t most_watched = 256;

  void add(std::uint32_t index, std::uint32_t rank, const Ways& ways, const Standing& standing,
           pdes::Outlook& all) {
    const SimTime least = ways.of.empty() ? ways.least : ways.of[index];
    if (!standing.has_begun) {
      all.after_next = std::min(all.after_next, least);
      return;
    }
    if (!standing.next) {
      return;
    }
    const auto [cycle, target] = *standing.next;
    const TrafficWork& work = setup_.work;
    all.at = std::min(all.at, standing.begin + work.time_of(cycle) + way(index, target, rank));
    if (cycle + 1 < work.cycles) {
      all.at = std::min(all.at, standing.begin + work.time_of(cycle + 1) + least);
    }
  }

  // Of a message to the tile of that number; never: it does not leave for that rank.
  SimTime way(std::uint32_t index, std::uint32_t target, std::uint32_t rank) const {
    const pdes::Exit exit = setup_.outlook.exit_of_message(
        setup_.members[index], setup_.work.tiles[target], setup_.work.message());
    return exit.region == rank ? exit.latency : SimTime::never();
  }

  // Of any that the tile may send.
  SimTime least_way(std::uint32_t index, std::uint32_t rank) const {
    RandomStream unused(0, EntityId(0), 0);
    if (setup_.work.pattern->is_fixed()) {
      return way(index, setup_.work.pattern->target(numbers_[index], unused), rank);
    }
    SimTime least = SimTime::never();
    for (std::uint32_t target = 0; target < setup_.work.tiles.size(); ++target) {
      least = std::min(least, way(index, target, rank));
    }
    return least;
  }

  const Ways& ways_to(std::uint32_t rank) {
    const auto [found, is_new] = ways_.try_emplace(rank);
    Ways& ways = found->second;
    if (is_new && !looks_up_) {
      ways.least = tiles_ > 0 ? setup_.lookahead : SimTime::never();
    } else if (is_new) {
      ways.of.assign(numbers_.size(), SimTime::never());
      for (std::uint32_t index = 0; index < numbers_.size(); ++index) {
        if (numbers_[index] != no_number) {
          ways.of[index] = least_way(index, rank);
          ways.least = std::min(ways.least, ways.of[index]);
        }
      }
    }
    return ways;
  }

  const TrafficWorkSetup& setup_;
  std::span<const std::uint32_t> numbers_;
  std::uint64_t tiles_ = 0;  // of this rank
  bool looks_up_ = false;
  std::map<std::uint32_t, Ways> ways_;  // by rank
};

}  // namespace tessera::sim
