// Times of collectives that a library gives: see tessera/collective/library.hpp.
#include <set>

#include "collective_time.hpp"

namespace tessera::plan {

bool CollectiveClock::is_of_library(Group group, const GroupShape& shape,
                                    collective::Kind kind) const {
  return collective::models(transfers_.library, kind) && group != Group::tied &&
         is_ring(group, shape, kind);
}

// The strategy's ring says what the machine's links take for the bytes, with what other groups send
// over them; what it takes beyond that is the library's.
SimTime CollectiveClock::of_library(std::uint32_t stage, Group group, const GroupShape& shape,
                                    collective::Kind kind, Bytes bytes) {
  std::set<std::uint32_t> servers;
  for (std::uint32_t member = 0; member < shape.size; ++member) {
    servers.insert(topology_.domain(tile(stage, shape.place_of(member, 0))));
  }
  const SimTime whole = once(stage, group, shape, kind, bytes, 0);
  const SimTime empty = once(stage, group, shape, kind, Bytes(0), 0);
  return collective::choose(kind, {shape.size, static_cast<std::uint32_t>(servers.size())}, bytes,
                            whole - empty)
      .time;
}

}  // namespace tessera::plan
