// Memory channels of a machine: where they are and whom they serve.
#pragma once

#include <cstdint>
#include <optional>
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

struct PlacedChannels {
  MemoryChannels channels;
  std::optional<EdgeChannels> edges;  // where they lie along these
};

// Reads the `dram` mapping; without one, no channels. Leaves complaints in the section.
PlacedChannels read_channels(config::Section& machine, const Topology& topology);

// For every node the channel that is fewest hops away, the lowest on ties; empty without channels.
// O(links), unless they follow from arithmetic.
ChannelOfNodes nearest_channels(const Topology& topology, const PlacedChannels& placed);

}  // namespace tessera::machine
