#include "tessera/machine/arbitration.hpp"

namespace tessera::machine {

std::vector<std::pair<std::string, Arbitration>> arbitration_choices() {
  return {{"first-come", Arbitration::first_come},
          {"fair", Arbitration::fair},
          {"fair-tenants", Arbitration::fair_tenants}};
}

Sharers::Sharers(Arbitration arbitration, const Topology& topology,
                 std::span<const std::uint32_t> tenants)
    : share_of_(topology.nodes(), nobody) {
  for (std::uint32_t node = 0; node < share_of_.size(); ++node) {
    if (arbitration == Arbitration::fair_tenants) {
      share_of_[node] = tenants.empty() ? nobody : tenants[node];
    } else if (topology.computes(EntityId(node))) {
      share_of_[node] = node;
    }
  }
}

}  // namespace tessera::machine
