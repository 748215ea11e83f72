// What the software on a device takes of its memory beside tensors.
#pragma once

#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"

namespace tessera::machine {

// All zero unless the machine says it.
struct Framework {
  Bytes context;       // of the driver and the framework's own kernels
  Bytes communicator;  // buffers of each group that a device communicates in
  Bytes block;         // that the allocator rounds up to; 0: to nothing
  Fraction fragmentation =
      Fraction::millionths(0);  // of what the allocator holds, that no tensor can use
  // Whether what is gathered and what is scattered have pools of their own, as a caching allocator
  // keeps them by stream: what one of them once held no other can use.
  bool pools_apart = false;

  // What an allocator reserves for tensors of so many bytes in all, rounded up once.
  Bytes reserved(Bytes tensors) const;
};

// Reads the section `framework` of a machine, if there is one:
//   framework: {context: 723 MiB, communicator: 688 MB, block: 2 MiB, fragmentation: 0 %,
//               pools: by_stream}
// Leaves complaints in the section's diagnostics.
Framework read_framework(config::Section& machine);
std::vector<ParameterInfo> framework_parameters();

}  // namespace tessera::machine
