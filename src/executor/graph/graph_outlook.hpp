// When the NPUs of a rank will next send to another one: the outlook of graphs.
//
// Method: only NPUs are watched whose graphs hold a node that sends out of the region; one look
// through the graph, before it runs, tells. Of the nodes that have been read, one pass from the
// last ones to the first finds the least time from the end of each to the next node that depends on
// it, whatever lies between, and sends out: times of computing are exact, all else counts nothing.
// It is made anew when more nodes are read. Nodes that have not been read depend on some of the
// last ones that have (ReadAhead), and may send out as soon as one of those is over, if any that
// has not been read does. Before any node sends out, one that is under way now, or waits for a
// lane, is over or begins, from which it follows: what those wait for, and the times of the pass,
// are what is told.
//
// A node that computes is over at a known time; a receive, or a step of a collective, when its
// message has come: under way, not before the least time of its route since it was sent; not yet
// sent by an NPU of this rank, that time after whatever is handled next; from another rank, when
// something comes in from there. A collective under way may send as soon as one of the messages
// that it waits for is here.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "graph/messages.hpp"
#include "graph/npu.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/pdes/outlook.hpp"
#include "watched_outlook.hpp"

namespace tessera::executor {

class GraphOutlook final : public WatchedOutlook {
 public:
  using Place = GraphTasks::Place;

  // What the executor knows.
  class Host {
   public:
    virtual ~Host() = default;
    virtual const PlannedCollective& plan_of(const Task& task) = 0;
    // From the begin of a task to its end, at least.
    virtual SimTime least_duration(std::uint32_t index, const GraphTasks& tasks,
                                   const Task& task) = 0;
    // Says where an NPU that is watched stands, by `stand_behind`, `stand_in` and `stand_queued`.
    virtual void tell_npu(std::uint32_t index, GraphOutlook& outlook) = 0;
  };

  // `setup.outlook.regions` is not null. All is kept by reference. Looks through the graphs of all
  // NPUs here: `npus` [members], with their numbers. `hears`: receivers are told of messages
  // (GraphMessageLog).
  GraphOutlook(const GraphSetup& setup, std::span<const GraphNpu> npus, bool hears, Host& host);

  // More nodes have been read.
  void learn(std::uint32_t index, const GraphNpu& npu);

  // What to wait for a message means, or for a step that waits, of the same name.
  Resumption message(std::uint32_t index, EntityId source, const MessageId& id, Bytes bytes) const;
  // Or for an access to memory.
  Resumption access(std::uint32_t index, std::uint16_t tag) const;
  SimTime duration(std::uint32_t index, Place place) const { return ahead_[index].duration[place]; }

  // While it is told of: it goes on with what depends on a task of this NPU.
  void stand_behind(const Resumption& resumption, std::uint32_t index, Place place);
  // It goes on with a collective.
  void stand_in(const Resumption& resumption, std::uint32_t index, const PlannedCollective& plan);
  // It begins one of several tasks.
  void stand_queued(const Resumption& resumption, std::uint32_t index,
                    std::span<const Place> queue);

  pdes::Outlook outlook(std::uint32_t rank, const pdes::Moment& moment) {
    return outlook_of(rank, moment);
  }

 private:
  // What is known of an NPU's nodes.
  struct Ahead {
    std::vector<std::uint32_t> regions;  // to which it ever sends out
    std::vector<SimTime> least;          // [regions] latency
    std::vector<std::uint64_t> last;     // [regions] place in the graph of the last node that does
    std::vector<SimTime> duration;       // [places of tasks]
    // [places of tasks * regions] from the begin, or the end, of a task to the next event there.
    std::vector<SimTime> from_begin;
    std::vector<SimTime> from_end;
  };

  bool accesses_memory(std::uint32_t index, const Task& task) const;
  void look_through(std::uint32_t index);
  Regions exits_of(std::uint32_t index, const Task& task);
  const Regions& exits_of_collective(std::uint32_t index, const PlannedCollective& plan);
  void add_message(Regions& regions, EntityId from, EntityId to, Bytes bytes) const;
  void add_unread(Ahead& ahead, const GraphNpu& npu, const std::vector<bool>& held,
                  const std::vector<std::uint32_t>& dependents) const;
  void pass_back(std::uint32_t index, const GraphTasks& tasks, const std::vector<bool>& held,
                 std::vector<std::uint32_t> dependents, std::vector<std::pair<Place, Place>> edges);
  void reach(std::uint32_t index, const GraphTasks& tasks, Place place);
  void tell(std::uint32_t index) override;

  const GraphSetup& graphs_;
  bool hears_;
  std::span<const GraphNpu> npus_;
  Host& host_;
  std::vector<Ahead> ahead_;  // [members]
  std::map<std::pair<const PlannedCollective*, std::uint32_t>, Regions> collectives_;
};

// The name under which a step that waits is expected, as a message of an NPU to itself.
MessageId name_of_wait(const CollectiveId& of, collective::StepName name);

}  // namespace tessera::executor
