// What links would have carried, for networks in which only messages that leave by one link, or
// arrive by one, wait for each other.
//
// Method: every message adds its bytes to each link of its way, and marks the parts of the run in
// which it was on its way, of which there are 64 at most: a part grows to twice its length when the
// run goes beyond them. Bytes over bandwidth is how long the link would have been busy, and the
// parts that are marked, each counted as a whole, are how long it was in use: busy for longer than
// that, it cannot have been. Sums and marks do not depend on the order of messages, so that ranks
// add theirs up. A link all of whose messages left by one link or came in by one says nothing new.
// Of machines with more than `most_links` links those of some nodes are looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/core/divisor.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::network {

class LinkUses {
 public:
  static constexpr std::uint64_t most_links = 1U << 20;
  static constexpr unsigned parts = 64;
  // Who sends over a link, or gets what comes over it: nobody, one link's number, or several.
  static constexpr std::uint32_t nobody = 0xFFFFFFFFU;
  static constexpr std::uint32_t several = 0xFFFFFFFEU;

  struct Use {
    std::uint64_t bytes = 0;
    std::uint64_t marks = 0;  // a bit for each part
    std::uint32_t from = nobody;
    std::uint32_t to = nobody;
  };

  explicit LinkUses(const machine::Topology& topology);

  // A message that is on its way in [begin, end).
  void carry(std::span<const machine::Hop> way, EntityId target, std::uint64_t bytes, SimTime begin,
             SimTime end);

  // Nothing until there was a message, on this rank.
  std::span<const Use> uses() const { return uses_; }
  // Places in `uses` of any rank.
  std::size_t size() const { return first_use_.back(); }
  machine::Hop link_at(std::size_t place) const;
  // Length of a part.
  SimTime part() const { return SimTime::from_ps(std::int64_t{1} << part_bits_); }
  // The mark of a part of that length at least, where all have it.
  static std::uint64_t coarser(std::uint64_t marks, unsigned doublings);
  unsigned part_bits() const { return part_bits_; }

  void save(pdes::StateWriter& writer) const;
  void add(pdes::StateReader& reader);
  std::size_t resident_bytes() const;
  static std::size_t predicted_bytes(const machine::Topology& topology);

 private:
  void lengthen_parts(unsigned bits);

  const machine::Topology* topology_;
  Divisor every_;                         // so many nodes there is one that is looked at
  std::vector<std::uint32_t> first_use_;  // [such nodes + 1] in uses_
  std::vector<Use> uses_;                 // [their links], or none
  unsigned part_bits_ = 10;
};

}  // namespace tessera::network
