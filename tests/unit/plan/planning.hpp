// Plans made from YAML text, as a user would.
#pragma once

#include <string>
#include <utility>

#include "tessera/machine/machine.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan::testing {

// A machine of 4 x 8 tiles of 1 TFLOP/s; `tile` and `dram` are keys of those sections.
inline std::string machine_text(const std::string& tile = "sram: 0 B",
                                const std::string& dram = "at: none") {
  return "topology: {kind: mesh, rows: 4, columns: 8, bandwidth: 100 GB/s, latency: 1 ns}\n"
         "tile: {peak: {fp16: 1 TFLOP/s}, " +
         tile + "}\ndram: {" + dram + "}\n";
}

// Six transformer layers between embedding and head.
inline std::string workload_text() {
  return "kind: transformer\nlayers: 6\nhidden: 64\nheads: 4\nsequence: 32\nvocabulary: 100\n"
         "batch: 16\ndata_type: fp16\noptimizer: adam\n";
}

// At the peak.
inline SimTime time_at_peak(const machine::Tile& tile, const workload::Operation& operation) {
  return execution_time(operation.flops, tile.rate(operation.data_type));
}

struct Planned {
  machine::Machine machine;
  workload::Workload workload;
  Plan plan;

  SimTime ideal_time(std::uint64_t iterations = 1) const {
    return plan::ideal_time(machine, plan, time_at_peak, iterations);
  }
};

// Throws ConfigError on any complaint.
inline Planned planned(const std::string& strategy, const std::string& machine = machine_text(),
                       const std::string& workload = workload_text(),
                       const collective::Overhead& overhead = {},
                       const collective::LibrarySettings& library = {}) {
  config::Diagnostics diagnostics;
  config::Section machine_section(config::parse("m.yaml", machine, diagnostics), "", diagnostics);
  config::Section workload_section(config::parse("w.yaml", workload, diagnostics), "", diagnostics);
  config::Section section(config::parse("s.yaml", strategy, diagnostics), "", diagnostics);
  auto read_machine = machine::read_machine(machine_section);
  auto read_workload = workload::read_workload(workload_section);
  diagnostics.throw_if_any();
  Planned result{*std::move(read_machine), *std::move(read_workload), {}};
  const Strategy read = read_strategy(section, result.workload, *result.machine.topology);
  section.finish();
  diagnostics.throw_if_any();
  const auto routing =
      machine::make_routing(result.machine.topology->default_routing(), *result.machine.topology);
  result.plan =
      make_plan(result.machine, result.workload, read, time_at_peak,
                {[&](EntityId from, EntityId to) {
                   return machine::hops_between(*result.machine.topology, *routing, from, to);
                 },
                 SimTime::zero(), overhead, library});
  return result;
}

}  // namespace tessera::plan::testing
