// The collectives of graphs under way at the NPUs of a rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/npu.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::executor {

class GraphOutlook;

class GraphCollectives {
 public:
  using Place = GraphTasks::Place;

  // `log` outlives it.
  GraphCollectives(const GraphSetup& setup, const GraphPorts& ports, const GraphMessageLog& log)
      : setup_(setup), work_(setup.work), ports_(ports), log_(log), plans_(setup) {}

  // Of a task that has begun. One that is over ends its task in an event of its own.
  void begin(pdes::Context& context, GraphNpu& npu, Place place);
  // The wait of a step is over.
  void elapsed(pdes::Context& context, GraphNpu& npu, const pdes::Event& event);
  // A message of a collective, which may not be under way here yet.
  void arrived(pdes::Context& context, GraphNpu& npu, const network::Arrival& arrival,
               std::uint16_t tag);
  // Bytes by kind of collective, and messages of those that have a size for each pair. Messages
  // that nobody was told of (network::RingPart) are in neither sum: who got them has sent them on.
  std::vector<Balance> balances() const;
  // All of them: those of a ring that may be lumped are counted when its first member begins.
  std::uint64_t sent_bytes() const { return sent_bytes_; }
  void save(pdes::StateWriter& writer) const {
    writer.put(sums_);
    writer.put(sent_bytes_);
  }
  void add(pdes::StateReader& reader);

  const PlannedCollective& plan_of(const Task& task) { return plans_.of(task); }
  MessageId message_of(CollectiveId id, const collective::StepName& name) const {
    id.group += work_.first_group;
    return id_of(id, name);
  }
  // Is told of messages and waits; not owned.
  void tell(GraphOutlook* outlook) { outlook_ = outlook; }
  // A wait of a step is under way, out of a checkpoint.
  void take_in(const pdes::Event& event);

  // Not begun.
  ActiveCollective& add(GraphNpu& npu, const CollectiveId& id, Place place);

 private:
  class Actions;
  // A step that waits: what the event to itself carries.
  struct StepEvent {
    std::uint32_t group = 0;
    std::uint32_t number = 0;
    std::uint32_t chunk = 0;
    std::uint16_t phase = 0;
    std::uint16_t lane = 0;
    std::uint32_t step = 0;
  };

  struct Sum {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  static MessageId name_of(const StepEvent& step);

  static constexpr std::size_t unequal = collective::kinds;

  template <class Act>
  void advance(pdes::Context& context, GraphNpu& npu, const CollectiveId& id, const Act& act);
  void log_taken(const pdes::Context& context, GraphNpu& npu, const ActiveCollective& active,
                 const MessageId& message) const;
  void announce_ring(pdes::Context& context, const GraphNpu& npu, const ActiveCollective& active);
  void report(const pdes::Context& context, const GraphNpu& npu, const ActiveCollective& active,
              const OpenPhase& open) const;

  const GraphSetup& setup_;
  const GraphWork& work_;
  GraphPorts ports_;
  const GraphMessageLog& log_;
  CollectivePlans plans_;
  std::array<Sum, collective::kinds + 1> sums_{};  // by kind; the last: of unequal messages
  std::uint64_t sent_bytes_ = 0;
  GraphOutlook* outlook_ = nullptr;  // of a run on several ranks
};

}  // namespace tessera::executor
