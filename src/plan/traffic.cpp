#include "tessera/plan/traffic.hpp"

#include <algorithm>

#include "tessera/plan/placement/route_costs.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::plan {
namespace {

class Walk {
 public:
  Walk(const Plan& plan, const TrafficVisitor& visitor)
      : plan_(plan), visitor_(visitor), collectives_(plan) {}

  void visit_stage(std::uint32_t stage) {
    const Degrees& degrees = plan_.strategy.degrees;
    const StageWork work = work_of(plan_.stages[stage].program);
    for (std::uint32_t replica = 0; replica < degrees.data; ++replica) {
      for (std::uint32_t shard = 0; shard < degrees.tensor; ++shard) {
        visit_role({stage, replica, shard}, work);
      }
    }
  }

 private:
  std::uint32_t number(const Role& role) const { return number_of(plan_.strategy.degrees, role); }

  void visit_role(const Role& role, const StageWork& work) {
    const std::uint32_t self = number(role);
    for (const auto& [key, count] : work.sends) {
      const auto& [peer, traffic, group, bytes] = key;
      if (!plan_.leads(group, self)) {
        continue;
      }
      Role target = role;
      target.stage = plan_.peer_stage(role.stage, peer);
      visitor_.message({self, number(target), Bytes(bytes) * count, traffic});
    }
    for (const auto& [key, count] : work.collectives) {
      const Group group = std::get<Group>(key);
      for (const Sent& sent : collectives_.of(key)[plan_.member_of(group, self)]) {
        const std::uint32_t target = plan_.role_of(group, sent.to, self);
        visitor_.message({self, target, sent.bytes * (sent.count * count), traffic_of(group)});
      }
    }
    RoleAccess access{self, {}, {}};
    for (const auto& [key, count] : work.accesses) {
      (key.first ? access.written : access.read) += Bytes(key.second) * count;
    }
    if (access.read + access.written > Bytes(0)) {
      visitor_.access(access);
    }
  }

  const Plan& plan_;
  const TrafficVisitor& visitor_;
  CollectiveSends collectives_;
};

void add(HopTraffic& sum, Bytes bytes, const RouteCost& route) {
  sum.bytes += bytes.count();
  sum.byte_hops += static_cast<Wide>(bytes.count()) * route.hops;
  sum.cost += route.of(bytes);
  sum.longest_hops = std::max(sum.longest_hops, bytes > Bytes(0) ? route.hops : 0);
}

}  // namespace

void visit_traffic(const Plan& plan, const TrafficVisitor& visitor) {
  Walk walk(plan, visitor);
  for (std::uint32_t stage = 0; stage < plan.stages.size(); ++stage) {
    walk.visit_stage(stage);
  }
}

RoleTrafficList traffic_of(const Plan& plan) {
  RoleTrafficList list;
  visit_traffic(plan, {[&](const RoleTraffic& message) { list.messages.push_back(message); },
                       [&](const RoleAccess& access) { list.accesses.push_back(access); }});
  return list;
}

HopTraffic& HopTraffic::operator+=(const HopTraffic& other) {
  bytes += other.bytes;
  byte_hops += other.byte_hops;
  cost += other.cost;
  longest_hops = std::max(longest_hops, other.longest_hops);
  return *this;
}

double HopTraffic::mean_hops() const {
  return bytes == 0 ? 0 : static_cast<double>(byte_hops) / static_cast<double>(bytes);
}

double HopTraffic::link_seconds() const {
  constexpr double ps = 1e-12;
  return static_cast<double>(cost) / static_cast<double>(RouteCost::unit) * ps;
}

HopTraffic PlacementTraffic::total() const {
  HopTraffic sum = memory;
  for (const HopTraffic& kind : messages) {
    sum += kind;
  }
  return sum;
}

PlacementTraffic hop_weighted_traffic(const machine::Machine& machine, const Plan& plan,
                                      const Placement& placement) {
  const RouteCosts routes(*machine.topology);
  PlacementTraffic result;
  const auto tile = [&](std::uint32_t role) { return placement.tile(placement.role(role)); };
  const auto message = [&](const RoleTraffic& sent) {
    add(result.messages[static_cast<std::size_t>(sent.traffic)], sent.bytes,
        routes.between(tile(sent.from), tile(sent.to)));
  };
  const auto access = [&](const RoleAccess& accessed) {
    const EntityId node = tile(accessed.role);
    const EntityId channel = machine.channels[machine.channel_of[node.value()]].node;
    add(result.memory, accessed.read, routes.between(channel, node));
    add(result.memory, accessed.written, routes.between(node, channel));
  };
  visit_traffic(plan, {message, access});
  return result;
}

}  // namespace tessera::plan
