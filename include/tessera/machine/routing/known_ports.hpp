// Ports that a routing found before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/core/digest.hpp"
#include "tessera/core/ids.hpp"

namespace tessera::machine {

// Of the pairs that were asked for last: 768 KiB at most. Not for concurrent use.
class KnownPorts {
 public:
  explicit KnownPorts(std::uint32_t nodes)
      : known_(std::min<std::uint64_t>(most_known, std::uint64_t{nodes} * 16)) {}

  // `find` gives the port that is not known.
  template <class Find>
  unsigned port(EntityId here, EntityId target, const Find& find) {
    const std::uint64_t hash = mix64(std::uint64_t{here.value()} << 32 | target.value());
    Known& known = known_[hash % known_.size()];
    if (known.here != here || known.target != target) {
      known = {here, target, find()};
    }
    return known.port;
  }

 private:
  static constexpr std::uint32_t most_known = 1U << 16;
  struct Known {
    EntityId here = EntityId::none();
    EntityId target = EntityId::none();
    unsigned port = 0;
  };

  std::vector<Known> known_;  // by a hash of both ends
};

}  // namespace tessera::machine
