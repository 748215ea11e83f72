// Collectives written as Chakra traces of their members.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/collective/program/program.hpp"

namespace tessera::sim {

// Nodes that compute add up `tensor_size` bytes, or what the receives bring that they wait for.
// Throws ConfigError naming file and node.
collective::TracedOperations read_traced_collective(const std::string& prefix,
                                                    std::uint32_t members);

}  // namespace tessera::sim
