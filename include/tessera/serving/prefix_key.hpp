// By what a cache, the memory behind it and a router know a beginning of prompts.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tessera::serving {

// With another adapter keys and values are other ones, so that a beginning is one of an adapter.
class PrefixKey {
 public:
  enum class Kind : std::uint8_t {
    whole,     // all of a beginning, or the full blocks of a piece
    state,     // of state-space layers behind a piece
    windowed,  // what layers with a window need of a piece
  };

  static constexpr unsigned adapter_bits = 30;

  PrefixKey() = default;  // none
  // Of each 0 is none; adapters are numbers of `adapter_bits`.
  explicit constexpr PrefixKey(std::uint32_t number, std::uint32_t adapter = 0,
                               Kind kind = Kind::whole)
      : bits_(std::uint64_t{adapter} << adapter_shift |
              static_cast<std::uint64_t>(kind) << kind_shift | number) {}

  constexpr bool is_none() const { return number() == 0; }
  constexpr PrefixKey of_kind(Kind kind) const {
    return PrefixKey(number(), static_cast<std::uint32_t>(bits_ >> adapter_shift), kind);
  }

  friend constexpr auto operator<=>(PrefixKey, PrefixKey) = default;

 private:
  friend struct std::hash<PrefixKey>;

  static constexpr unsigned kind_shift = 32;
  static constexpr unsigned adapter_shift = 64 - adapter_bits;

  constexpr std::uint32_t number() const { return static_cast<std::uint32_t>(bits_); }

  std::uint64_t bits_ = 0;
};

}  // namespace tessera::serving

template <>
struct std::hash<tessera::serving::PrefixKey> {
  std::size_t operator()(tessera::serving::PrefixKey key) const noexcept {
    return std::hash<std::uint64_t>()(key.bits_);
  }
};
