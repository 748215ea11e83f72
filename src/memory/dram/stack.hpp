// The DRAM at one node: its channels, and the pieces of accesses that they serve burst by burst.
//
// Channels know nothing of each other, and data comes some cycles after its command. So a channel
// is simulated behind time: it goes on, many cycles at once, when bursts come to it or when it may
// have something that is done. Results and their order are as if all went on cycle by cycle.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "dram/port.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/memory/dram/channel.hpp"

namespace tessera::memory {

// Part of an access, as one message asks for it.
struct DramPiece {
  EntityId requester;
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t write = 0;
  SimTime arrived;
  Cycle finish = 0;         // of its bursts so far
  std::uint64_t known = 0;  // when the last of these was known, see DramStack::order_of
  std::uint32_t left = 0;   // bursts that are not done
  std::uint32_t tag = 0;    // the requester's, for the reply
};

// Of all pieces so far: reads, writes.
struct DramTaken {
  std::array<std::uint64_t, 2> bytes{};
  std::array<std::uint64_t, 2> bursts{};  // in line for a channel
};

class DramStack {
 public:
  // `port`: of a channel; 0 B/s: none. `latency`: from when data is there to when it is done.
  explicit DramStack(const DramSpec& spec, Bandwidth port = Bandwidth(),
                     SimTime latency = SimTime::zero());

  // Bursts wait in line for their channel, from the cycle that begins now or next.
  void take(const DramPiece& piece);
  // All cycles that began before `now`, of channels that may have something done by then.
  void advance(SimTime now);
  // The same of all channels, which does not change when anything is due.
  void catch_up(SimTime now);
  // The first time at which anything may be done, if nothing more comes.
  SimTime due() const;
  // The place of a piece that is done by now, or none; the first one first.
  static constexpr std::uint32_t none = 0xFFFFFFFFU;
  std::uint32_t take_finished(SimTime now);
  // Forgets a finished piece.
  DramPiece release(std::uint32_t place);
  // Of all pieces that were taken and not forgotten.
  std::vector<EntityId> requesters() const;

  const DramTaken& taken() const { return taken_; }
  // Bursts of these that wait for a command, in line or in the channel: reads, writes.
  std::array<std::uint64_t, 2> waiting() const;
  DramCounts counts() const;
  // The data buses' time together, over their number.
  SimTime busy() const;
  std::size_t resident_bytes() const;
  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  // A channel, and the bursts that it has not yet accepted.
  struct Lane {
    std::unique_ptr<DramChannel> channel;
    DramPort port;
    Cycle next = no_cycle;     // in which to go on
    Cycle due = no_cycle;      // at whose end something may be done
    Cycle planned = no_cycle;  // what `next` was when that was found
  };
  struct Finished {
    Cycle finish = 0;
    std::uint64_t known = 0;
    std::uint32_t place = 0;
    std::uint32_t unused = 0;
  };

  SimTime done_at(Cycle finish) const { return time_of(finish + 1) + latency_; }
  SimTime time_of(Cycle cycle) const;
  Cycle first_cycle_from(SimTime time) const;
  std::uint32_t requester_number(EntityId requester);
  std::uint32_t keep(const DramPiece& piece);
  void add(std::uint32_t channel, std::uint32_t requester, const WaitingBursts& bursts, Cycle now);
  std::uint64_t going_in_before(const Lane& lane, Cycle now) const;
  void run(std::uint32_t number, Cycle until);
  void plan(Lane& lane);

  DramSpec spec_;
  DramAddressMap map_;
  SimTime latency_;
  std::vector<Lane> lanes_;                            // [channels]
  std::map<std::uint32_t, std::uint32_t> requesters_;  // numbers by entity
  std::vector<DramPiece> pieces_;
  std::vector<std::uint32_t> free_;  // places in pieces_
  std::vector<Finished> finished_;   // a heap, the first on top
  DramTaken taken_;
  std::vector<DramDone> done_;  // scratch
};

}  // namespace tessera::memory
