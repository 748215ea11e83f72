// What the executor of graphs knows of each NPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "collectives/plans.hpp"
#include "graph/message_log.hpp"
#include "graph/messages.hpp"
#include "graph/tasks.hpp"
#include "tessera/collective/run.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::executor {

class GraphCollectives;

// Where events of the executor go.
struct GraphPorts {
  pdes::Port over;      // a task that takes a time of its own
  pdes::Port accessed;  // of local memory
  pdes::Port arrival;
  pdes::Port step;  // of a collective
};

// A phase of a collective under way.
struct OpenPhase {
  std::uint32_t chunk = 0;
  std::uint32_t phase = 0;
  SimTime begin;
};

struct ActiveCollective {
  CollectiveId id;
  GraphTasks::Place place = 0;
  const PlannedCollective* plan = nullptr;
  std::size_t sum = 0;         // in GraphCollectives
  bool may_be_lumped = false;  // see network::RingPart
  std::unique_ptr<collective::CollectiveRun> run;
  std::vector<OpenPhase> phases;
};

struct WaitingReceive {
  MessageId message;
  GraphTasks::Place place = 0;
};

struct BegunTask {
  GraphTasks::Place place = 0;
  // Events that are to come before it is over; none is left of a collective that is, and that only
  // its task's own event at this instant is still to tell of.
  std::uint32_t parts = 1;
  SimTime time;
};

// Of tasks that wait for a lane: puts the first to begin at the front of a heap.
struct BeginsLater {
  const GraphTasks& tasks;
  bool newest_first = false;
  bool operator()(GraphTasks::Place a, GraphTasks::Place b) const {
    const Task& first = tasks[a];
    const Task& second = tasks[b];
    return first.priority != second.priority ? first.priority < second.priority
                                             : newest_first != (first.id > second.id);
  }
};

struct GraphNpu {
  using Place = GraphTasks::Place;

  // Takes a message that has come before anybody asked for it; false when it has not.
  bool take_early(const MessageId& message);
  // Whether a collective is under way.
  bool is_beside() const;
  // A collective is over: from now on nothing is beside it, though its task ends by an event.
  void ends_in_own_event(Place place);
  // One under way in this lane, by the lower bits of its place.
  BegunTask& begun_task(const GraphWork& work, Lane lane, std::uint16_t tag);
  TileResult result(EntityId tile, bool finished) const;
  // The time since the last change, in which the NPU did what it does now.
  void book(SimTime now);

  std::uint32_t number = unused;
  std::uint32_t iteration = 0;
  // What messages look at, in the 128 bytes that the engine loads ahead.
  std::vector<ActiveCollective> collectives;
  // Of each, with the number that its messages bear: apart, as every message looks through them.
  std::vector<CollectiveId> collective_ids;
  std::map<MessageId, std::uint32_t> early;  // arrived and not taken yet, how many
  std::vector<WaitingReceive> receives;      // in the order begun
  GraphTasks tasks;
  // Ready ones that wait for their lane: a heap by BeginsLater, the first to begin at the front.
  std::array<std::vector<Place>, lanes> queues;
  std::array<std::uint32_t, lanes> under_way{};
  std::vector<BegunTask> begun;  // under way
  UnreportedById unreported;     // where messages are heard of
  SimTime since;                 // of the present activity
  SimTime asked_until;           // by coherent accesses: see CoherentAccess
  SimTime issued_until;          // its host is busy with what it has issued
  std::array<std::int64_t, activities> time_ps{};

  static constexpr std::uint32_t unused = 0xFFFFFFFFU;
};

Activity activity_of(Lane lane);

// Of a node that computes, from now on: with what its host takes, and beside collectives.
SimTime issued_time(const GraphSetup& setup, const pdes::Context& context, GraphNpu& npu,
                    const Task& task);

// All but the number. Collectives under way are made anew from their tasks.
void save_npu(const GraphNpu& npu, pdes::StateWriter& writer);
void restore_npu(GraphNpu& npu, GraphCollectives& collectives, pdes::StateReader& reader);

}  // namespace tessera::executor
