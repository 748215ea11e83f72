// How far a rank may run before it must hear from the others.
//
// LBTS_i = min over j of (N_j + D_ji): the lower bound on the timestamp of any message rank i can
// still receive, with N_j rank j's next event (messages in flight count where they will arrive) and
// D_ji the smallest delay from region j to region i over any path, closed under composition; D_ii
// is the shortest cycle. Fujimoto, "Parallel and Distributed Simulation Systems", Wiley 2000,
// ch. 3. A quiet machine jumps to its next event at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tessera/comm/communicator.hpp"
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

// Takes one event that came from another rank.
using EventSink = std::function<void(const Event&)>;

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

// All ranks meet in one reduction a round, which carries next event times, batch counts and
// counters together. `delays` is the matrix of machine::region_delays.
std::unique_ptr<SyncPolicy> make_window_policy(comm::Communicator& communicator,
                                               std::vector<SimTime> delays);

}  // namespace tessera::pdes
