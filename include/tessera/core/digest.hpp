// A hash over a set of results that does not depend on their order or on who computed them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace tessera {

// A 64-bit finaliser with full avalanche (MurmurHash3's fmix64).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

// Sum (mod 2^128) of one hash per record. Adding is commutative, so ranks add in any order and
// their digests are added to each other.
class Digest {
 public:
  // Of fields that enter the lower half.
  static constexpr std::uint64_t low_factor = 0x165667b19e3779f9ULL;

  constexpr Digest() = default;
  constexpr Digest(std::uint64_t high, std::uint64_t low) : high_(high), low_(low) {}

  // Adds one record; its fields are ordered, the records are not.
  void add(std::initializer_list<std::uint64_t> fields) {
    Digest record = of_no_fields();
    for (const std::uint64_t field : fields) {
      record = record.with(field);
    }
    merge(record);
  }
  // The hash of a record, field by field.
  static constexpr Digest of_no_fields() { return {0x9e3779b97f4a7c15ULL, 0xc2b2ae3d27d4eb4fULL}; }
  constexpr Digest with(std::uint64_t field) const {
    return {mix64(high_ ^ field), mix64(low_ + field * low_factor)};
  }
  void merge(Digest other) {
    low_ += other.low_;
    high_ += other.high_ + (low_ < other.low_ ? 1 : 0);
  }
  std::uint64_t high() const { return high_; }
  std::uint64_t low() const { return low_; }
  // 32 hexadecimal digits.
  std::string to_string() const;
  friend constexpr bool operator==(Digest, Digest) = default;

 private:
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
};

// CRC-32C (Castagnoli), as of RFC 3720 appendix B.4; `seed` continues an earlier one.
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t seed = 0);

}  // namespace tessera
