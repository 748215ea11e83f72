// Memory of NPUs that serve requests: what they have, and what models keep in it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

// Takes the NPUs in that memory is shared by.
void add_npus(const machine::Machine& machine, const executor::ServingWork& work,
              ServingMemory& memory);

// Weights, and what caches are known to take.
plan::BytesByChannel bytes_in_channels(const machine::Machine& machine, const ServingMemory& memory,
                                       const executor::ServingWork& work);

// Language models whose cache has no size get what is left beside all weights. Complains where
// weights or a request do not fit, and where whole steps stream from memory without a time of an
// access (memory::MemoryModel::has_idle_time). `workload` is the section that the work was read
// from.
void fit_caches(const machine::Machine& machine, const ServingMemory& memory, bool has_idle_time,
                executor::ServingWork& work, config::Section workload);

// Where blocks of a cache leave more than a hundredth of its room free.
void tell_of_whole_blocks(config::Section& section, std::string_view key, Bytes room,
                          std::uint64_t block);

}  // namespace tessera::sim
