#include "jobs/npu_memories.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::sim {
namespace {

// Capacity of the channel at an NPU itself.
Bytes own_capacity(const machine::Machine& machine, EntityId npu) {
  return has_own_channel(machine, npu) ? machine.channels[machine.channel_of[npu.value()]].capacity
                                       : Bytes();
}

void add_holder(EntityId node, Bytes capacity, const machine::Topology& topology,
                std::map<EntityId, std::uint32_t>& numbers, workload::NpuMemories& memories) {
  const auto [found, is_new] =
      numbers.try_emplace(node, static_cast<std::uint32_t>(memories.holders.size()));
  if (is_new) {
    memories.holders.push_back({topology.node_name(node), capacity});
  }
  memories.holder_of.push_back(found->second);
}

}  // namespace

bool remote_in_channels(const MemoryParts& parts) {
  const machine::Machine& machine = parts.machine;
  const bool coherent = parts.coherent && !machine.topology->memory_nodes().empty();
  const std::vector<machine::MemoryChannels::Kind> kinds = machine.channels.kinds();
  return parts.remote == nullptr && !coherent && !machine.channels.empty() &&
         std::none_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
           return machine.topology->computes(kind.channel.node);
         });
}

std::vector<EntityId> remote_memories_of(const machine::Machine& machine,
                                         const std::vector<EntityId>& npus) {
  std::map<EntityId, EntityId> own;
  std::vector<EntityId> shared;
  for (const machine::MemoryNode& memory : machine.topology->memory_nodes()) {
    for (const EntityId owner : memory.owners) {
      own.emplace(owner, memory.node);
    }
    if (memory.owners.empty()) {
      shared.push_back(memory.node);
    }
  }
  std::vector<EntityId> memories;
  for (const EntityId npu : npus) {
    const auto found = own.find(npu);
    if (found != own.end()) {
      memories.push_back(found->second);
    } else if (!shared.empty()) {
      memories.push_back(shared[memories.size() % shared.size()]);
    } else {
      return {};
    }
  }
  return memories;
}

std::vector<EntityId> holders_of(const MemoryParts& parts, const std::vector<EntityId>& npus) {
  const machine::Machine& machine = parts.machine;
  if (parts.remote != nullptr) {
    return {};
  }
  if (!remote_in_channels(parts)) {
    return remote_memories_of(machine, npus);
  }
  std::vector<EntityId> nodes;
  for (const EntityId npu : npus) {
    nodes.push_back(machine.channels[machine.channel_of[npu.value()]].node);
  }
  return nodes;
}

std::map<EntityId, Bytes> memory_capacities(const MemoryParts& parts) {
  const machine::Machine& machine = parts.machine;
  std::map<EntityId, Bytes> capacities;
  for (const machine::MemoryNode& memory : machine.topology->memory_nodes()) {
    capacities[memory.node] = memory.capacity;
  }
  const bool in_channels = remote_in_channels(parts);
  for (const machine::MemoryChannel& channel : machine.channels) {
    if (in_channels) {
      capacities[channel.node] = channel.capacity;
    } else {
      capacities.emplace(channel.node, channel.capacity);
    }
  }
  return capacities;
}

bool has_own_channel(const machine::Machine& machine, EntityId npu) {
  return !machine.channels.empty() && machine.channels[machine.channel_of[npu.value()]].node == npu;
}

bool each_has_own_channel(const machine::Machine& machine) {
  const machine::Topology& topology = *machine.topology;
  if (machine.channels.are_at_first_nodes() &&
      machine.channels.size() == topology.computing_nodes()) {
    return true;
  }
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    if (topology.computes(EntityId(node)) && !has_own_channel(machine, EntityId(node))) {
      return false;
    }
  }
  return true;
}

workload::NpuMemories npu_memories(const MemoryParts& parts, const std::vector<EntityId>& npus) {
  const machine::Machine& machine = parts.machine;
  workload::NpuMemories memories;
  std::map<std::pair<std::string, Bytes>, std::uint32_t> kinds;
  for (const EntityId npu : npus) {
    const std::pair kind(machine.tile_of(npu).name, own_capacity(machine, npu));
    const auto [found, is_new] =
        kinds.try_emplace(kind, static_cast<std::uint32_t>(memories.kinds.size()));
    if (is_new) {
      memories.kinds.push_back({kind.first, kind.second});
    }
    memories.kind_of.push_back(found->second);
  }
  std::map<EntityId, std::uint32_t> numbers;
  if (parts.remote != nullptr) {
    memories.holders.push_back({"machine.remote_memory", Bytes()});
    memories.holder_of.assign(npus.size(), 0);
  } else {
    std::map<EntityId, Bytes> capacities = memory_capacities(parts);
    for (const EntityId node : holders_of(parts, npus)) {
      add_holder(node, capacities[node], *machine.topology, numbers, memories);
    }
  }
  return memories;
}

}  // namespace tessera::sim
