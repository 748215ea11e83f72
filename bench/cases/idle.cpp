// What a router and a tile weigh that have nothing to do: the program's own network, memory,
// compute model and executor on a mesh in which one tile works.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "case.hpp"
#include "cost.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::bench {
namespace {

// The components' numbers at the engine.
enum Slot : unsigned { network_slot, memory_slot, compute_slot, executor_slot };

void describe(OptionList& options) {
  options("side", "tiles along an edge of the mesh", text_option("1000"), "K");
}

std::string text_of(std::uint32_t side) {
  const std::string edge = std::to_string(side);
  return "machine:\n"
         "  topology: {kind: mesh, rows: " +
         edge + ", columns: " + edge +
         ", bandwidth: 64 GB/s, latency: 10 ns}\n"
         "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 MiB}\n"
         "  dram: {at: edge, edges: [west], bandwidth: 64 GB/s, latency: 100 ns}\n"
         "workload: {kind: transformer, layers: 1, hidden: 64, heads: 4, sequence: 16,\n"
         "  vocabulary: 64, batch: 1}\n";
}

struct Described {
  machine::Machine machine;
  std::unique_ptr<network::NetworkModel> network;
  std::unique_ptr<memory::MemoryModel> memory;
  std::unique_ptr<compute::ComputeModel> compute;
  plan::Plan plan;
};

Described read(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section root(config::parse("idle.yaml", text, diagnostics), "", diagnostics);
  config::Section part = root.section("machine");
  config::Section work = root.section("workload");
  config::Section strategy = root.section("strategy");
  std::optional<machine::Machine> machine = machine::read_machine(part);
  const std::optional<workload::Workload> workload = workload::read_workload(work);
  diagnostics.throw_if_any();
  Described all;
  all.machine = std::move(*machine);
  all.network = network::read_network(part.section("network"), all.machine);
  all.memory = memory::read_memory(part.section("memory"));
  all.compute = compute::read_compute(part.section("compute"));
  const plan::OperationTime operation_time = [&](const machine::Tile& tile,
                                                 const workload::Operation& operation) {
    return all.compute->duration(all.machine, tile, operation);
  };
  all.plan = plan::make_plan(all.machine, *workload,
                             plan::read_strategy(strategy, *workload, *all.machine.topology),
                             operation_time, {});
  diagnostics.throw_if_any();
  return all;
}

void note_bytes(Fields& fields, std::size_t tiles, const std::string& part, std::size_t bytes) {
  fields.emplace_back(part + "_bytes_per_tile",
                      static_cast<double>(bytes) / static_cast<double>(tiles));
}

// Parts are what their owners count; all that is resident is what the system counts.
Fields weigh(std::uint32_t side, comm::Communicator& communicator) {
  const std::uint64_t before = present_memory_bytes();
  const Described described = read(text_of(side));
  const machine::Machine& machine = described.machine;
  machine::Partition partition = machine::partitioners().at("blocks")(*machine.topology, 1, {});
  const std::vector<EntityId>& members = partition.members[0].spell_out();
  const std::uint64_t with_description = present_memory_bytes();

  pdes::Engine engine(
      communicator,
      {partition.owner.listed(), members, machine::region_delays(*machine.topology, partition, 0)},
      machine.topology->smallest_latency());
  const auto network = described.network->build({machine, members, network_slot});
  const auto memory =
      described.memory->build({machine, members, memory_slot, network_slot, nullptr, {}});
  const auto compute =
      described.compute->build({machine, members, described.plan.operations, compute_slot});
  const auto executor = executor::make_executor({machine,
                                                 described.plan,
                                                 members,
                                                 1,
                                                 executor_slot,
                                                 network_slot,
                                                 memory_slot,
                                                 compute_slot,
                                                 nullptr,
                                                 {}});
  ensure(engine.attach(*network) == network_slot && engine.attach(*memory) == memory_slot &&
             engine.attach(*compute) == compute_slot && engine.attach(*executor) == executor_slot,
         "components have the slots they were told");
  engine.run();
  ensure(executor->unfinished() == 0, "the tile at work finishes");

  const std::uint64_t after = present_memory_bytes();
  const std::size_t tiles = machine.topology->nodes();
  const pdes::EngineMemory held = engine.memory();
  Fields fields{{"tiles", tiles}, {"events", engine.statistics().events}};
  note_bytes(fields, tiles, "router", network->resident_bytes());
  note_bytes(fields, tiles, "executor", executor->resident_bytes());
  note_bytes(fields, tiles, "memory", memory->resident_bytes());
  note_bytes(fields, tiles, "compute", compute->resident_bytes());
  note_bytes(fields, tiles, "engine", held.process_bytes + held.event_bytes);
  note_bytes(fields, tiles, "resident_models", after - std::min(after, with_description));
  note_bytes(fields, tiles, "resident_description",
             with_description - std::min(with_description, before));
  note_bytes(fields, tiles, "resident", after - std::min(after, before));
  return fields;
}

Report run(const CaseOptions& options, const Setting&, comm::Communicator& communicator) {
  const std::uint32_t side = options.count32("side", 2, 16'384);
  if (communicator.size() > 1) {
    throw ConfigError("idle: on one rank only");
  }
  Report report;
  report.parameters = {{"side", side}};
  report.fields = weigh(side, communicator);
  return report;
}

}  // namespace

Case idle_case() {
  return {
      "idle", "what routers and tiles weigh that have nothing to do", {"tessera"}, describe, run};
}

}  // namespace tessera::bench
