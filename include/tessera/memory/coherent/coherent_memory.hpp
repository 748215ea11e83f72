// Coherent accesses to memory devices that have a channel of the machine: lines are asked for piece
// by piece, the channel serves them through the memory model, and owners are asked by messages that
// lines wait for. Sizes of messages and shares of lines are those of coherence.hpp.
//
// Accelerators. An access is cut into pieces of Coherence::piece_lines. A piece is one message: its
// headers, with the data of lines that are written. At most `outstanding` lines of an accelerator
// are under way, of all its accesses in the order that they began in; further pieces follow what
// comes back, so that the rate falls with what queues on the way (J. Little, Oper. Res. 9 (1961),
// doi:10.1287/opre.9.3.383). Messages go as through one connection for each pair of nodes.
//
// Device. `device_latency` after a piece has come its lines are looked up. Those that no other
// cache matters to are read from the channel or written to it, and go back, or are acknowledged,
// when it is done with them. Of dirty lines an owner sends the data, which goes on from there; the
// channel is not read for them, but they are written back to it, which nobody waits for, unless
// they are overwritten. Writes of lines with sharers, and lines that the snoop filter has lost,
// begin when the owners have answered. All lines of a piece that wait for owners wait for the last
// of them.
//
// Shares are exact over all lines that a device has served: of each kind it keeps what is left
// below a whole line for the next piece (so of single lines with `dirty: 0.5` every second one is
// dirty). After D. Sorin et al., "A Primer on Memory Consistency and Cache Coherence" (2011),
// chapter 8, and CXL 3.1, section 3.3. Deviation: lines have no addresses of their own: those of an
// accelerator follow one another in its region of the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/memory/coherent/coherence.hpp"
#include "tessera/pdes/component.hpp"

namespace tessera::memory {

// Accelerators that keep each other's caches coherent, in the order of their numbers.
struct CoherentGroup {
  std::vector<EntityId> nodes;
  std::vector<EntityId> devices;  // [nodes] each with a channel, none of them an accelerator
};

struct CoherentSetup {
  const Coherence& coherence;
  std::vector<CoherentGroup> groups;  // without common nodes; devices may be common
  std::span<const EntityId> members;
  unsigned slot = 0;  // of this component
  unsigned network_slot = 0;
  unsigned memory_slot = 0;
};

// So far on this rank. When all accesses are over, each `asked` is as much as its other half.
struct CoherentTotals {
  std::uint64_t lines_asked = 0;
  std::uint64_t lines_delivered = 0;
  std::uint64_t bytes_to_read = 0;  // of channels
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_to_write = 0;
  std::uint64_t bytes_written = 0;
};

// Takes AccessRequest events at accelerators, without addresses, and raises the event asked for.
class CoherentMemory : public pdes::Component {
 public:
  virtual CoherentTotals totals() const = 0;
};

std::unique_ptr<CoherentMemory> make_coherent_memory(CoherentSetup setup);

}  // namespace tessera::memory
