// How far a rank may run before it must hear from the others.
//
// LBTS_i = min over j of (N_j + D_ji): the lower bound on the timestamp of any message rank i can
// still receive, with N_j rank j's next event (messages in flight count where they will arrive) and
// D_ji at most the delay from region j to region i over any path; D_ii at most the shortest cycle.
// Fujimoto, "Parallel and Distributed Simulation Systems", Wiley 2000, ch. 3. A quiet machine jumps
// to its next event at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/region_delays.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/event.hpp"
#include "tessera/pdes/outlook.hpp"

namespace tessera::pdes {

// Events for one other rank, sent since the last round. `target` holds the entity number.
struct Outbox {
  std::vector<Event> events;
  SimTime earliest = SimTime::never();
};

// Counters summed over all ranks in the round's own reduction.
struct RoundSums {
  std::int64_t stop_requests = 0;
  std::int64_t checkpoint_requests = 0;
  std::int64_t events = 0;
  std::int64_t work_done = 0;  // the models' own measure of progress
};

struct RoundResult {
  SimTime bound;  // handle events before this time
  // Whether all ranks met in this round; a policy may let only neighbours meet. What follows is
  // known then, and the same on every rank.
  bool global = true;
  bool finished = false;  // no rank has an event, none is in flight
  RoundSums sums;         // over all ranks
  SimTime global_next;    // earliest event of any rank
};

// A rank as its policy sees it.
class Site {
 public:
  virtual ~Site() = default;
  // Start of the window of the earliest pending event; never: there is none.
  virtual SimTime next() const = 0;
  // Of a window.
  virtual SimTime width() const = 0;
  // Nothing from here on is handled before a pause is made; never: no pause is due.
  virtual SimTime limit() const = 0;
  // By rank. The policy sends and empties them.
  virtual std::vector<Outbox>& outboxes() = 0;
  // Takes events that came from another rank.
  virtual void arrive(std::span<const Event> events) = 0;
  // Of the models, as the rank stands; `wanted` as of a Moment.
  virtual Outlook outlook(std::uint32_t rank, SimTime wanted) = 0;
  // Who sent an event, for messages about defects.
  virtual std::string describe(const Event& event) const = 0;
};

// What a policy has done.
struct SyncCounts {
  std::uint64_t rounds = 0;   // of all ranks or, with null messages, of neighbours
  std::uint64_t batches = 0;  // sent to other ranks
  std::uint64_t waits = 0;    // times that this rank had work, and had to wait for others
};

// One round of synchronisation. All policies give identical results.
class SyncPolicy {
 public:
  virtual ~SyncPolicy() = default;
  // Sends what is due, delivers what came in, and says how far this rank may run.
  virtual RoundResult advance(Site& site, const RoundSums& sums) = 0;
  // Events that a rank handles before it asks again, when its bound would let it run on.
  virtual std::uint64_t stretch() const { return std::uint64_t{1} << 18; }
  // Whether it wants to be asked before that. Asked often, and so cheap.
  virtual bool has_news() const { return false; }
  const SyncCounts& counts() const { return counts_; }

 protected:
  SyncCounts counts_;
};

// All ranks meet in one reduction a round, which carries next event times, batch counts and
// counters together.
std::unique_ptr<SyncPolicy> make_window_policy(comm::Communicator& communicator,
                                               RegionDelays delays);

// Null messages (Chandy and Misra, IEEE Trans. Softw. Eng. SE-5(5), 1979; Bryant, MIT 1977) in
// rounds. In a local round each rank exchanges one batch with each of its neighbours: the events
// for it, and a promise that no later event will reach it before
//   T = min(next event of the sender, bound of the sender) + direct delay.
// The bound of a rank is the least of the promises it holds. Nobody waits for a rank that is not a
// neighbour, so ranks far apart drift freely. Now and then comes a global round, the one of the
// window policy: it jumps idle stretches, where promises creep by one delay a round, and tells of
// the end and of requests. How many local rounds come before it follows from sums over all ranks,
// so that all know: more while most ranks are busy, none while most are idle, and few enough that
// it comes every 50 ms or so of wall time.
//
// A send to a rank that is not a neighbour, and one below the direct delay where a promise was made
// of it, throw ModelError naming both entities: at the next global round, if not at once.
std::unique_ptr<SyncPolicy> make_null_message_policy(comm::Communicator& communicator,
                                                     RegionDelays delays);

// Promises from models, exchanged when one needs them.
//
// Method: a rank tells others its earliest output time (Jha and Bagrodia, ACM TOMACS 10(3), 2000),
// as its models see it (Outlook). A statement of rank i says for each neighbour j
//   A = min(at, N_i + after_next), the earliest event of its own that reaches j,
//   T, from an event that comes in to one that reaches j, at least,
//   the earliest of those it has sent j and that j may not know of, and counts of batches.
// Batches carry all statements that their sender knows and the receiver may not. The bound of a
// rank is the shortest path to it, from the A of all ranks, with the T as lengths: ranks never
// creep towards an event in the far future by turns (the null-message problem), nor do circles of
// them. Beyond 32 ranks a rank tells of itself to neighbours only. In circles of regions one that
// hears often without getting further then calls all ranks to a global round, where the least of
// all A is a bound for everybody.
//
// Messages: batches go out when a rank has run a stretch and has events, when another one waits and
// may now go on, and when the rank itself has to wait; those that sleep wake only when they can go
// on. Nobody stops for others while it has work below its bound. Global rounds, of all ranks, are
// called by a rank that has a request, by the first rank ten times a second to tell of progress,
// and when all ranks have come to a pause or to the end.
//
// A statement that does not hold is a defect: InternalError that names the model, the entity and
// both times, at the sender or at the receiver.
std::unique_ptr<SyncPolicy> make_promise_policy(comm::Communicator& communicator,
                                                RegionDelays delays);

// Policies by name: null-message, promise, window.
using SyncPolicyMaker =
    std::function<std::unique_ptr<SyncPolicy>(comm::Communicator&, RegionDelays)>;
Registry<SyncPolicyMaker>& sync_policies();

}  // namespace tessera::pdes
