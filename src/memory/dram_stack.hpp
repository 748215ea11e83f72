// The DRAM at one node: its channels, and the pieces of accesses that they serve burst by burst.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "dram_port.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/memory/dram_channel.hpp"

namespace tessera::memory {

// Part of an access, as one message asks for it.
struct DramPiece {
  EntityId requester;
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t write = 0;
  SimTime arrived;
  Cycle finish = 0;        // of its bursts so far
  std::uint32_t left = 0;  // bursts that are not done
  std::uint32_t tag = 0;   // the requester's, for the reply
  std::uint32_t unused = 0;
};

class DramStack {
 public:
  // `port`: of a channel; 0 B/s: none.
  explicit DramStack(const DramSpec& spec, Bandwidth port = Bandwidth());

  // Bursts wait in line for their channel, from the cycle that begins now or next.
  void take(const DramPiece& piece);
  // The cycle in which to call `tick`; no_cycle when there is nothing to do.
  Cycle next() const { return next_; }
  // `finished` gets the places of pieces whose last burst is done, or will be at `done_at`.
  void tick(std::vector<std::uint32_t>& finished);
  SimTime time_of(Cycle cycle) const;
  SimTime done_at(std::uint32_t place) const { return time_of(pieces_[place].finish + 1); }
  // Forgets a finished piece.
  DramPiece release(std::uint32_t place);

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
    Cycle next;  // as the channel says
    DramPort port;
  };

  Cycle first_cycle_from(SimTime time) const;
  std::uint32_t requester_number(EntityId requester);
  bool submit_waiting(Cycle now, Lane& lane);

  DramSpec spec_;
  DramAddressMap map_;
  std::vector<Lane> lanes_;                            // [channels]
  std::map<std::uint32_t, std::uint32_t> requesters_;  // numbers by entity
  std::vector<DramPiece> pieces_;
  std::vector<std::uint32_t> free_;  // places in pieces_
  Cycle next_ = no_cycle;
  Cycle last_ = -1;             // cycle that was ticked
  std::vector<DramDone> done_;  // scratch
};

}  // namespace tessera::memory
