// How long communication takes that is not simulated because one tile stands for its group.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "occasion.hpp"
#include "ring_clock.hpp"
#include "tessera/machine/topology/servers.hpp"
#include "tessera/plan/sharing.hpp"

namespace tessera::plan {

// All groups of a shape in a stage do the same at the same time, as do all tiles that pass a
// boundary tensor on; what they send over one link shares its bandwidth, where the network has
// messages share any (Sharing). What other stages do, and waiting behind it, is left out.
class CollectiveClock {
 public:
  // Both must outlive the clock; of the plan, placement and algorithms must be there.
  CollectiveClock(const Plan& plan, const Transfers& transfers, const machine::Topology& topology,
                  Sharing sharing)
      : plan_(plan), transfers_(transfers), topology_(topology), sharing_(sharing) {}

  // Follows the steps of every member of the group of the stage's first tile, in each channel by
  // itself: a step is over when the own one before is over and the message has come that its sender
  // sent after the own step before, on links that the message before has left. Exact where no two
  // messages share a link in turn. O(steps * members * channels) at most; see RingClock for rings,
  // which take less where their links repeat. Remembers what it was asked.
  //
  // `once`: from members that begin together to the last one. `again`: what each adds where
  // collectives follow each other with the same work between them. A member that ends before others
  // begins the next one before them, so that a ring goes at the mean of its steps' times, where the
  // last member of each alone meets the longest one more often: the cycle mean of the max-plus
  // matrix that takes the members' times from one collective to the next (Baccelli et al.,
  // Synchronization and Linearity, 1992, chapter 3), found by following collectives until the
  // members' lags come back, or for `most_steps` steps. Where not all members wait for all others
  // (a broadcast, a reduce), `again` is `once`: what goes on while the last is served is not known.
  // So it is for rings of more than `most_steps` steps in all, whose chunks have been over all
  // links but one when they are through: the mean is in `once` already.
  SimTime time(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
               Bytes bytes, Occasion occasion);
  // Whose times were given so far by the library that is named, and which were not.
  const LibraryUse& library_use() const { return library_use_; }
  static constexpr std::uint64_t most_steps = 1U << 18U;

  // For how much of that time bytes are on the busiest link: of rings as long as it has those of
  // all steps, else what it takes beyond one of no bytes. Zero where messages share nothing.
  SimTime on_links(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
                   Bytes bytes, Occasion occasion);

  // Once, of the slowest group of the stage, of at most `most_groups` that are looked at; where
  // groups do not all lie alike.
  SimTime slowest(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
                  Bytes bytes);
  static constexpr std::uint32_t most_groups = 64;

  // What a tile's message to its peer in the other stage takes at most, when all that lead groups
  // of this shape send so much.
  SimTime boundary(std::uint32_t stage, std::uint32_t other, const GroupShape& shape,
                   Bytes bytes) const;

  // Messages on the busiest link on the way of the first tile's to its peer in the other stage,
  // when of the first `tiles` of the stage all that lead groups of this shape send.
  std::uint32_t boundary_share(std::uint32_t stage, std::uint32_t other, std::uint32_t tiles,
                               const GroupShape& shape) const;

  // Of a collective whose members are simulated, each for its tensor group, which does the same:
  // messages of all groups for one that is simulated, on the link where they are most, in the mean
  // of the steps, of which at most `most_groups` are looked at.
  double group_share(std::uint32_t stage, Group group, const GroupShape& shape,
                     collective::Kind kind);

 private:
  struct HopHash {
    std::size_t operator()(const machine::Hop& hop) const {
      return (std::size_t{hop.node.value()} << 8U ^ hop.port) * 0x9E3779B97F4A7C15ULL;
    }
  };
  using Loads = std::unordered_map<machine::Hop, std::uint32_t, HopHash>;
  class Members;

  static SimTime pace(Members& members);
  // Whether members only pass on what they receive, over links that they share: RingClock has their
  // times.
  bool is_ring(Group group, const GroupShape& shape, collective::Kind kind) const;
  // Whether a library gives the time, and that.
  bool is_of_library(Group group, const GroupShape& shape, collective::Kind kind) const;
  collective::LibraryLinks library_links(std::uint32_t stage, Group group, const GroupShape& shape,
                                         collective::Kind kind, Bytes bytes);
  SimTime of_library(std::uint32_t stage, Group group, const GroupShape& shape,
                     collective::Kind kind, Bytes bytes);
  bool is_long_ring(Group group, const GroupShape& shape, collective::Kind kind) const;
  // Of the group of the tile in place `base`.
  SimTime once(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
               Bytes bytes, std::uint32_t base);
  SimTime again(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
                Bytes bytes);
  // [members] what comes to each in the first step of a channel of a ring.
  std::vector<Bytes> first_chunks(Group group, const GroupShape& shape, collective::Kind kind,
                                  Bytes bytes, std::uint32_t channel) const;
  // Of a ring that passes on what it receives, in all channels.
  SimTime around(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
                 Bytes bytes, std::uint32_t base);
  const std::vector<std::vector<RingLink>>& rings_of(std::uint32_t stage, Group group,
                                                     const GroupShape& shape, collective::Kind kind,
                                                     std::uint32_t base);
  // Servers whose members of the group each have a NIC of their own, where that makes a ring leave
  // by way of the host.
  std::set<std::uint32_t> servers_apart(std::uint32_t stage, const GroupShape& shape,
                                        std::uint32_t base) const;
  RingLink ring_link(EntityId from, EntityId to, const Loads& loads,
                     const std::set<std::uint32_t>& apart) const;
  EntityId tile(std::uint32_t stage, std::uint32_t place) const {
    return plan_.placement.tile(stage * plan_.placement.stage_tiles() + place);
  }
  void add_load(EntityId from, EntityId to, Loads& loads) const;
  // Messages on each link when every group of the shape is in this step of all channels; of every
  // so many tiles.
  Loads loads_of(std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
                 std::uint32_t step, std::uint32_t every = 1) const;
  // Messages that share a link with one whose way goes over it from `first` on.
  std::uint32_t share_at(const machine::Hop& hop, const machine::Hop& first,
                         const Loads& loads) const;
  // A message takes both, and holds its links for the second.
  struct Transit {
    SimTime latency;
    SimTime on_links;
  };
  Transit transit(EntityId from, EntityId to, Bytes bytes, const Loads& loads) const;

  const Plan& plan_;
  const Transfers& transfers_;
  const machine::Topology& topology_;
  Sharing sharing_;
  std::map<std::tuple<std::uint32_t, Group, collective::Kind, Bytes, Occasion>, SimTime> known_;
  LibraryUse library_use_;
  std::map<std::tuple<std::uint32_t, Group, collective::Kind>, double> known_shares_;
  // Of the stage asked about last: by group and first place. They are the same for all kinds that
  // pass on what they receive.
  std::map<std::pair<Group, std::uint32_t>, std::vector<std::vector<RingLink>>> rings_;
  std::uint32_t rings_stage_ = 0;
  std::optional<machine::Servers> servers_;  // of a library's groups
};

}  // namespace tessera::plan
