// Memory that is not the NPU's own: in its server, or a pool for all NPUs.
//
// Closed forms, for all NPUs that load (or store) a tensor of one size together, as they do in data
// parallel training: W. Won et al., "ASTRA-sim2.0", ISPASS 2023, section III-D, "Memory Models".
// What goes to an NPU is spread over all memories of a pool. It passes several links, chunk by
// chunk: while one chunk is on the last link the next is on the one before. A stage of this
// pipeline takes as long as the slowest link that has a chunk in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"

namespace tessera::memory {

// How an access goes through switches that can compute.
enum class InSwitch : std::uint8_t {
  none,
  // Parts of a tensor, one for each NPU, are gathered on the way to all NPUs, or the tensors of all
  // NPUs added up and scattered on the way back.
  collective,
};

class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;
  // Of a tensor (of its part, with InSwitch::collective) of so many bytes at every NPU.
  virtual SimTime access_time(Bytes tensor, InSwitch in_switch) const = 0;
  // Whether switches on the way can compute.
  virtual bool gathers() const { return false; }
  // NPUs that load together; none: each has a memory of its own.
  virtual std::optional<std::uint64_t> npus() const = 0;
  // Whether these are of one of several memories that are alike; else of all.
  virtual bool is_repeated() const { return false; }
};

// Kinds, each with `latency` of the first byte:
//   per-npu       {bandwidth}          a memory of each NPU's own, behind a link
//   per-node      {npus, bandwidth}    one for the NPUs of a server, which share its bandwidth
//   hierarchical  {nodes, npus, switches, groups, group_bandwidth, memory_bandwidth,
//                  node_bandwidth, npu_bandwidth, chunk}
//                 `groups` memories, each joined to each of `switches` switches outside of nodes
//                 (memory_bandwidth), each of which is joined to each node's own switch
//                 (node_bandwidth), which is joined to the NPUs of the node (npu_bandwidth). A
//                 memory gives out group_bandwidth to all switches together; absent: never the
//                 limit. Gathers and scatters.
//   ring          {npus, bandwidth, chunk}
//                 NPUs and as many memories, in pairs, on a ring of links of `bandwidth` each way
//   mesh          {rows, columns, bandwidth, chunk}
//                 the same on a mesh, routed by columns first
//   switches      {levels: [{members, bandwidth}, …], chunk}
//                 a tree of switches with all memory at its root: a switch of the first level has
//                 so many NPUs, one of the second so many switches, …; `bandwidth` of each link
//                 down. Gathers and scatters.
// The paper gives equations for the hierarchical pool alone. The others follow from the same rule:
// the load of the busiest link of each kind, in chunks, and the links on the longest way.
using RemoteMemoryMaker = std::function<std::unique_ptr<RemoteMemory>(config::Section&)>;
Registry<RemoteMemoryMaker>& remote_memories();

// Reads `kind` and its keys; null when the section is absent or after complaints.
std::unique_ptr<RemoteMemory> read_remote_memory(config::Section section);

// Of `chunks` (> 0) chunks through links that take so long for one each.
SimTime pipelined_time(std::span<const SimTime> links, std::uint64_t chunks);

}  // namespace tessera::memory
