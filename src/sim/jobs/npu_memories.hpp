// Memories of NPUs that run graphs: their own, and those that are not.
#pragma once

#include <map>
#include <vector>

#include "tessera/machine/machine.hpp"
#include "tessera/memory/remote.hpp"
#include "tessera/sim/platform.hpp"
#include "tessera/workload/tensors.hpp"

namespace tessera::sim {

// What a machine has of memory.
struct MemoryParts {
  const machine::Machine& machine;
  const memory::RemoteMemory* remote = nullptr;  // null: none
  bool coherent = false;                         // nodes that are memory are accessed by lines
};

inline MemoryParts memory_parts(const Platform& platform) {
  return {platform.machine, platform.remote_memory.get(), platform.coherence.has_value()};
}

// Whether what is not the NPU's own is in channels of the machine, and accessed as these are.
bool remote_in_channels(const MemoryParts& parts);

// [npus] the memory node of each: its own, else those that belong to nobody in turn. Empty if there
// is none for some.
std::vector<EntityId> remote_memories_of(const machine::Machine& machine,
                                         const std::vector<EntityId>& npus);

// [npus] the node that holds what the NPU's own memory does not, a channel's or a memory; empty if
// there is none.
std::vector<EntityId> holders_of(const MemoryParts& parts, const std::vector<EntityId>& npus);

// Of channels and memories, by node; 0: not stated, or unlimited.
std::map<EntityId, Bytes> memory_capacities(const MemoryParts& parts);

// Whether the memory of an NPU is its own: in a channel at it.
bool has_own_channel(const machine::Machine& machine, EntityId npu);
bool each_has_own_channel(const machine::Machine& machine);  // of all nodes that compute

// What they can hold.
workload::NpuMemories npu_memories(const MemoryParts& parts, const std::vector<EntityId>& npus);

}  // namespace tessera::sim
