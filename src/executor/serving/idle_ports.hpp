// The links by which nodes send and receive, where nobody but one model's units and its host does.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tessera/executor/serving/serving.hpp"

namespace tessera::executor {

// A port of a node that has not yet sent all it was given.
struct BusyPort {
  EntityId node;
  unsigned port = 0;
  SimTime until;
  friend auto operator<=>(const BusyPort&, const BusyPort&) = default;
};

class IdlePorts {
 public:
  explicit IdlePorts(const ServingSetup& setup) : setup_(setup) {}

  // When a message arrives that is sent at `now`, behind those that leave by its port before it.
  SimTime send(EntityId from, EntityId to, Bytes bytes, SimTime now);
  // When one that would be there at `time` is there, behind those that came in by its last link
  // before it. Times of messages by one link must not go back.
  SimTime receive(EntityId from, EntityId to, Bytes bytes, SimTime time);
  // A port that sends until then, whatever it did before.
  void set(const BusyPort& busy) { until_[{busy.node, busy.port}] = busy.until; }
  // Those of the node that send beyond `time`.
  void visit_busy(EntityId node, SimTime time,
                  const std::function<void(const BusyPort& busy)>& visit) const;

 private:
  const ServingSetup& setup_;
  std::map<std::pair<EntityId, unsigned>, SimTime> until_;
  std::map<std::pair<EntityId, unsigned>, SimTime> in_until_;  // by where links begin
};

}  // namespace tessera::executor
