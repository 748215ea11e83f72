#include "tessera/network/network.hpp"

#include <utility>

#include "tessera/machine/routing.hpp"

namespace tessera::network {
namespace {

class EndsOnly final : public PredictedTraffic {
 public:
  void visit_runs(EntityId from, EntityId to, Bytes, const VisitRun& visit) const override {
    visit({.first = from.value(), .events = 1});
    visit({.first = to.value(), .events = 1});
  }
};

}  // namespace

void PredictedTraffic::visit_events(EntityId from, EntityId to, Bytes bytes,
                                    const Visit& visit) const {
  visit_runs(from, to, bytes, [&visit](const Run& run) {
    for (std::uint32_t i = 0; i < run.nodes; ++i) {
      visit(EntityId(run.first + i * run.step), run.events);
    }
  });
}

std::unique_ptr<PredictedTraffic> predict_ends_only() {
  return std::make_unique<EndsOnly>();
}

Registry<NetworkMaker>& networks() {
  static Registry<NetworkMaker> registry("network");
  return registry;
}

ParameterInfo routing_parameter() {
  return {"routing", "", "as the topology says",
          "xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), "
          "hierarchy (graphs of templates), given (graphs with routes), ecmp (shortest, spread) or "
          "shortest (smallest latency)"};
}

ParameterInfo message_overhead_parameter() {
  return {"message_overhead", "ps", "0 ps",
          "time that a message takes at its ends beyond that on the links, which it does not hold"};
}

ParameterInfo collective_overhead_parameter() {
  return {"collective_overhead", "ps", "0 ps",
          "time that every member of a collective takes before its first message"};
}

Overheads read_overheads(config::Section& section) {
  const auto read = [&](const char* key) {
    return section.get_or<SimTime>(key, SimTime::zero(), config::at_least(SimTime::zero()));
  };
  return {read("message_overhead"), read("collective_overhead")};
}

std::string read_routing(config::Section& section, const machine::Machine& machine) {
  const std::string usual = machine.topology->default_routing();
  std::string name = section.get_name("routing", machine::routing_names(), usual);
  const std::string problem = machine::routing_problem(name, *machine.topology);
  if (!problem.empty()) {
    section.error("routing", problem);
    name = usual;
  }
  return name;
}

std::unique_ptr<NetworkModel> read_network(config::Section section,
                                           const machine::Machine& machine) {
  const std::string model = section.get_name("model", networks().names(), "packet");
  if (!networks().contains(model)) {
    return nullptr;
  }
  section.leave_keys_of_others(networks().infos(), model);
  return networks().at(model)(section, machine);
}

}  // namespace tessera::network
