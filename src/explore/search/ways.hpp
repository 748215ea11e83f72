// Where the roles of some degrees lie in one layout, and what messages between them take.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "search/crowded_links.hpp"
#include "search/ring_floor.hpp"
#include "search/span.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/sharing.hpp"

namespace tessera::explore {

// A link on the way of a message, or a port of a network that has no links.
struct Leg {
  std::uint64_t number = 0;
  double latency = 0;      // [ps]
  double ps_per_byte = 0;  // of a message that has it alone
  bool is_shared = true;   // by messages at the same time
};

// What all ways of a machine have in common.
struct WayFinder {
  WayFinder(const machine::Machine& of, const network::NetworkModel& network,
            const memory::MemoryModel* of_memory);

  const machine::Machine& machine;
  const memory::MemoryModel* memory;  // null: the machine has none
  std::unique_ptr<machine::Routing> routing;
  network::Overheads overheads;
  plan::Sharing sharing;         // by messages at the same time
  bool uses_links;               // of the machine
  double least_latency = 0;      // of a link [ps]
  double least_ps_per_byte = 0;  // of the fastest link

  bool share_links() const { return sharing == plan::Sharing::links; }
  std::vector<Leg> legs(EntityId from, EntityId to) const;
  // From one tile to another, each found once.
  Way way(EntityId from, EntityId to) const;
  // That a message raises, where nobody knows who else sends.
  double events(EntityId from, EntityId to, Bytes bytes) const;

 private:
  std::unique_ptr<network::PredictedTraffic> traffic_;
  mutable std::unordered_map<std::uint64_t, Way> ways_;
};

// Channels of DRAM that serve as many tiles of each stage as each other.
struct ChannelClass {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tiles;  // (stage, how many), ascending
  Bytes capacity;
  std::optional<Bandwidth> bandwidth;  // that they share; none: no bound
  std::uint32_t first = 0;             // number of one of them
};

// Estimates look at 256 tiles of three stages at most; the lower bounds hold for all.
class Ways {
 public:
  // `finder` must outlive it. Throws ConfigError where the layout does not fit.
  Ways(const WayFinder& finder, const plan::Strategy& strategy);

  // Of a collective over a vector of so many bytes, its overhead included.
  Span time(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
            collective::Kind kind, Bytes bytes);
  // That the messages of a member raise, as those of the first one do.
  double events(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
                collective::Kind kind, Bytes bytes);
  // What each tile of a stage sends to its peer in the next one.
  Span boundary(Bytes bytes);
  // The least that this takes from this stage to the next one, or back [ps].
  double least_crossing(std::uint32_t stage, Bytes bytes);
  // What a sum between tiles of the first and of the last stage takes, each with its peer: an
  // estimate alone [ps].
  double sum_of_ends(Bytes bytes);
  const std::vector<ChannelClass>& channels() const { return channels_; }
  // [stages] time of a byte from DRAM, where all tiles of the stage take one [ps].
  const std::vector<double>& access() const { return access_; }
  double least_access() const { return least_access_; }
  // Whether accesses at the same time do.
  bool shares_channels() const { return shares_channels_; }
  // None where messages at the same time do not share links.
  bool has_crowded_links() const { return crowded_.any(); }
  // Where CrowdedLinks counts the bytes of such a collective; none: nowhere.
  std::optional<std::size_t> slot_of(const plan::GroupShape& shape,
                                     const collective::Algorithm& algorithm, collective::Kind kind);
  // As CrowdedLinks::busiest [ps].
  double busiest(const std::vector<LinkBytes>& of_stages) const {
    return crowded_.busiest(of_stages);
  }

 private:
  // Of messages between neighbours of a group.
  struct Passage {
    double mean_latency = 0;
    double most_latency = 0;
    double mean_ps_per_byte = 0;
    double most_ps_per_byte = 0;
  };
  // Of an algorithm with so many members.
  struct Pattern {
    double steps = 0;
    double share = 0;  // of the vector that a member sends in all
  };
  // Senders and receivers at the same time.
  using Pairs = std::vector<std::pair<EntityId, EntityId>>;

  void find_channels(const plan::Strategy& strategy);
  Passage measure(const Pairs& pairs) const;
  const Passage& passage(const plan::GroupShape& shape, std::uint32_t channels,
                         std::uint32_t distance);
  const Pattern& pattern(const collective::Algorithm& algorithm, collective::Kind kind,
                         std::uint32_t size);
  std::uint32_t channels_of(const plan::GroupShape& shape);
  // How far members are apart that send to each other.
  static std::uint32_t distance_of(const plan::GroupShape& shape, collective::Kind kind);
  const std::vector<RingFloor>& floors_of(const plan::GroupShape& shape);
  double least_of_ring(const plan::GroupShape& shape, double steps, double chunk);
  Way way_of_sends(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
                   collective::Kind kind, std::uint32_t role) const;
  const std::vector<Way>& sends_of(const plan::GroupShape& shape,
                                   const collective::Algorithm& algorithm, collective::Kind kind);
  double least_of_sends(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
                        collective::Kind kind, double bytes);
  std::vector<std::uint32_t> looked_at_stages() const;
  std::uint32_t looked_at_tiles() const;
  EntityId tile(std::uint32_t stage, std::uint32_t place) const {
    return placement_.tile(stage * placement_.stage_tiles() + place);
  }

  using ShapeKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>;
  static ShapeKey key_of(const plan::GroupShape& shape) {
    return {shape.size, shape.stride, shape.parts, shape.among_leaders};
  }

  const WayFinder& finder_;
  plan::Placement placement_;
  std::uint32_t stages_;
  CrowdedLinks crowded_;
  std::vector<ChannelClass> channels_;
  std::vector<double> access_;
  double least_access_ = 0;
  bool shares_channels_ = true;
  std::map<std::pair<ShapeKey, std::uint32_t>, Passage> passages_;
  std::map<ShapeKey, std::uint32_t> channels_of_;
  std::map<ShapeKey, std::vector<RingFloor>> floors_;
  std::map<std::tuple<ShapeKey, const collective::Algorithm*, collective::Kind>, std::vector<Way>>
      sends_;
  std::map<std::tuple<const collective::Algorithm*, collective::Kind, std::uint32_t>, Pattern>
      patterns_;
  std::map<int, Passage> boundary_;
  std::optional<Way> between_ends_;                      // the slowest
  std::map<std::uint32_t, std::vector<Way>> crossings_;  // by stage, those that differ
};

}  // namespace tessera::explore
