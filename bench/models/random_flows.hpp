// Random flows among hosts under leaf switches, as a scenario that any solver of flows can run.
//
// Each host has a link up to its leaf and one down; each leaf a link up to each spine and one down.
// Flows go between random hosts, over a spine that is fixed for each pair, when the two are under
// different leaves; sizes and starts are uniform. Links have no latency.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/core/random.hpp"

namespace tessera::bench {

struct RandomFlowsParameters {
  std::uint32_t hosts = 0;
  std::uint32_t flows = 0;
  std::uint64_t spread_ps = 0;  // of starts
  std::uint64_t seed = 0;
};

struct RandomFlow {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::vector<std::uint32_t> route;  // numbers of links
  std::uint64_t bytes = 0;
  std::int64_t start_ps = 0;
};

struct RandomFlows {
  std::vector<std::uint64_t> bandwidths;  // of links [B/s]
  std::vector<RandomFlow> flows;
};

inline RandomFlows random_flows(const RandomFlowsParameters& parameters) {
  constexpr std::uint32_t hosts_a_leaf = 32;
  constexpr std::uint32_t spines = 8;
  constexpr std::uint64_t host_bandwidth = 10'000'000'000;
  constexpr std::uint64_t spine_bandwidth = 40'000'000'000;  // as much from a leaf as into it
  constexpr std::uint64_t least_bytes = 1'000'000;
  constexpr std::uint64_t most_bytes = 100'000'000;
  const std::uint32_t hosts = parameters.hosts;
  const std::uint32_t leaves = (hosts + hosts_a_leaf - 1) / hosts_a_leaf;
  const std::uint32_t first_up = 2 * hosts;
  const std::uint32_t first_down = first_up + leaves * spines;

  RandomFlows scenario;
  scenario.bandwidths.assign(first_up, host_bandwidth);
  scenario.bandwidths.resize(first_down + leaves * spines, spine_bandwidth);
  RandomStream random(parameters.seed, EntityId(0), 0);
  for (std::uint32_t i = 0; i < parameters.flows; ++i) {
    RandomFlow flow;
    flow.from = static_cast<std::uint32_t>(random.next_below(hosts));
    flow.to = static_cast<std::uint32_t>(random.next_below(hosts - 1));
    flow.to += flow.to >= flow.from ? 1 : 0;
    flow.bytes = least_bytes + random.next_below(most_bytes - least_bytes);
    flow.start_ps = static_cast<std::int64_t>(random.next_below(parameters.spread_ps + 1));
    flow.route.push_back(flow.from);
    if (flow.from / hosts_a_leaf != flow.to / hosts_a_leaf) {
      const std::uint32_t spine = (flow.from + flow.to) % spines;
      flow.route.push_back(first_up + flow.from / hosts_a_leaf * spines + spine);
      flow.route.push_back(first_down + flow.to / hosts_a_leaf * spines + spine);
    }
    flow.route.push_back(hosts + flow.to);
    scenario.flows.push_back(flow);
  }
  return scenario;
}

}  // namespace tessera::bench
