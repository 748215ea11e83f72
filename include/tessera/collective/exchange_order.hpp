// In which order members send to all others.
//
// In turn t member m sends to member m + t. Where members lie in blocks, each on a server of its
// own, the first turns between servers would then all go to one member of the next server, by NICs
// that are as many as the senders, to one that is alone. So turns go by blocks, and turn within the
// block as well: of blocks of p members, in turn t member j of block g sends to member (j + t) mod
// p of block g + t / p. In every turn a member hears from one.
//
// NCCL has its sends and receives in such an order (NVIDIA/nccl, src/init.cc, ncclP2pSchedule:
// sendGroup = group + groupDelta, sendLocal = local + delta). It goes from block to block by 0, 1,
// 3, 6, ...; here it is 0, 1, 2, ...
#pragma once

#include <cstdint>
#include <span>

#include "tessera/collective/algorithm.hpp"

namespace tessera::collective {

struct ExchangeOrder {
  std::uint32_t size = 1;
  std::uint32_t block = 1;  // divides `size`

  // In turn 1 ... size - 1: whom a member sends to, and from whom it receives.
  Member to(Member member, std::uint32_t turn) const {
    const Member place = member % block;
    const Member of_block = (member - place + turn - turn % block) % size;
    return of_block + (place + turn) % block;
  }
  Member from(Member member, std::uint32_t turn) const {
    const Member place = member % block;
    const Member of_block = (member - place + size - (turn - turn % block)) % size;
    return of_block + (place + block - turn % block) % block;
  }
};

// The largest block of members that every server has whole numbers of, one behind the other:
// `servers` are those of the members in order.
std::uint32_t block_on_servers(std::span<const std::uint32_t> servers);

}  // namespace tessera::collective
