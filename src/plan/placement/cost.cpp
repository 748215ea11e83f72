#include "placement/cost.hpp"

#include <algorithm>

namespace tessera::plan {

PlacementCost::PlacementCost(const machine::Machine& machine, const RoleTrafficList& traffic,
                             std::uint32_t roles)
    : routes_(*machine.topology), first_(roles + std::size_t{1}), stamp_(roles) {
  add_messages(traffic.messages);
  if (machine.channels.empty()) {
    return;
  }
  accesses_.resize(roles);
  for (const RoleAccess& access : traffic.accesses) {
    accesses_[access.role].read += access.read.count();
    accesses_[access.role].written += access.written.count();
  }
  for (std::uint32_t node = 0; node < machine.topology->nodes(); ++node) {
    const EntityId here(node);
    const EntityId channel = machine.channels[machine.channel_of[node]].node;
    read_cost_.push_back(routes_.between(channel, here).ps_per_mib);
    write_cost_.push_back(routes_.between(here, channel).ps_per_mib);
  }
}

void PlacementCost::add_messages(const std::vector<RoleTraffic>& messages) {
  struct Entry {
    std::uint32_t role = 0;
    Partner partner;
  };
  std::vector<Entry> entries;
  entries.reserve(2 * messages.size());
  for (const RoleTraffic& message : messages) {
    entries.push_back({message.from, {message.to, message.bytes.count(), 0}});
    entries.push_back({message.to, {message.from, 0, message.bytes.count()}});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.role != b.role ? a.role < b.role : a.partner.role < b.partner.role;
  });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const bool same = i > 0 && entries[i - 1].role == entry.role &&
                      entries[i - 1].partner.role == entry.partner.role;
    if (!same) {
      partners_.push_back({entry.partner.role, 0, 0});
      ++first_[entry.role + std::size_t{1}];
    }
    partners_.back().sent += entry.partner.sent;
    partners_.back().received += entry.partner.received;
  }
  for (std::size_t role = 1; role < first_.size(); ++role) {
    first_[role] += first_[role - 1];
  }
}

Wide PlacementCost::message_cost(const std::vector<EntityId>& tiles, EntityId here,
                                 const Partner& partner) const {
  const EntityId there = tiles[partner.role];
  Wide cost = 0;
  if (partner.sent > 0) {
    cost += static_cast<Wide>(partner.sent) * routes_.between(here, there).ps_per_mib;
  }
  if (partner.received > 0) {
    cost += static_cast<Wide>(partner.received) * routes_.between(there, here).ps_per_mib;
  }
  return cost;
}

Wide PlacementCost::access_cost(std::uint32_t role, EntityId here) const {
  if (accesses_.empty()) {
    return 0;
  }
  const Access& access = accesses_[role];
  return static_cast<Wide>(access.read) * read_cost_[here.value()] +
         static_cast<Wide>(access.written) * write_cost_[here.value()];
}

Wide PlacementCost::total(const std::vector<EntityId>& tiles) const {
  Wide sum = 0;
  for (std::uint32_t role = 0; role < tiles.size(); ++role) {
    sum += access_cost(role, tiles[role]);
    for (const Partner& partner : partners(role)) {
      if (partner.role > role) {
        sum += message_cost(tiles, tiles[role], partner);
      }
    }
  }
  return sum;
}

Wide PlacementCost::of(const std::vector<EntityId>& tiles, std::span<const std::uint32_t> roles) {
  ++query_;
  for (const std::uint32_t role : roles) {
    stamp_[role] = query_;
  }
  Wide sum = 0;
  for (const std::uint32_t role : roles) {
    sum += access_cost(role, tiles[role]);
    for (const Partner& partner : partners(role)) {
      if (stamp_[partner.role] != query_ || partner.role > role) {
        sum += message_cost(tiles, tiles[role], partner);
      }
    }
  }
  return sum;
}

}  // namespace tessera::plan
