// Chakra's numbers of collectives, CollectiveCommType of its schema.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/collective/kind.hpp"

namespace tessera::workload {

// Numbers from 0 on.
inline constexpr std::uint64_t chakra_collectives = 10;

// Nothing for a number outside the list.
std::optional<collective::Kind> chakra_collective(std::uint64_t number);
std::uint64_t chakra_number(collective::Kind kind);

}  // namespace tessera::workload
