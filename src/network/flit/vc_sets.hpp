#pragma once

#include <cstdint>

// Sets of virtual channels, a bit each, in words of 64.
namespace tessera::network {

inline void put_in(std::uint64_t* set, std::uint32_t vc) {
  set[vc / 64] |= std::uint64_t{1} << vc % 64;
}
inline void take_out(std::uint64_t* set, std::uint32_t vc) {
  set[vc / 64] &= ~(std::uint64_t{1} << vc % 64);
}

}  // namespace tessera::network
