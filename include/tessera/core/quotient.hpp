// Division of counts, rounded up.
#pragma once

#include <cstdint>

namespace tessera {

constexpr std::uint64_t quotient_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace tessera
