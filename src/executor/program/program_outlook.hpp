// When the tiles of a rank will next send to another one: the outlook of programs.
//
// Method: only tiles that ever send out of the region are watched. Each is somewhere in its
// program, computing until a known time or waiting for something; it sends out again not before it
// goes on, plus the least time from there to the next instruction that sends out. That time is a
// table of the program, one for all tiles that send out alike (Leaving): compute times are exact,
// what else lies between (collectives, receives, memory) counts nothing. When a tile goes on
// follows from what it waits for: a message under way arrives after the least time of its route;
// one that a tile of this rank has not sent yet takes that long from whatever is handled next; one
// from another rank comes with an event from there.
//
// That is worth its cost shortly before a tile sends out. While it still has much to compute
// before, it is watched roughly (watched_outlook.hpp): what was known of it once, "not before that
// much from now on", stays true whatever happens to it. Only when that is too little for who asks
// is the tile looked at again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "tessera/executor/program/executor.hpp"
#include "tessera/pdes/outlook.hpp"
#include "tessera/plan/stages/stage_work.hpp"
#include "watched_outlook.hpp"

namespace tessera::executor {

class ProgramOutlook final : public WatchedOutlook {
 public:
  using Instruction = plan::Instruction;

  // `setup.outlook.regions` is not null. All is kept by reference.
  ProgramOutlook(const ExecutorSetup& setup, std::span<const std::uint32_t> roles);

  // Whether a tile of this role may send out shortly after this place of its program: there it
  // matters which messages are under way.
  bool is_near(std::uint32_t role, std::uint32_t entry, std::uint32_t instruction) const {
    return instruction >= near_from_[plan_.placement.stage(role)][entry];
  }

  // An access of a tile begins; it ends with `end_access`.
  void begin_access(std::uint32_t index, std::uint16_t slot, Bytes bytes, SimTime now);
  // A channel will have served it at `earliest`.
  void follow_access(EntityId target, std::uint16_t slot, SimTime earliest);
  void end_access(std::uint32_t index, std::uint16_t slot);

  // What to wait for a message, or for the memory (all slots of a mask), means.
  Resumption message(std::uint32_t index, EntityId source, std::uint16_t tag, Bytes bytes) const;
  Resumption access(std::uint32_t index, std::uint64_t mask) const;
  SimTime least_duration(std::uint32_t index, std::uint32_t operation) const;

  // Where a thread stands. `program`: goes on at `instruction` of the schedule's `entry`; with
  // `last`, the program ends with the schedule.
  struct Stand {
    Resumption resumption;
    std::uint32_t entry = 0;
    std::uint32_t instruction = 0;
    bool last = false;
  };
  // Says where the tiles stand, when asked for: calls `program` at most once, and `beside` with the
  // instructions that go on or wait beside it.
  class Teller {
   public:
    virtual ~Teller() = default;
    virtual void tell(std::uint32_t index, ProgramOutlook& outlook) = 0;
  };
  void stand(const Stand& stand);
  using WatchedOutlook::stay_exact;
  void stand_beside(const Resumption& resumption, std::span<const Instruction* const> queue);

  pdes::Outlook outlook(std::uint32_t rank, const pdes::Moment& moment, Teller& teller);

 private:
  // Of an access under way: it was asked for, and its reply not yet seen.
  static constexpr std::uint64_t asked_for = 1;
  // Where a collective of a group sends out to.
  using CollectiveOf = std::pair<plan::Group, collective::Kind>;
  // How a tile sends out.
  struct Leaving {
    std::array<Regions, 2> peers;  // by plan::Peer
    Regions memory;
    bool computing = false;  // also by what is executed
    std::map<CollectiveOf, Regions> collectives;
    bool empty() const;
  };
  // For each place of some code that asks for an access: where the tile waits for it, or none.
  using Waits = std::vector<std::uint32_t>;
  // Least times from a place in a program to the next event in one other region.
  struct Table {
    std::vector<std::vector<SimTime>> in_piece;  // [pieces][instructions + 1], inside the piece
    std::vector<SimTime> from_entry;             // [entries + 1]
    SimTime beside;                              // of what goes on beside the program
  };
  // Tiles of a stage that send out alike.
  struct Class {
    std::uint32_t stage = 0;
    Leaving leaving;  // least latencies of all
    std::uint32_t example = 0;
    std::vector<std::vector<SimTime>> to_end;  // [pieces][instructions + 1] of the piece
    std::map<std::uint32_t, Table> tables;     // by region
    bool is_made = false;
  };

  void watch_tile(std::uint32_t index, std::uint32_t role);
  Leaving leaving_of(std::uint32_t index, std::uint32_t number);
  bool are_alike(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t class_of(std::uint32_t stage, std::uint32_t index, const Leaving& leaving);
  void make_tables(Class& of);
  void find_near();
  SimTime time_to_exit(const Class& of, const Table& table, std::uint32_t entry,
                       std::uint32_t instruction) const;
  SimTime cost(const Class& of, const Instruction& instruction) const;
  std::vector<SimTime> times_to_end(const Class& of, std::span<const Instruction> code,
                                    const Waits& waits) const;
  std::vector<SimTime> times_to_exit(const Class& of, std::span<const Instruction> code,
                                     const Waits& waits, std::uint32_t region) const;
  static const Regions* exits(const Leaving& leaving, const Instruction& instruction);
  static SimTime latency_to(const Regions* regions, std::uint32_t region);
  SimTime from(const Class& of, const Table& table, const Stand& stand) const;
  void tell(std::uint32_t index) override { teller_->tell(index, *this); }

  const ExecutorSetup& setup_;
  const plan::Plan& plan_;
  std::vector<std::uint32_t> class_of_;  // [watched]
  std::vector<Class> classes_;
  std::vector<plan::StageWork> work_;  // [stages]
  plan::CollectiveSends sends_;
  std::vector<std::vector<std::uint32_t>> near_from_;  // [stages][entries] instruction
  Teller* teller_ = nullptr;                           // of the outlook being made
};

}  // namespace tessera::executor
