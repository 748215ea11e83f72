// Accesses to nodes that are memory and answer at once, in one message each way: RemoteAccess says
// which of them there are. Nobody keeps any state of an access.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/executor/graph/graph.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::executor {

class NodeAccess {
 public:
  // `arrival` is where its messages are delivered to, at every node.
  NodeAccess(const GraphSetup& setup, pdes::Port arrival) : setup_(setup), arrival_(arrival) {}

  // Begins an access to the memory of this NPU. Returns after what time it is over; none: when an
  // arrival with `tag` comes.
  std::optional<SimTime> begin(pdes::Context& context, std::uint32_t npu, Bytes bytes, bool stores,
                               std::uint16_t tag) const;
  // At the memory.
  void answer(pdes::Context& context, const network::Arrival& arrival, std::uint16_t tag) const;

 private:
  const GraphSetup& setup_;
  pdes::Port arrival_;
};

}  // namespace tessera::executor
