// Memories of NPUs that run graphs: their own, and those that are not.
#pragma once

#include <vector>

#include "tessera/machine/machine.hpp"
#include "tessera/memory/remote.hpp"
#include "tessera/workload/tensors.hpp"

namespace tessera::sim {

// Whether what is not the NPU's own is in channels of the machine.
bool remote_in_channels(const machine::Machine& machine, const memory::RemoteMemory* remote);

// [npus] the memory node of each: its own, else those that belong to nobody in turn. Empty if there
// is none for some.
std::vector<EntityId> remote_memories_of(const machine::Machine& machine,
                                         const std::vector<EntityId>& npus);

// What they can hold.
workload::NpuMemories npu_memories(const machine::Machine& machine,
                                   const memory::RemoteMemory* remote,
                                   const std::vector<EntityId>& npus);

}  // namespace tessera::sim
