#include "tessera/core/random.hpp"

#include <cmath>

#include "tessera/core/wide.hpp"

namespace tessera {
namespace {

// Natural logarithm of a positive, normal number in additions, multiplications and divisions alone:
// std::log differs in the last bit between mathematics libraries. log(2^e m) = e log 2 + 2 artanh
// z, z = (m - 1)/(m + 1), with m in [sqrt(1/2), sqrt(2)], hence z^2 < 0.0295 and twelve terms of
// the series of artanh leave less than 2^-60.
double portable_log(double x) {
  constexpr double log_of_two = 0x1.62e42fefa39efp-1;
  constexpr double square_root_of_half = 0x1.6a09e667f3bcdp-1;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < square_root_of_half) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);
  const double square = z * z;
  double series = 0;
  for (int power = 23; power >= 1; power -= 2) {
    series = series * square + 1.0 / power;
  }
  return exponent * log_of_two + 2 * z * series;
}

}  // namespace

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
