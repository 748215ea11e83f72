// Memory of NPUs that serve requests: what they have, and what models keep in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/executor/serving.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::sim {

// What there is for those who serve, by channel of the machine. A channel belongs to the NPUs that
// have cores which it serves, in even parts.
struct ServingMemory {
  std::vector<std::optional<Bytes>> free;  // [channels] none: not stated
  std::vector<std::uint32_t> npus;         // [channels]

  // All of the machine, for nobody yet.
  explicit ServingMemory(const machine::Machine& machine);
  // Takes NPUs in.
  void add(const machine::Machine& machine, const executor::ServingWork& work);
};

// [channels] weights, and what caches are known to take.
std::vector<Bytes> bytes_in_channels(const machine::Machine& machine, const ServingMemory& memory,
                                     const executor::ServingWork& work);

// Language models whose cache has no size get what is left beside all weights. Complains where
// weights or a request do not fit. `workload` is the section that the work was read from.
void fit_caches(const machine::Machine& machine, const ServingMemory& memory,
                executor::ServingWork& work, config::Section workload);

}  // namespace tessera::sim
