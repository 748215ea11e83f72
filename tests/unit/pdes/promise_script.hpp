// One rank with the promise policy, whose neighbours are played by the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "other_rank.hpp"
#include "scripted_rank.hpp"
#include "statements.hpp"
#include "tessera/core/error.hpp"

namespace tessera::pdes::testing {

inline SimTime ps(std::int64_t count) {
  return SimTime::from_ps(count);
}

// Each rank sends to those so many places away, both ways.
inline RegionDelays ring_of(std::uint32_t ranks, std::uint32_t distance) {
  RegionDelays delays;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    delays.direct.push_back({rank, (rank + distance) % ranks, ps(1)});
    delays.direct.push_back({rank, (rank + ranks - distance) % ranks, ps(1)});
  }
  return delays;
}

inline RegionDelays all_to_all(std::uint32_t ranks) {
  RegionDelays delays;
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from != to) {
        delays.direct.push_back({from, to, ps(1)});
      }
    }
  }
  return delays;
}

class PromiseScript {
 public:
  PromiseScript(std::uint32_t self, std::uint32_t ranks, RegionDelays of)
      : communicator(static_cast<int>(self), static_cast<int>(ranks)),
        site(ranks),
        self_(self),
        ranks_(ranks),
        delays_(std::move(of)),
        policy(make_promise_policy(communicator, delays_)) {}
  PromiseScript(std::uint32_t self, std::uint32_t ranks)
      : PromiseScript(self, ranks, all_to_all(ranks)) {}

  RoundResult step(const RoundSums& sums = {}) { return policy->advance(site, sums); }

  // As another rank sees it.
  Statements& of(std::uint32_t rank) {
    return others_.try_emplace(rank, ranks_, rank, delays_).first->second;
  }
  // What another rank says to this one.
  struct Said {
    SimTime at = SimTime::never();
    SimTime through = SimTime::never();
    SimTime wanted = {};
    SimTime sent = SimTime::never();
    std::uint32_t posted = 0;
    std::uint32_t received = 0;
    std::vector<SimTime> events = {};
  };
  void hear(std::uint32_t rank, const Said& said) {
    Statements& other = of(rank);
    other.own().wanted = said.wanted;
    for (Towards& towards : other.own().towards) {
      towards.at = SimTime::never();
      towards.through = SimTime::never();
    }
    Towards& towards = other.own().towards[other.neighbour_of(0, self_)];
    towards.at = said.at;
    towards.through = said.through;
    towards.sent = said.sent;
    towards.posted = said.posted;
    towards.received = said.received;
    other.own_changed();
    Batch batch{static_cast<int>(rank), {}, true};
    for (const SimTime time : said.events) {
      batch.events.emplace_back().time = time;
    }
    other.append_to(batch.events, other.place_of(self_));
    batch.events.back().flags = states;
    communicator.coming.push_back(batch);
  }
  void hear_mark(std::uint32_t rank, std::uint8_t mark, std::uint32_t sequence) {
    Event record;
    record.flags = mark;
    record.sequence = sequence;
    communicator.coming.push_back({static_cast<int>(rank), {record}, true});
  }

  // What was posted since this was asked last.
  std::vector<Batch> posted() { return std::exchange(communicator.posted, {}); }
  Batch last_posted() {
    const std::vector<Batch> batches = posted();
    ensure(!batches.empty(), "a batch is posted");
    return batches.back();
  }
  // What a batch says of this rank towards the one that it goes to, which reads it.
  struct Told {
    SimTime wanted;
    Towards towards;
    std::size_t events = 0;
  };
  Told read(const Batch& batch) {
    ensure(batch.events.back().flags == states, "a batch that ends with statements");
    Statements& other = of(static_cast<std::uint32_t>(batch.rank));
    const std::size_t place = other.place_of(self_);
    Told told;
    told.events = other.take_from(batch.events, place).size();
    const Statement& said = other.of(place);
    told.wanted = said.wanted;
    told.towards = said.towards[other.neighbour_of(place, static_cast<std::size_t>(batch.rank))];
    return told;
  }

  ScriptedCommunicator communicator;
  ScriptedSite site;

 private:
  std::uint32_t self_;
  std::uint32_t ranks_;
  RegionDelays delays_;
  std::map<std::uint32_t, Statements> others_;

 public:
  std::unique_ptr<SyncPolicy> policy;
};

}  // namespace tessera::pdes::testing
