// A digest of many records of one kind, made of several of them at a time.
//
// Method: each field of a record is mixed into what those before it gave, so that one record keeps
// a processor waiting. Records gather here until there are 32, whose hashes are worked out side
// by side, by the wide instructions of the processor where it has them. The sum is that of
// Digest::add over the same records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/core/digest.hpp"

namespace tessera {

// Of records of eight fields.
class RecordDigest {
 public:
  static constexpr std::size_t fields = 8;
  static constexpr std::size_t side_by_side = 32;  // records
  using Words = std::array<std::uint64_t, side_by_side>;

  void add(const std::array<std::uint64_t, fields>& record) {
    const std::size_t at = count_++;
    for (std::size_t field = 0; field < fields; ++field) {
      waiting_[field][at] = record[field];
    }
    if (at + 1 == side_by_side) {
      take_waiting();
    }
  }
  // Of all records so far.
  Digest sum() const;

 private:
  void take_waiting();

  alignas(64) std::array<Words, fields> waiting_{};  // by field, then by record
  std::size_t count_ = 0;                            // of those that wait
  Digest taken_;
};

}  // namespace tessera
