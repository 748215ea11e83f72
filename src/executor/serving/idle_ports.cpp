#include "serving/idle_ports.hpp"

#include <algorithm>

namespace tessera::executor {

SimTime IdlePorts::send(EntityId from, EntityId to, Bytes bytes, SimTime now) {
  const IdleMessage message = setup_.idle_message(from, to, bytes);
  if (message.occupies == SimTime::zero()) {
    return now + message.time;
  }
  SimTime& until = until_[{from, message.port}];
  const SimTime begin = std::max(now, until);
  until = begin + message.occupies;
  return begin + message.time;
}

void IdlePorts::visit_busy(EntityId node, SimTime time,
                           const std::function<void(const BusyPort& busy)>& visit) const {
  for (auto port = until_.lower_bound({node, 0}); port != until_.end() && port->first.first == node;
       ++port) {
    if (port->second > time) {
      visit({node, port->first.second, port->second});
    }
  }
}

}  // namespace tessera::executor
