// Links that accesses to DRAM share with each other and with collectives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::explore {

// Of a node and its port.
inline std::uint64_t link_number(const machine::Hop& hop) {
  return std::uint64_t{hop.node.value()} << 16U | hop.port;
}

// What one tile has links carry: bytes that it reads, that it writes, and those of the vectors of
// its collectives, each kind of these in a slot of its own.
struct LinkBytes {
  static constexpr std::size_t reads = 0;
  static constexpr std::size_t writes = 1;
  static constexpr std::size_t first_collective = 2;
  static constexpr std::size_t slots = 12;
  std::array<double, slots> of{};

  LinkBytes& operator+=(const LinkBytes& other);
  friend LinkBytes operator-(LinkBytes a, const LinkBytes& b);
  friend LinkBytes operator*(LinkBytes a, double times);
  // Slot by slot.
  friend LinkBytes smaller(const LinkBytes& a, const LinkBytes& b);
};

// Where channels of DRAM lie at the edge, all that tiles read comes over the few links beside
// them, and messages between tiles go over the same ones. An iteration takes at least as long as
// the busiest of these links carries all its bytes: along the routes of an idle machine, full
// duplex, requests and acknowledgements left out.
//
// The links that carry the accesses of most tiles are looked at, 32 at most, on machines of which
// a strategy takes 1024 tiles at most; on others, and where accesses do not go over links, there
// are none.
class CrowdedLinks {
 public:
  using Links = std::vector<std::uint64_t>;  // along a way
  // All must outlive it. `memory`: null is none.
  CrowdedLinks(const machine::Machine& machine, const machine::Routing& routing,
               const memory::MemoryModel* memory, const plan::Placement& placement,
               std::uint32_t stages);

  bool any() const { return !ps_per_byte_.empty(); }
  // Where the bytes of such a collective are counted; none: there is no slot left. Groups lie in
  // one block each and have one channel.
  std::optional<std::size_t> slot_of(const plan::GroupShape& shape,
                                     const collective::Algorithm& algorithm, collective::Kind kind);
  // Time of the busiest link, where each tile of each stage has this carried [ps].
  double busiest(const std::vector<LinkBytes>& of_stages) const;

 private:
  using Slot = std::vector<double>;  // [stages * links] of a byte of each tile
  using Key = std::tuple<std::uint32_t, std::uint32_t, const collective::Algorithm*,
                         collective::Kind>;  // size and stride of the group

  Links links_between(EntityId from, EntityId to) const;
  void count_accesses(const memory::MemoryModel& memory);
  void count(EntityId from, EntityId to, std::uint32_t stage, double bytes, Slot& slot) const;
  EntityId tile(std::uint32_t stage, std::uint32_t place) const {
    return placement_.tile(stage * placement_.stage_tiles() + place);
  }

  const machine::Machine& machine_;
  const machine::Routing& routing_;
  const plan::Placement& placement_;
  std::uint32_t stages_;
  std::vector<double> ps_per_byte_;                         // [links]
  std::unordered_map<std::uint64_t, std::size_t> numbers_;  // of links
  std::vector<Slot> slots_;
  std::map<Key, std::size_t> collectives_;
};

}  // namespace tessera::explore
