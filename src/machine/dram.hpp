// Memory channels of a machine: where they are and whom they serve.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/config/key.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::machine {

// Of one channel, in a section; `prefix` is that of the section ("types.NAME.dram.").
struct ChannelKeys {
  explicit ChannelKeys(const std::string& prefix = "");

  config::RequiredKey<Bandwidth> bandwidth;
  config::RequiredKey<SimTime> latency;
  config::Key<Bytes> capacity;
};

// Reads the `dram` mapping; without one, no channels. Leaves complaints in the section.
std::vector<MemoryChannel> read_channels(config::Section& machine, const Topology& topology);

// For every node the channel that is fewest hops away, the lowest on ties; empty without channels.
// O(links).
std::vector<std::uint32_t> nearest_channels(const Topology& topology,
                                            const std::vector<MemoryChannel>& channels);

}  // namespace tessera::machine
