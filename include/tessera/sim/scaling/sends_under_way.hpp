// Events between being sent and being handled, each with the number of a slot for what is to be
// remembered of it.
//
// Method: a hash table with linear probing from (source, sequence) to slots that are used again.
// Its size follows the largest number of events under way at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/core/ids.hpp"

namespace tessera::sim {

class SendsUnderWay {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  // A slot below `slots` for an event that is not under way.
  std::uint32_t add(EntityId source, std::uint32_t sequence);
  // The slot of an event, which is under way no more; `none` if it was not. The slot is not given
  // again before the next `add`.
  std::uint32_t take(EntityId source, std::uint32_t sequence);

  std::size_t slots() const { return slots_; }
  std::size_t size() const { return used_; }

 private:
  struct Place {
    std::uint64_t key = 0;
    std::uint32_t slot = none;  // of an empty place
  };
  std::size_t home(std::uint64_t key) const;
  void put(const Place& place);
  void close_gap(std::size_t gap);
  void grow();

  std::vector<Place> places_ = std::vector<Place>(64);
  std::vector<std::uint32_t> free_;
  std::uint32_t slots_ = 0;
  std::size_t used_ = 0;
};

}  // namespace tessera::sim
