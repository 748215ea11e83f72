// What ranks have said of themselves, as one rank knows it, and what follows for when events reach
// whom.
//
// Method: earliest input and output times (Jha and Bagrodia, ACM TOMACS 10(3), 2000), solved for
// all known ranks at once. Each rank says for each neighbour when something of its own reaches it
// at the earliest, and how long it takes from what comes in to what goes there. The earliest input
// times of all ranks are then shortest paths from the own events of all. Ranks that exchanged
// promises alone would find the same by turns, in steps of the shortest way around a circle of
// them: the creep of null messages.
//
// A message holds every statement that its sender knows and the receiver may not, so that what a
// rank knows is closed: who no longer counts something as under way heard that it was received, and
// says so too. Beyond `most_known` ranks that would be long messages: each rank then tells its
// neighbours of itself alone, and counts for theirs what they found out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/pdes/event.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {

// Of one rank about one of its neighbours.
struct Towards {
  SimTime at;                       // nothing of its own comes there before
  SimTime through;                  // from an event that comes in to one that goes there, at least
  SimTime sent = SimTime::never();  // earliest of events sent there that may not be known there
  SimTime bound;                    // nothing comes from there before
  std::uint32_t posted = 0;         // batches with events to there, modulo 2^32
  std::uint32_t received = 0;       // batches with events from there
  friend bool operator==(const Towards&, const Towards&) = default;
};

// Of two counts of batches that are less than 2^31 apart (RFC 1982).
inline bool is_before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

struct Statement {
  std::uint64_t version = 0;  // zero: nothing was said
  SimTime wanted;  // it waits, and could go on if nothing came before; zero: it does not wait
  std::vector<Towards> towards;  // by neighbour

  bool waits() const { return wanted > SimTime::zero(); }
};

class Statements {
 public:
  // Up to so many ranks all know of all; beyond, of neighbours only.
  static constexpr std::size_t most_known = 32;
  static constexpr std::size_t none = ~std::size_t{0};

  Statements(std::size_t ranks, std::size_t self, const RegionDelays& delays);

  // Ranks are numbered anew among those that are known; this one is the first.
  std::size_t known() const { return ranks_.size(); }
  std::size_t rank_of(std::size_t known) const { return ranks_[known].rank; }
  std::size_t place_of(std::size_t rank) const { return place_of_[rank]; }
  // Whether all ranks are.
  bool complete() const { return ranks_.size() == place_of_.size(); }
  // Ranks that send to one or hear from it, in a fixed order.
  std::span<const std::size_t> neighbours_of(std::size_t known) const {
    return ranks_[known].neighbours;
  }
  // The place of a rank among the neighbours of a known one; none: it is not.
  std::size_t neighbour_of(std::size_t known, std::size_t rank) const;

  const Statement& of(std::size_t known) const { return ranks_[known].said; }
  // Of this rank. After a change, `own_changed`.
  Statement& own() { return ranks_[0].said; }
  void own_changed() { ++own().version; }

  // Appends what the rank may not know to a batch for it, and a last record that ends it.
  void append_to(std::vector<Event>& batch, std::size_t to);
  // Whether there is something of this rank that the other one was not told.
  bool has_news_for(std::size_t to) const { return told(to, 0) != ranks_[0].said.version; }
  // Takes the records from the end of a batch that append_to() made; returns the events.
  std::span<const Event> take_from(std::span<const Event> batch, std::size_t from);

  // Finds the earliest times at which an event, unless the rank that it goes to has said that it
  // knows it, reaches a known rank from any, and this rank from each known one.
  void solve();
  SimTime earliest_input(std::size_t known) const { return ranks_[known].input; }
  SimTime earliest_from(std::size_t known) const { return ranks_[known].to_self; }

 private:
  struct Known {
    std::size_t rank = 0;
    std::vector<std::size_t> neighbours;  // ranks
    std::vector<std::size_t> places;      // of those here; none: they count by `bound`
    std::vector<std::size_t> back;        // places of this one among theirs
    Statement said;
    SimTime input;
    SimTime to_self;
    bool is_final = false;  // of solve()
  };

  std::uint64_t told(std::size_t to, std::size_t of) const {
    return told_[to * ranks_.size() + of];
  }
  void append(std::vector<Event>& batch, std::size_t known) const;
  // An event of `from` itself, at the neighbour; of what is under way, only what is not known
  // there.
  SimTime direct(std::size_t from, std::size_t neighbour) const;

  std::vector<std::size_t> place_of_;  // [ranks]
  std::vector<Known> ranks_;           // [known]
  std::vector<std::uint64_t> told_;  // [known x known] versions that the first knows of the second
};

}  // namespace tessera::pdes
