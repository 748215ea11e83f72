// How often a collective comes that is not simulated.
#pragma once

#include <cstdint>

namespace tessera::plan {

enum class Occasion : std::uint8_t {
  once,   // in an iteration
  again,  // in every layer or pass
};

}  // namespace tessera::plan
