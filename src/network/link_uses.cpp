#include "tessera/network/link_uses.hpp"

#include <algorithm>
#include <bit>

namespace tessera::network {
namespace {

// Odd, so that on a grid with an even number of columns nodes of all columns are looked at.
std::uint32_t distance_of_nodes(const machine::Topology& topology) {
  const std::uint64_t times = topology.links() / LinkUses::most_links;
  return times == 0 ? 1 : static_cast<std::uint32_t>(2 * times + 1);
}

std::uint32_t merged(std::uint32_t one, std::uint32_t other) {
  if (one == other || other == LinkUses::nobody) {
    return one;
  }
  return one == LinkUses::nobody ? other : LinkUses::several;
}

// Links that leave a node, and those that come in to it, told apart by four bits.
std::uint32_t name_of(EntityId node, std::uint32_t link) {
  return node.value() << 4U | (link & 15U);
}

void add_use(LinkUses::Use& use, const LinkUses::Use& other) {
  use.bytes += other.bytes;
  use.marks |= other.marks;
  use.from = merged(use.from, other.from);
  use.to = merged(use.to, other.to);
}

struct SavedUse {
  std::uint64_t place = 0;
  LinkUses::Use use;
};

}  // namespace

LinkUses::LinkUses(const machine::Topology& topology)
    : topology_(&topology), every_(distance_of_nodes(topology)) {
  std::uint32_t uses = 0;
  for (std::uint32_t node = 0; node < topology.nodes(); node += every_.value()) {
    first_use_.push_back(uses);
    uses += topology.ports(EntityId(node));
  }
  first_use_.push_back(uses);
}

void LinkUses::carry(std::span<const machine::Hop> way, EntityId target, std::uint64_t bytes,
                     SimTime begin, SimTime end) {
  if (uses_.empty()) {
    uses_.resize(size());
  }
  const auto last = static_cast<std::uint64_t>(std::max(begin, end).ps());
  const unsigned needed = static_cast<unsigned>(std::bit_width(last));
  constexpr unsigned bits_of_parts = 6;
  if (needed > part_bits_ + bits_of_parts) {
    lengthen_parts(needed - bits_of_parts);
  }
  const auto first_part = static_cast<unsigned>(begin.ps() >> part_bits_);
  const auto last_part = static_cast<unsigned>(last >> part_bits_);
  const std::uint64_t marks =
      (~std::uint64_t{0} << first_part) & (~std::uint64_t{0} >> (parts - 1 - last_part));
  const Use added{bytes, marks, name_of(way.front().node, way.front().port),
                  name_of(target, way.back().node.value() ^ way.back().port)};
  for (const machine::Hop& hop : way) {
    const std::uint32_t number = every_.quotient(hop.node.value());
    if (number * every_.value() == hop.node.value()) {
      add_use(uses_[first_use_[number] + hop.port], added);
    }
  }
}

machine::Hop LinkUses::link_at(std::size_t place) const {
  const auto after = std::upper_bound(first_use_.begin(), first_use_.end(), place);
  const auto number = static_cast<std::uint32_t>(after - first_use_.begin() - 1);
  return {EntityId(number * every_.value()), static_cast<unsigned>(place - first_use_[number])};
}

std::uint64_t LinkUses::coarser(std::uint64_t marks, unsigned doublings) {
  if (doublings >= 6) {
    return marks != 0 ? 1 : 0;
  }
  std::uint64_t result = 0;
  for (; marks != 0; marks &= marks - 1) {
    result |= std::uint64_t{1} << (static_cast<unsigned>(std::countr_zero(marks)) >> doublings);
  }
  return result;
}

void LinkUses::lengthen_parts(unsigned bits) {
  for (Use& use : uses_) {
    use.marks = coarser(use.marks, bits - part_bits_);
  }
  part_bits_ = bits;
}

void LinkUses::save(pdes::StateWriter& writer) const {
  writer.put(part_bits_);
  std::vector<SavedUse> saved;
  for (std::size_t place = 0; place < uses_.size(); ++place) {
    if (uses_[place].bytes > 0 || uses_[place].marks != 0) {
      saved.push_back({place, uses_[place]});
    }
  }
  writer.put_all(saved);
}

void LinkUses::add(pdes::StateReader& reader) {
  auto bits = reader.get<unsigned>();
  const auto saved = reader.get_all<SavedUse>();
  if (saved.empty()) {
    return;
  }
  if (uses_.empty()) {
    uses_.resize(size());
  }
  if (bits > part_bits_) {
    lengthen_parts(bits);
  }
  for (SavedUse each : saved) {
    each.use.marks = coarser(each.use.marks, part_bits_ - bits);
    add_use(uses_[each.place], each.use);
  }
}

std::size_t LinkUses::resident_bytes() const {
  return first_use_.capacity() * sizeof(std::uint32_t) + uses_.capacity() * sizeof(Use);
}

std::size_t LinkUses::predicted_bytes(const machine::Topology& topology) {
  const std::uint32_t every = distance_of_nodes(topology);
  return topology.nodes() / every * sizeof(std::uint32_t) + topology.links() / every * sizeof(Use);
}

}  // namespace tessera::network
