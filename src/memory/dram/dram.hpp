// The `dram` memory, made by its model.
#pragma once

#include <cstddef>
#include <memory>

#include "dram/memory_map.hpp"
#include "tessera/memory/memory.hpp"

namespace tessera::memory {

// `parameters` must stay.
std::unique_ptr<Memory> make_dram_memory(const MemorySetup& setup,
                                         const DramParameters& parameters);

// That it keeps of each memory, beside its stack.
std::size_t dram_memory_bytes();

}  // namespace tessera::memory
