#include "tessera/network/network.hpp"

#include <utility>

#include "tessera/machine/routing.hpp"

namespace tessera::network {
namespace {

class EndsOnly final : public PredictedTraffic {
 public:
  void visit_events(EntityId from, EntityId to, Bytes, const Visit& visit) const override {
    visit(from, 1);
    visit(to, 1);
  }
};

}  // namespace

std::unique_ptr<PredictedTraffic> predict_ends_only() {
  return std::make_unique<EndsOnly>();
}

Registry<NetworkMaker>& networks() {
  static Registry<NetworkMaker> registry("network");
  return registry;
}

ParameterInfo routing_parameter() {
  return {"routing", "", "xy on grids, else shortest",
          "xy, yx (dimension order, grids only) or shortest (smallest latency)"};
}

std::string read_routing(config::Section& section, const machine::Machine& machine) {
  std::string name =
      section.get_name("routing", machine::routing_names(), machine.topology->default_routing());
  if ((name == "xy" || name == "yx") && !machine.topology->grid()) {
    section.error("routing", "'" + name + "' needs a mesh, torus or wafer; use 'shortest'");
    name = machine.topology->default_routing();
  }
  return name;
}

std::unique_ptr<NetworkModel> read_network(config::Section section,
                                           const machine::Machine& machine) {
  const std::string model = section.get_name("model", networks().names(), "packet");
  if (!networks().contains(model)) {
    return nullptr;
  }
  return networks().at(model)(section, machine);
}

}  // namespace tessera::network
