// Loads and stores of graphs: of local memory, of what the machine has besides, and of nodes that
// are memory.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/coherent_access.hpp"
#include "graph/node_access.hpp"
#include "graph/npu.hpp"

namespace tessera::executor {

// Accesses are named by the place of their task, of which an event's tag holds a part.
class GraphAccesses {
 public:
  using Place = GraphTasks::Place;

  GraphAccesses(const GraphSetup& setup, const GraphPorts& ports);

  // Of the task that has begun last.
  void begin(pdes::Context& context, GraphNpu& npu, Place place);
  // Bytes of memory components, so far on this rank.
  const AskedOfMemory& asked() const { return asked_; }
  void add_asked(const AskedOfMemory& more) {
    asked_.read += more.read;
    asked_.written += more.written;
  }
  // At a node that is memory and no NPU.
  void answer(pdes::Context& context, const network::Arrival& arrival, std::uint16_t tag);
  // At an NPU: answers what others ask it for. False for a part of its own access, which is over.
  bool answer_others(pdes::Context& context, const network::Arrival& arrival, std::uint16_t tag) {
    return coherent_ && coherent_->answer(context, arrival, tag);
  }

 private:
  void access_locally(pdes::Context& context, const Task& task, Bytes bytes, Place place);
  void ask_node(pdes::Context& context, const GraphNpu& npu, Place place);
  void ask_coherently(pdes::Context& context, GraphNpu& npu, Place place);

  const GraphSetup& setup_;
  const GraphWork& work_;
  GraphPorts ports_;
  NodeAccess nodes_;
  std::optional<CoherentAccess> coherent_;
  AskedOfMemory asked_;
};

}  // namespace tessera::executor
