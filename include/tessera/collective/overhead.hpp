// What a collective takes besides its messages, at each member before its first one.
#pragma once

#include <cstdint>

#include "tessera/collective/kind.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::collective {

struct Overhead {
  SimTime once;         // launch and set-up
  SimTime each_member;  // the same for each member of the group
  // At which the part of one member goes once more, in collectives of vectors that are cut into
  // such parts (all-reduce, reduce-scatter, all-gather): libraries pass chunks on in loops, and a
  // step at the ends of each is beside no other, so that few members reach less of their links. 0
  // B/s: none.
  Bandwidth fill;

  bool is_nothing() const {
    return once == SimTime() && each_member == SimTime() && fill == Bandwidth();
  }
  // Of a collective over a vector of `bytes`. `lists`: of an entry for each member.
  SimTime before(Kind kind, std::uint64_t members, Bytes bytes, std::uint32_t lists = 1) const {
    const auto entries = static_cast<std::int64_t>(members * lists);
    const bool in_parts =
        kind == Kind::all_reduce || kind == Kind::reduce_scatter || kind == Kind::all_gather;
    const bool fills = in_parts && members > 1 && fill > Bandwidth();
    const Bytes part(fills ? bytes.count() / members : 0);
    return once + each_member * entries +
           (fills ? serialization_time(part, fill) : SimTime::zero());
  }
};

}  // namespace tessera::collective
