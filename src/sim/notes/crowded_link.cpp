#include "notes/crowded_link.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "notes/rounded_time.hpp"
#include "tessera/network/link_uses.hpp"

namespace tessera::sim {
namespace {

using network::LinkUses;

constexpr std::size_t looked_at = 64;

// Of several ranks: numbers of ends below `top`, where the largest and what the smallest leaves of
// it are together `top` if there is one number only.
class Ends {
 public:
  explicit Ends(std::size_t links) : largest_(links), rest_(links) {}
  void add(std::size_t link, std::uint32_t end) {
    if (end == LinkUses::nobody) {
      return;
    }
    const bool is_one = end != LinkUses::several;
    largest_[link] = is_one ? end + std::uint64_t{1} : top;
    rest_[link] = is_one ? top - largest_[link] : top;
  }
  void reduce(comm::Communicator& communicator) {
    communicator.reduce_max(largest_);
    communicator.reduce_max(rest_);
  }
  bool are_several(std::size_t link) const { return largest_[link] + rest_[link] > top; }

 private:
  static constexpr std::uint64_t top = std::uint64_t{1} << 33U;
  std::vector<std::uint64_t> largest_;
  std::vector<std::uint64_t> rest_;
};

// By place and time, longest first.
using Busy = std::vector<std::pair<SimTime, std::size_t>>;

Busy busiest(const LinkUses& links, const machine::Topology& topology,
             comm::Communicator& communicator) {
  std::vector<std::uint64_t> bytes(links.size());
  Ends from(links.size());
  Ends to(links.size());
  for (std::size_t place = 0; place < links.uses().size(); ++place) {
    const LinkUses::Use& use = links.uses()[place];
    bytes[place] = use.bytes;
    from.add(place, use.from);
    to.add(place, use.to);
  }
  communicator.reduce_sum(bytes);
  from.reduce(communicator);
  to.reduce(communicator);
  Busy busy;
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    if (bytes[place] > 0 && from.are_several(place) && to.are_several(place)) {
      const machine::Hop hop = links.link_at(place);
      const machine::Link link = topology.link(hop.node, hop.port);
      busy.emplace_back(serialization_time(Bytes(bytes[place]),
                                           topology.link_classes()[link.link_class].bandwidth),
                        place);
    }
  }
  const auto shown = std::min(busy.size(), looked_at);
  std::partial_sort(busy.begin(), busy.begin() + static_cast<std::ptrdiff_t>(shown), busy.end(),
                    [](const auto& one, const auto& other) {
                      return one.first != other.first ? one.first > other.first
                                                      : one.second < other.second;
                    });
  busy.resize(shown);
  return busy;
}

// Parts in which each was in use on any rank, and the length of a part.
std::pair<std::vector<std::uint64_t>, SimTime> parts_of(const Busy& busy, const LinkUses& links,
                                                        comm::Communicator& communicator) {
  std::array<std::uint64_t, 1> bits{links.part_bits()};
  communicator.reduce_max(bits);
  std::vector<std::uint64_t> marks(busy.size() * LinkUses::parts);
  for (std::size_t i = 0; i < busy.size() && !links.uses().empty(); ++i) {
    const std::uint64_t own = LinkUses::coarser(links.uses()[busy[i].second].marks,
                                                static_cast<unsigned>(bits[0]) - links.part_bits());
    for (unsigned part = 0; part < LinkUses::parts; ++part) {
      marks[i * LinkUses::parts + part] = own >> part & 1U;
    }
  }
  communicator.reduce_max(marks);
  std::vector<std::uint64_t> used(busy.size());
  for (std::size_t i = 0; i < marks.size(); ++i) {
    used[i / LinkUses::parts] += marks[i];
  }
  return {used, SimTime::from_ps(std::int64_t{1} << bits[0])};
}

}  // namespace

std::optional<CrowdedLink> crowded_link(const network::Network& network,
                                        const machine::Topology& topology,
                                        comm::Communicator& communicator) {
  const LinkUses* const links = network.link_uses();
  if (links == nullptr) {
    return std::nullopt;
  }
  std::array<std::uint64_t, 1> any{links->uses().empty() ? 0U : 1U};
  communicator.reduce_max(any);
  if (any[0] == 0) {
    return std::nullopt;
  }
  const Busy busy = busiest(*links, topology, communicator);
  const auto [used, part] = parts_of(busy, *links, communicator);
  std::optional<CrowdedLink> most;
  SimTime beyond;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const SimTime in_use = part * static_cast<std::int64_t>(used[i]);
    const SimTime more = busy[i].first - SimTime::from_ps(in_use.ps() / 2);
    if (more > beyond) {
      const machine::Hop hop = links->link_at(busy[i].second);
      beyond = more;
      most = CrowdedLink{"from " + topology.node_name(hop.node) + " to " +
                             topology.node_name(topology.link(hop.node, hop.port).to),
                         busy[i].first, in_use};
    }
  }
  return most;
}

std::string crowded_link_note(const network::Network& network, const CrowdedLink& link) {
  return "the " + std::string(network.name()) +
         " models contention only among messages that leave by one link or arrive by one: the "
         "link " +
         link.name + " would have been busy for " + rounded(link.busy) + " of the " +
         rounded(link.used) +
         " in which messages over it were in flight (machine.network.model: packet or flow)";
}

}  // namespace tessera::sim
