#include "memory/forecast.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobs/joint_work.hpp"
#include "notes/notes.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/machine/routing/routing.hpp"
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
// and are copied when they do.
constexpr std::uint64_t packets_near = 64;
constexpr std::size_t bytes_far = 192;
// Messages pile up where sending all of them takes more than this part of the time in which they
// are made (assumed: links are shared, and messages come in bursts).
constexpr double part_that_piles_up = 0.25;
// Of accesses that wait for links, some of whose data has come (measured: up to a half).
constexpr double part_that_waits = 0.75;

std::size_t bytes_of_packets(std::uint64_t packets) {
  return std::min(packets, packets_near) * bytes_an_event +
         (packets - std::min(packets, packets_near)) * bytes_far;
}

// Bytes of memory that messages under way take, where they are of many packets. Each node has one
// of its work under way, that with most packets, and one access to memory; all that it may send at
// once, where links are too slow for them. Of messages from stage to stage of a pipeline so many
// are under way as their time is part of that in which they are made (Little's law), times what
// makes it whole where they begin to pile up; all of one stage at the least. Where links are too
// slow, as many of a chain as it has in flight.
class UnderWay {
 public:
  UnderWay(const Experiment& experiment, const machine::Partition& partition)
      : experiment_(experiment), partition_(partition), ranks_(partition.members.size()) {
    for (const machine::LinkClass& link_class : experiment.machine.topology->link_classes()) {
      slowest_ = std::min(slowest_, link_class.bandwidth.bytes_per_second());
    }
  }

  void add(const MessageKind& kind) {
    constexpr std::uint64_t most = 1U << 30;  // of messages and packets, so that sums fit
    const std::uint64_t packets =
        std::min(most, experiment_.network->events_of_message(experiment_.machine, kind.from,
                                                              kind.to, kind.bytes) -
                           1);
    if (packets == 0) {
      return;
    }
    const EntityId node = kind.node.valid() ? kind.node : kind.from;
    const std::uint64_t at_once = std::min(most, kind.at_once);
    switch (kind.of) {
      case MessageKind::Of::memory:
        add_access(kind, node, std::min(most, packets * at_once) * bytes_an_event);
        break;
      case MessageKind::Of::pipeline:
        add_to_pipeline(kind, bytes_of_packets(packets));
        break;
      default: {
        Sent& sent = nodes_[node.value()];
        sent.largest = std::max(sent.largest, bytes_of_packets(packets));
        if (kind.made_s > 0) {
          sent.all += bytes_of_packets(packets) * at_once;
          sent.sent_s += sent_s(kind, at_once);
          sent.made_s = kind.made_s;
        }
      }
    }
  }

  // Of the rank with most.
  std::size_t most() const {
    std::vector<std::size_t> sums;
    for (const Rank& rank : ranks_) {
      std::size_t together = static_cast<std::size_t>(rank.in_mean);
      for (const auto& [stage, bytes] : rank.of_stage) {
        together = std::max(together, bytes);
      }
      for (const auto& [chain, bytes] : rank.of_chain) {
        together += bytes;
      }
      sums.push_back(together);
    }
    for (const auto& [node, sent] : nodes_) {
      const bool pile_up = sent.made_s > 0 && sent.sent_s > part_that_piles_up * sent.made_s;
      sums[partition_.owner[node]] += pile_up ? std::max(sent.all, sent.largest) : sent.largest;
    }
    for (const auto& [node, bytes] : accesses_) {
      sums[partition_.owner[node]] += bytes;
    }
    return *std::max_element(sums.begin(), sums.end());
  }

 private:
  struct Sent {
    std::size_t largest = 0;
    std::size_t all = 0;
    double sent_s = 0;
    double made_s = 0;
  };
  struct Rank {
    double in_mean = 0;
    std::unordered_map<std::uint32_t, std::size_t> of_stage;  // that pass on at the same time
    std::unordered_map<std::uint32_t, std::size_t> of_chain;  // where messages pile up
  };

  // A channel sends the data of one access after the other: where links are quicker, no more than
  // those of one are under way.
  void add_access(const MessageKind& kind, EntityId node, std::size_t bytes) {
    const double part = kind.made_s > 0 ? sent_s(kind, kind.at_once) / kind.made_s : 0;
    const double under_way = part > 1 ? part_that_waits : part;
    std::size_t& largest = accesses_[part > 1 ? node.value() : kind.chain];
    largest = std::max(largest, static_cast<std::size_t>(under_way * static_cast<double>(bytes)));
  }
  void add_to_pipeline(const MessageKind& kind, std::size_t bytes) {
    Rank& rank = ranks_[partition_.owner[kind.from.value()]];
    const double part =
        kind.made_s > 0 ? sent_s(kind, kind.count) / (part_that_piles_up * kind.made_s) : 0;
    if (part > 1) {
      std::size_t& piled = rank.of_chain[kind.chain];
      piled = std::max<std::size_t>(piled, bytes * std::min(kind.count, kind.in_chain));
      return;
    }
    rank.in_mean += part * static_cast<double>(bytes);
    rank.of_stage[kind.stage] += bytes;
  }

  // Of so many messages over the slowest link on their way.
  double sent_s(const MessageKind& kind, std::uint64_t count) {
    return static_cast<double>(kind.bytes.count()) * static_cast<double>(count) /
           static_cast<double>(rate_between(kind.from, kind.to));
  }
  std::uint64_t rate_between(EntityId from, EntityId to) {
    constexpr std::uint64_t most_hops = 1U << 24U;  // looked at, together
    const machine::Topology& topology = *experiment_.machine.topology;
    if (topology.link_classes().size() < 2 || !experiment_.network->sends_along_links() ||
        hops_ > most_hops) {
      return slowest_;
    }
    if (!routing_) {
      routing_ = machine::make_routing(experiment_.network->routing(), topology);
    }
    const machine::Path path = machine::path_between(topology, *routing_, from, to);
    hops_ += path.hops;
    return path.bottleneck.bytes_per_second();
  }

  const Experiment& experiment_;
  const machine::Partition& partition_;
  std::uint64_t slowest_ = ~std::uint64_t{0};  // [B/s] of all links
  std::unique_ptr<machine::Routing> routing_;
  std::uint64_t hops_ = 0;
  std::unordered_map<std::uint32_t, Sent> nodes_;
  // [bytes of memory] By tile, where they wait for links, else by node of the channel.
  std::unordered_map<std::uint32_t, std::size_t> accesses_;
  std::vector<Rank> ranks_;
};

std::size_t bytes_under_way(const Experiment& experiment, const Work& work,
                            const machine::Partition& partition) {
  UnderWay under_way(experiment, partition);
  work.visit_messages([&](const MessageKind& kind) { under_way.add(kind); });
  return under_way.most();
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
