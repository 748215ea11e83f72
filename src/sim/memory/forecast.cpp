#include "memory/forecast.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobs/joint_work.hpp"
#include "notes/notes.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/records.hpp"

namespace tessera::sim {
namespace {

// Program text, libraries, and the engine's own tables before any entity is there, alone and with
// MPI's buffers for messages between processes; measured on small runs.
constexpr std::size_t program_bytes = 28U << 20;
constexpr std::size_t mpi_bytes = 10U << 20;
// What a rank keeps for each of all: delays to and from it, links between regions, an outbox,
// counts.
constexpr std::size_t bytes_a_rank = 256;
// Events pending at a time for each tile: its operator or its message, and a packet under way.
constexpr std::size_t events_a_tile = 2;
// Where many are pending in few windows (results/engine.md).
constexpr std::size_t bytes_an_event = 64;

// Of the rank with most, where messages are of many packets: each node that sends has one under
// way, that with most packets.
std::size_t bytes_under_way(const Experiment& experiment, const Work& work,
                            const machine::Partition& partition) {
  std::unordered_map<std::uint32_t, std::uint32_t> packets;  // by node
  work.visit_messages([&](EntityId from, EntityId to, Bytes bytes) {
    const std::uint64_t events =
        experiment.network->events_of_message(experiment.machine, from, to, bytes) - 1;
    std::uint32_t& most = packets[from.value()];
    most = std::max(most,
                    static_cast<std::uint32_t>(std::min<std::uint64_t>(events, ~std::uint32_t{0})));
  });
  std::vector<std::size_t> sums(partition.members.size());
  for (const auto& [node, most] : packets) {
    sums[partition.owner[node]] += most;
  }
  return *std::max_element(sums.begin(), sums.end()) * bytes_an_event;
}

// Of one rank's file, and the mark of each node whose operators are written.
std::size_t trace_bytes(const Experiment& experiment) {
  if (experiment.options.trace == TraceLevel::none) {
    return 0;
  }
  std::vector<trace::TableSpec> tables = trace::tables();
  if (experiment.options.trace == TraceLevel::summary) {
    tables.erase(tables.begin() + trace::messages);
  }
  return trace::TraceFile::predicted_bytes(tables) + experiment.machine.topology->nodes() / 8;
}

// But for messages under way.
Forecast without_messages(const Experiment& experiment, const Work& work,
                          machine::Partition partition) {
  Forecast forecast;
  const machine::Machine& machine = experiment.machine;
  const int ranks = partition.ranks;
  forecast.partition = std::move(partition);
  forecast.lookahead = experiment.lookahead;
  forecast.links = machine.topology->links();
  forecast.instructions = work.instructions();
  forecast.notes = notes_before(experiment, work);

  const std::size_t all = machine.topology->nodes();
  forecast.shared_bytes = machine.resident_bytes() + work.shared_bytes() +
                          all * (sizeof(std::uint32_t)     // owner
                                 + sizeof(std::int32_t)    // locator
                                 + 2 * sizeof(EntityId));  // members of all ranks, storage order
  std::size_t largest = 0;
  for (const auto& members : forecast.partition.members) {
    largest = std::max(largest, members.size());
  }
  const bool bins = experiment.options.trace != TraceLevel::none;
  const std::size_t local = experiment.network->predicted_bytes(machine, largest, bins) +
                            experiment.memory->predicted_bytes(machine, largest) +
                            work.compute_bytes(largest) + largest * work.bytes_a_tile() +
                            largest * (sizeof(EntityId) + sizeof(std::uint32_t)) +
                            largest * events_a_tile * sizeof(pdes::Event) + trace_bytes(experiment);
  forecast.largest_bytes = program_bytes + (ranks > 1 ? mpi_bytes : 0) + forecast.shared_bytes +
                           local + bytes_a_rank * static_cast<std::size_t>(ranks);
  return forecast;
}

}  // namespace

std::uint64_t tiles_at_work(const Experiment& experiment) {
  return work_of(experiment)->tiles();
}

Forecast forecast(const Experiment& experiment, int ranks) {
  return forecast(experiment, choose_cut(experiment, ranks, ranks).partition);
}

Forecast forecast(const Experiment& experiment, machine::Partition partition) {
  const std::unique_ptr<Work> work = work_of(experiment);
  Forecast forecast = without_messages(experiment, *work, std::move(partition));
  forecast.largest_bytes += bytes_under_way(experiment, *work, forecast.partition);
  return forecast;
}

Forecast forecast_of_run(const Experiment& experiment, machine::Partition partition) {
  if (experiment.network->cuts_messages()) {
    return forecast(experiment, std::move(partition));
  }
  return without_messages(experiment, *work_of(experiment), std::move(partition));
}

}  // namespace tessera::sim
