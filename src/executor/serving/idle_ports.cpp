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

SimTime IdlePorts::receive(EntityId from, EntityId to, Bytes bytes, SimTime time) {
  const IdleMessage message = setup_.idle_message(from, to, bytes);
  if (message.fills == SimTime::zero()) {
    return time;
  }
  const auto [found, is_first] =
      in_until_.try_emplace({message.last_node, message.last_port}, time);
  found->second = is_first ? time : std::max(time, found->second + message.fills);
  return found->second;
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
