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
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/event.hpp"

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

// Takes events that came from another rank, valid during the call.
using EventSink = std::function<void(std::span<const Event>)>;

// One round of synchronisation. All policies give identical results.
class SyncPolicy {
 public:
  virtual ~SyncPolicy() = default;
  // Sends and empties the outboxes (index: rank), delivers what came in to `sink`, and says how far
  // this rank may run. `next` is the start of the window of this rank's earliest pending event.
  virtual RoundResult advance(SimTime next, std::vector<Outbox>& outboxes, const RoundSums& sums,
                              const EventSink& sink) = 0;
  std::uint64_t batches_sent() const { return batches_sent_; }

 protected:
  std::uint64_t batches_sent_ = 0;
};

// How soon what happens in one region can matter in another; [ranks * ranks], row: from.
struct RegionDelays {
  // No path is shorter; on the diagonal, no cycle through another region: machine::region_delays.
  std::vector<SimTime> least;
  // Of an event that an entity of one region sends straight to one of the other; never where that
  // does not happen. machine::direct_delays where all models send along links only; where one may
  // send from anywhere to anywhere, the least delays. The diagonal is not used.
  std::vector<SimTime> direct;
};

// All ranks meet in one reduction a round, which carries next event times, batch counts and
// counters together. `delays` are the least ones.
std::unique_ptr<SyncPolicy> make_window_policy(comm::Communicator& communicator,
                                               std::vector<SimTime> delays);

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

// Policies by name: null-message, window.
using SyncPolicyMaker =
    std::function<std::unique_ptr<SyncPolicy>(comm::Communicator&, RegionDelays)>;
Registry<SyncPolicyMaker>& sync_policies();

}  // namespace tessera::pdes
