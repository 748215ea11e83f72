#include "tessera/core/random.hpp"

#include "tessera/core/portable_math.hpp"
#include "tessera/core/wide.hpp"

namespace tessera {
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t multiplier0 = 0xD2511F53;
  constexpr std::uint64_t multiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t weyl0 = 0x9E3779B9;
  constexpr std::uint32_t weyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = multiplier0 * counter[0];
    const std::uint64_t product1 = multiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += weyl0;
    key[1] += weyl1;
  }
  return counter;
}

std::uint64_t RandomStream::next_u64() {
  const auto words =
      philox4x32({static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32),
                  entity_.value(), stream_},
                 {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
  ++index_;
  return static_cast<std::uint64_t>(words[1]) << 32 | words[0];
}

double RandomStream::next_uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1.0p-53;
}

std::uint64_t RandomStream::next_below(std::uint64_t bound) {
  return static_cast<std::uint64_t>(static_cast<Wide>(next_u64()) * bound >> 64);
}

double RandomStream::next_exponential(double mean) {
  // 1 - u is exact, because u is a multiple of 2^-53, and at least 2^-53.
  return -mean * portable_log(1.0 - next_uniform());
}

}  // namespace tessera
