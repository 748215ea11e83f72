// The banks of a DRAM channel that put a request forward, the oldest request first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::memory {

// Up to 64 banks. Of each one request, by the order of its submission, from 1. A change costs the
// banks that it overtakes.
class BanksByAge {
 public:
  static constexpr std::uint64_t nothing = 0;

  BanksByAge() { key_of_.fill(no_key); }

  // `order`: of the request that the bank now puts forward; or nothing.
  void set(std::uint32_t bank, std::uint64_t order) {
    const std::uint64_t key = order == nothing ? no_key : order << bank_bits | bank;
    const std::uint64_t before = key_of_[bank];
    if (key == before) {
      return;
    }
    key_of_[bank] = key;
    std::size_t at = before == no_key ? size_++ : place_of(before);
    for (; at + 1 < size_ && keys_[at + 1] < key; ++at) {
      keys_[at] = keys_[at + 1];
    }
    for (; at > 0 && keys_[at - 1] > key; --at) {
      keys_[at] = keys_[at - 1];
    }
    keys_[at] = key;
    if (key == no_key) {
      --size_;
    }
  }

  std::size_t size() const { return size_; }
  std::uint32_t bank(std::size_t place) const {
    return static_cast<std::uint32_t>(keys_[place] & ((1U << bank_bits) - 1));
  }
  std::uint64_t order(std::size_t place) const { return keys_[place] >> bank_bits; }

 private:
  static constexpr unsigned bank_bits = 6;
  static constexpr std::size_t banks = std::size_t{1} << bank_bits;
  static constexpr std::uint64_t no_key = ~std::uint64_t{0};  // after all others

  std::size_t place_of(std::uint64_t key) const {
    std::size_t at = 0;
    while (keys_[at] != key) {
      ++at;
    }
    return at;
  }

  std::array<std::uint64_t, banks> keys_{};  // order and bank, ascending
  std::array<std::uint64_t, banks> key_of_;  // [banks]
  std::size_t size_ = 0;
};

}  // namespace tessera::memory
