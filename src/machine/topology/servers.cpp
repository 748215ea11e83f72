#include "tessera/machine/topology/servers.hpp"

namespace tessera::machine {
namespace {

bool has_domains(const Topology& topology) {
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    if (topology.domain(EntityId(node)) != node) {
      return true;
    }
  }
  return false;
}

}  // namespace

Servers::Servers(const Topology& topology)
    : topology_(topology), is_one_(!topology.cluster() && !has_domains(topology)) {}

}  // namespace tessera::machine
