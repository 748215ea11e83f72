// Channels of a collective: parts of its vector that go round at once, each in an order of its own.
//
// Members lie in blocks of as many as there are channels, a block in each server. Channel c counts
// the members of every block from its c-th on, so that its ring goes from server to server by the
// NICs of other members than those of the other channels. Parts are those of chunk_bytes.
#pragma once

#include <cstdint>

#include "tessera/collective/algorithm.hpp"

namespace tessera::collective {

struct Channel {
  std::uint32_t number = 0;
  std::uint32_t of = 1;  // channels; divides the number of members

  // Where a member is in the order of the channel, and who is there.
  Member turned(Member member) const {
    return of == 1 ? member : member - member % of + (member % of + of - number) % of;
  }
  Member turned_back(Member place) const {
    return of == 1 ? place : place - place % of + (place % of + number) % of;
  }
};

}  // namespace tessera::collective
