// The scenario of models/random_flows.hpp on SimGrid's S4U: one communication a flow.
//
//   tessera-bench-flows-simgrid HOSTS FLOWS SPREAD_PS SEED
//
// prints one JSON object. Only the run is measured, not the building of the platform.

#include <xbt/log.h>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/random_flows.hpp"
#include "reference/simgrid_program.hpp"

namespace {

namespace s4u = simgrid::s4u;
using tessera::bench::RandomFlow;
using tessera::bench::RandomFlows;
using tessera::bench::RandomFlowsParameters;

RandomFlowsParameters read(int count, char** words) {
  if (count != 5) {
    throw std::invalid_argument("four numbers expected");
  }
  RandomFlowsParameters parameters;
  parameters.hosts = static_cast<std::uint32_t>(std::stoul(words[1]));
  parameters.flows = static_cast<std::uint32_t>(std::stoul(words[2]));
  parameters.spread_ps = std::stoull(words[3]);
  parameters.seed = std::stoull(words[4]);
  return parameters;
}

std::vector<s4u::Host*> build(const RandomFlows& scenario, std::uint32_t count) {
  auto* const zone = s4u::create_full_zone("fabric");
  std::vector<s4u::Host*> hosts;
  for (std::uint32_t i = 0; i < count; ++i) {
    hosts.push_back(zone->create_host("h" + std::to_string(i), 1e9)->seal());
  }
  std::vector<s4u::Link*> links;
  for (const std::uint64_t bandwidth : scenario.bandwidths) {
    links.push_back(
        zone->create_link("l" + std::to_string(links.size()), static_cast<double>(bandwidth)));
    links.back()->set_latency(0.0)->seal();
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> routed;
  for (const RandomFlow& flow : scenario.flows) {
    if (routed.emplace(flow.from, flow.to).second) {
      std::vector<s4u::LinkInRoute> route;
      for (const std::uint32_t link : flow.route) {
        route.emplace_back(links[link]);
      }
      zone->add_route(hosts[flow.from]->get_netpoint(), hosts[flow.to]->get_netpoint(), nullptr,
                      nullptr, route, false);
    }
  }
  zone->seal();
  return hosts;
}

void start_all(std::vector<RandomFlow> flows, const std::vector<s4u::Host*>& hosts) {
  std::stable_sort(flows.begin(), flows.end(),
                   [](const auto& a, const auto& b) { return a.start_ps < b.start_ps; });
  std::vector<s4u::CommPtr> under_way;
  for (const RandomFlow& flow : flows) {
    s4u::this_actor::sleep_until(static_cast<double>(flow.start_ps) * 1e-12);
    under_way.push_back(s4u::Comm::sendto_async(hosts[flow.from], hosts[flow.to], flow.bytes));
  }
  s4u::Comm::wait_all(under_way);
}

void run(int count, char** words) {
  xbt_log_control_set("root.thresh:warning");
  s4u::Engine engine(&count, words);
  tessera::bench::set_plain(engine);
  const RandomFlowsParameters parameters = read(count, words);
  const RandomFlows scenario = tessera::bench::random_flows(parameters);
  const std::vector<s4u::Host*> hosts = build(scenario, parameters.hosts);
  s4u::Actor::create("all", hosts.front(), [&] { start_all(scenario.flows, hosts); });
  const auto cost = tessera::bench::cost_of(false, [&] { engine.run(); });
  tessera::bench::print(parameters.flows, cost);
}

}  // namespace

int main(int argc, char** argv) {
  return tessera::bench::guarded([&] { run(argc, argv); });
}
