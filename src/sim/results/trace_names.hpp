#pragma once

#include <cstddef>

namespace tessera::sim {

// Names that a trace can tell apart; the last stands for all beyond.
constexpr std::size_t most_names = 65535;
constexpr const char* other_names = "(other names)";

}  // namespace tessera::sim
