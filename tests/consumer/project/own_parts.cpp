// Runs an experiment with each of the parts of one's own beside this file, on 1 to 4 ranks.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/simulation.hpp"

namespace {

using namespace tessera;

constexpr const char* text =
    "machine:\n"
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 100 GB/s, latency: 10 ns}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 KiB}\n"
    "  dram: {at: nodes, nodes: [0, 4], bandwidth: 50 GB/s, latency: 100 ns}\n"
    "workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 16, vocabulary: 64,\n"
    "  batch: 4}\n"
    "strategy: {pipeline: 2, tensor: 4}\n"
    "run: {trace: none, partition: stripes, idle_ranks: false}\n";

trace::Summary run(const std::vector<std::string>& settings, int ranks) {
  const sim::Experiment experiment = sim::read_experiment(
      "own.yaml", settings, [](const std::string&) { return std::string(text); });
  trace::Summary result;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    trace::Summary summary = sim::run(experiment, communicator, {});
    if (communicator.rank() == 0) {
      result = std::move(summary);
    }
  });
  return result;
}

void tell(const std::string& part, const std::vector<std::string>& settings) {
  const trace::Summary one = run(settings, 1);
  std::cout << part << ": " << one.status << " at " << one.simulated_time_ps << " ps";
  for (int ranks = 2; ranks <= 4; ++ranks) {
    std::cout << (run(settings, ranks).result_digest == one.result_digest ? ", equal"
                                                                          : ", differs");
  }
  std::cout << std::endl;
}

}  // namespace

int main() {
  try {
    tell("none", {});
    tell("network", {"machine.network={model: courier, time: 50 ns}"});
    tell("memory", {"machine.memory={model: steady, time: 200 ns}"});
    tell("compute", {"machine.compute={model: punctual, time: 3 us}"});
    tell("topology",
         {"machine.topology={kind: chain, tiles: 8, bandwidth: 100 GB/s, latency: 10 ns}"});
    tell("collective", {"strategy.collectives.tensor=by-the-first"});
    run({"machine.network.model=curier"}, 1);
  } catch (const ConfigError& error) {
    std::cout << error.what() << "\n";
  }
  return 0;
}
