// Who goes first where several wait for a link, or for a memory channel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

enum class Arbitration : std::uint8_t {
  first_come,
  fair,          // even parts of the bytes to the tiles for which it is used (fair_queue.hpp)
  fair_tenants,  // to their tenants
};

// The values of a key `arbitration`.
std::vector<std::pair<std::string, Arbitration>> arbitration_choices();

// By whom links and channels are shared, as numbers.
class Sharers {
 public:
  // A node that is memory or a switch, or of no tenant.
  static constexpr std::uint32_t nobody = 0xFFFFFFFFU;

  // `tenants`: [nodes] each one's, or `nobody`; empty: there are none.
  Sharers(Arbitration arbitration, const Topology& topology,
          std::span<const std::uint32_t> tenants);

  std::uint32_t of(EntityId node) const { return share_of_[node.value()]; }
  // Of a message: its sender's; what a node of nobody sends is for who gets it.
  std::uint32_t of(EntityId source, EntityId target) const {
    const std::uint32_t sender = of(source);
    return sender == nobody ? of(target) : sender;
  }
  std::size_t resident_bytes() const { return share_of_.capacity() * sizeof(std::uint32_t); }

 private:
  std::vector<std::uint32_t> share_of_;  // [nodes]
};

}  // namespace tessera::machine
