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

// Of packets beyond so many of a message, which may lie far ahead: there tables grow by doubling,
// and are copied when they do (measured, with what else is under way beside it).
constexpr std::uint64_t packets_near = 64;
constexpr std::size_t bytes_far = 512;
// Messages pile up where sending all of them takes more than this part of the time in which they
// are made (assumed: links are shared, and messages come in bursts).
constexpr double part_that_piles_up = 0.25;

// Of what a node sends.
struct Sent {
  std::size_t largest = 0;  // [bytes of memory] of the message with most packets
  std::size_t all = 0;      // of all that may be under way at once
  Bytes bytes;              // that these carry
};

std::size_t bytes_of_packets(std::uint64_t packets) {
  return std::min(packets, packets_near) * bytes_an_event +
         (packets - std::min(packets, packets_near)) * bytes_far;
}

// Of the rank with most, where messages are of many packets: each node that sends has one under
// way, that with most packets; all that it may send at once, where links are too slow for them.
std::size_t bytes_under_way(const Experiment& experiment, const Work& work,
                            const machine::Partition& partition) {
  constexpr std::uint64_t most = 1U << 30;  // of messages and packets, so that sums fit
  std::unordered_map<std::uint32_t, Sent> nodes;
  work.visit_messages([&](EntityId from, EntityId to, Bytes bytes, std::uint64_t at_once) {
    const std::uint64_t packets = std::min(
        most, experiment.network->events_of_message(experiment.machine, from, to, bytes) - 1);
    const std::size_t needed = bytes_of_packets(packets);
    Sent& sent = nodes[from.value()];
    sent.largest = std::max(sent.largest, needed);
    sent.all += needed * std::min(most, at_once);
    sent.bytes += Bytes(bytes.count() * std::min(most, at_once));
  });
  Bandwidth slowest = Bandwidth::bytes_per_second(~std::uint64_t{0});
  for (const machine::LinkClass& link_class : experiment.machine.topology->link_classes()) {
    slowest = std::min(slowest, link_class.bandwidth);
  }
  const double made_s =
      experiment.ideal_span().seconds() / std::max<std::uint32_t>(1, work.iterations());
  std::vector<std::size_t> sums(partition.members.size());
  for (const auto& [node, sent] : nodes) {
    const double sent_s =
        static_cast<double>(sent.bytes.count()) / static_cast<double>(slowest.bytes_per_second());
    const bool pile_up = made_s > 0 && sent_s > part_that_piles_up * made_s;
    sums[partition.owner[node]] += pile_up ? sent.all : sent.largest;
  }
  return *std::max_element(sums.begin(), sums.end());
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
