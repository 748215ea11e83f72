#include "traffic/waiting.hpp"

#include <algorithm>

namespace tessera::sim {
namespace {

// Fewer say little of the load of a link where messages are drawn at random.
constexpr std::uint32_t least_messages = 16;
constexpr unsigned port_bits = 16;

std::uint64_t number_of(const machine::Hop& hop) {
  return std::uint64_t{hop.node.value()} << port_bits | hop.port;
}

}  // namespace

void OfferedLoad::message(EntityId from, EntityId to, Bytes bytes, double count) {
  Way way{{}, count};
  for (const machine::Hop& hop : machine::hops_between(topology_, routing_, from, to)) {
    way.links.push_back(number_of(hop));
    Link& link = links_[way.links.back()];
    link.bytes += count * static_cast<double>(bytes.count());
    ++link.messages;
  }
  ways_.push_back(std::move(way));
}

double OfferedLoad::load_of(std::uint64_t link, SimTime time) const {
  const Link& offered = links_.at(link);
  if (offered.messages < least_messages) {
    return 0;
  }
  const EntityId node(static_cast<std::uint32_t>(link >> port_bits));
  const auto port = static_cast<unsigned>(link & ((1U << port_bits) - 1));
  const machine::LinkClass& carrier =
      topology_.link_classes()[topology_.link(node, port).link_class];
  const double carried = static_cast<double>(carrier.bandwidth.bytes_per_second()) * time.seconds();
  return offered.bytes / carried;
}

double OfferedLoad::share_that_waits(SimTime time) const {
  double waiting = 0;
  double all = 0;
  for (const Way& way : ways_) {
    double busiest = 1;
    for (const std::uint64_t link : way.links) {
      busiest = std::max(busiest, load_of(link, time));
    }
    waiting += way.count * (1 - 1 / busiest);
    all += way.count;
  }
  return all > 0 ? waiting / all : 0;
}

}  // namespace tessera::sim
