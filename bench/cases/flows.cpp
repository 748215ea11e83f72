// What max-min shares cost: random flows that are joined to each other over their links, in the
// program's own solver (src/network/flow/fluid_flows.hpp), without the engine.

#include "flow/fluid_flows.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "case.hpp"
#include "cost.hpp"
#include "model_run.hpp"
#include "models/random_flows.hpp"
#include "reference/simgrid.hpp"
#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

void describe(OptionList& options) {
  options("hosts", "under leaf switches of 32", text_option("1000"), "N");
  options("flows", "between random hosts", text_option("3000"), "N");
  options("spread", "flows start within this time", text_option("1 ms"), "TIME");
}

// The end of the last flow; the digest is of all ends.
SimTime solve(const RandomFlows& scenario, Digest& digest) {
  constexpr double ps_per_second = 1e12;
  std::vector<double> capacities;
  std::transform(
      scenario.bandwidths.begin(), scenario.bandwidths.end(), std::back_inserter(capacities),
      [](std::uint64_t bandwidth) { return static_cast<double>(bandwidth) / ps_per_second; });
  std::vector<std::uint32_t> order(scenario.flows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return scenario.flows[a].start_ps < scenario.flows[b].start_ps;
  });
  network::FluidFlows flows(capacities);
  std::vector<std::uint32_t> ended;
  SimTime now;
  for (auto next = order.begin(); next != order.end() || !flows.next_end().is_never();) {
    now = flows.next_end();
    if (next != order.end()) {
      now = std::min(now, SimTime::from_ps(scenario.flows[*next].start_ps));
    }
    ended.clear();
    flows.take_ended(now, ended);
    for (const std::uint32_t flow : ended) {
      digest.add({flow, static_cast<std::uint64_t>(now.ps())});
    }
    for (; next != order.end() && scenario.flows[*next].start_ps == now.ps(); ++next) {
      const RandomFlow& flow = scenario.flows[*next];
      flows.begin(*next, flow.route, flow.bytes, 1, network::MaxMin::no_limit);
    }
    flows.share(now);
  }
  return now;
}

Measurement run_here(const RandomFlowsParameters& parameters, const Setting& setting) {
  forget_peak_memory();
  const RandomFlows scenario = random_flows(parameters);
  Measurement measured;
  measured.engine = "tessera";
  measured.lps = parameters.hosts;
  measured.events = parameters.flows;
  note_cost(measured, cost_of(setting.ranks_are_threads,
                              [&] { measured.simulated = solve(scenario, measured.digest); }));
  return measured;
}

Measurement run_there(const RandomFlowsParameters& parameters) {
  const SimgridCost cost = run_simgrid(parameters);
  Measurement measured;
  measured.engine = "simgrid";
  measured.lps = parameters.hosts;
  measured.events = cost.flows;
  note_cost(measured, cost.cost);
  measured.simulated = cost.simulated;
  return measured;
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  if (communicator.size() > 1) {
    throw ConfigError("flows: on one rank only");
  }
  RandomFlowsParameters parameters;
  parameters.hosts = options.count32("hosts", 2, 1U << 24);
  parameters.flows = options.count32("flows", 1, 1U << 24);
  parameters.spread_ps = static_cast<std::uint64_t>(options.time("spread", SimTime::zero()).ps());
  parameters.seed = setting.seed;
  Report report;
  report.parameters = {{"hosts", parameters.hosts},
                       {"flows", parameters.flows},
                       {"spread_ps", parameters.spread_ps}};
  report.run = repeated(setting, [&] {
    return setting.engine == "simgrid" ? run_there(parameters) : run_here(parameters, setting);
  });
  return report;
}

}  // namespace

Case flows_case() {
  return {"flows", "max-min shares of random flows", {"tessera", "simgrid"}, describe, run};
}

}  // namespace tessera::bench
