// The host of a device: its memory, and the link to it.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::machine {

// Without a bandwidth: none that anything is copied to.
struct Host {
  Bandwidth bandwidth;  // of a device's link, each way
  SimTime latency;      // of a copy
  Bytes memory;         // of the host; 0: any
  std::uint32_t devices = 1;
  Bandwidth memory_bandwidth;  // of the host, for all its devices both ways; 0: never the limit

  bool is_there() const { return bandwidth > Bandwidth(); }
  // One way, where all devices of the host copy both ways at a time: the latency, and the bytes at
  // the bandwidth of the link or of the device's part of the memory's.
  SimTime copy_time(Bytes bytes) const;
};

// Reads the section `host` of a machine, if there is one:
//   host: {bandwidth: 64 GB/s, latency: 1 us, memory: 2 TB, devices: 8, memory_bandwidth: 600 GB/s}
// Leaves complaints in the section's diagnostics.
Host read_host(config::Section& machine);
std::vector<ParameterInfo> host_parameters();

}  // namespace tessera::machine
