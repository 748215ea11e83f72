// The collectives of graphs under way at the NPUs of a rank.
#pragma once

#include <cstdint>

#include "graph_npu.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::executor {

class GraphCollectives {
 public:
  using Place = GraphTasks::Place;

  GraphCollectives(const GraphSetup& setup, const GraphPorts& ports)
      : setup_(setup), work_(setup.work), ports_(ports), plans_(setup) {}

  // Of a task that has begun. One that is over ends its task in an event of its own.
  void begin(pdes::Context& context, GraphNpu& npu, Place place);
  // The wait of a step is over.
  void elapsed(pdes::Context& context, GraphNpu& npu, const pdes::Event& event);
  // A message of a collective, which may not be under way here yet.
  void arrived(pdes::Context& context, GraphNpu& npu, const network::Arrival& arrival,
               std::uint16_t tag);
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

  MessageId message_of(CollectiveId id, const collective::StepName& name) const {
    id.group += work_.first_group;
    return id_of(id, name);
  }
  template <class Act>
  void advance(pdes::Context& context, GraphNpu& npu, const CollectiveId& id, const Act& act);
  void announce_ring(pdes::Context& context, const GraphNpu& npu, const ActiveCollective& active);
  void report(const pdes::Context& context, const GraphNpu& npu, const ActiveCollective& active,
              const OpenPhase& open) const;

  const GraphSetup& setup_;
  const GraphWork& work_;
  GraphPorts ports_;
  CollectivePlans plans_;
};

}  // namespace tessera::executor
