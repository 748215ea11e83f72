#include "jobs/memory.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "jobs/npu_memories.hpp"
#include "jobs/tiles.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/text.hpp"
#include "tessera/npu/core/cores.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using Kept = Job::BytesByNode;

// Nodes of whose memory several tenants keep something, or one that nobody else looks after.
std::set<EntityId> nodes_to_check(const Experiment& experiment, const std::vector<Kept>& kept) {
  std::set<EntityId> used;
  std::set<EntityId> nodes;
  for (std::size_t tenant = 0; tenant < kept.size(); ++tenant) {
    const bool alone = experiment.jobs[tenant].job->must_fit_alone();
    for (const auto& [node, bytes] : kept[tenant]) {
      if (bytes > Bytes() && (!used.insert(node).second || alone)) {
        nodes.insert(node);
      }
    }
  }
  return nodes;
}

// False: some memory cannot hold it all, which has been complained about.
bool check_sums(const Experiment& experiment, const std::vector<Kept>& kept,
                std::vector<Section>& sections) {
  const std::set<EntityId> nodes = nodes_to_check(experiment, kept);
  if (nodes.empty()) {
    return true;
  }
  const std::map<EntityId, Bytes> capacities = memory_capacities(memory_parts(experiment));
  for (const EntityId node : nodes) {
    const auto known = capacities.find(node);
    const Bytes capacity = known == capacities.end() ? Bytes() : known->second;
    Bytes sum;
    std::vector<std::string> shares;
    std::size_t last = 0;
    for (std::size_t tenant = 0; tenant < kept.size(); ++tenant) {
      const auto found = kept[tenant].find(node);
      if (found != kept[tenant].end() && found->second > Bytes()) {
        sum += found->second;
        shares.push_back("'" + experiment.jobs[tenant].name + "' " +
                         to_short_string(found->second));
        last = tenant;
      }
    }
    if (capacity > Bytes() && sum > capacity) {
      const bool alone = shares.size() == 1;
      sections[last].error(
          "workload", "the memory at " + experiment.machine.topology->node_name(node) +
                          " would hold " + to_short_string(sum) + (alone ? ", " : " of tenants, ") +
                          to_short_string(sum - capacity) + " more than its " +
                          to_short_string(capacity) + (alone ? "" : ": " + join(shares)));
      return false;
    }
  }
  return true;
}

// From what there is for those who serve.
void take(const machine::Machine& machine, const Kept& kept, ServingMemory& memory) {
  if (machine.channels.empty()) {
    return;
  }
  for (const auto& [node, bytes] : kept) {
    const std::uint32_t channel = machine.channel_of[node.value()];
    const std::optional<Bytes> free = memory.free(channel);
    if (free && machine.channels[channel].node == node) {
      memory.take(channel, std::min(*free, bytes));
    }
  }
}

// Where those of another tenant may begin: far enough that they share no row of any memory, at a
// place that lies in banks and channels as the first address does.
std::uint64_t next_begin(std::uint64_t end) {
  constexpr std::uint64_t unit = std::uint64_t{16} << 20U;
  return quotient_up(end, unit) * unit;
}

// Of all operations, as cores of this kind do them.
std::uint64_t bytes_of_operations(const Experiment& experiment, const npu::CoreConfig& core) {
  std::vector<std::unique_ptr<npu::TiledOperator>> owned;
  std::vector<const npu::TiledOperator*> operators;
  for (const PlacedJob& placed : experiment.jobs) {
    for (const workload::Operation& operation : placed.job->operations()) {
      owned.push_back(npu::lower(operation, {core, 1, operation.data_type}));
      operators.push_back(owned.back().get());
    }
  }
  return npu::bytes_of_operands(operators);
}

// Each core that does operations of jobs which share cores has its operands at its own number times
// those of all (npu/core/cores.hpp).
std::uint64_t end_of_operations(const Experiment& experiment) {
  std::set<const npu::CoreConfig*> cores;
  for (const PlacedJob& placed : experiment.jobs) {
    if (placed.job->operations().empty()) {
      continue;
    }
    for (const machine::Tile* tile : kinds_of(experiment.machine, placed.tiles)) {
      cores.insert(npu::core_of(experiment.compute->of(*tile)));
    }
  }
  cores.erase(nullptr);
  std::uint64_t bytes = 0;
  for (const npu::CoreConfig* const core : cores) {
    bytes = std::max(bytes, bytes_of_operations(experiment, *core));
  }
  return next_begin(bytes * experiment.machine.topology->nodes());
}

}  // namespace

void share_memories(Experiment& experiment, std::vector<Section>& sections) {
  const machine::Machine& machine = experiment.machine;
  ServingMemory memory(machine);
  for (const PlacedJob& placed : experiment.jobs) {
    placed.job->share_in(machine, memory);
  }
  const auto all_kept = [&] {
    std::vector<Kept> all;
    for (const PlacedJob& placed : experiment.jobs) {
      all.push_back(placed.job->kept(experiment, memory));
    }
    return all;
  };
  const std::vector<Kept> kept = all_kept();
  if (!check_sums(experiment, kept, sections)) {
    return;
  }
  for (std::size_t number = 0; number < kept.size(); ++number) {
    if (!experiment.jobs[number].job->takes_the_rest()) {
      take(machine, kept[number], memory);
    }
  }
  for (std::size_t number = 0; number < kept.size(); ++number) {
    experiment.jobs[number].job->fit(machine, memory, sections[number].section("workload"));
  }
  check_sums(experiment, all_kept(), sections);
}

void number_jobs(Experiment& experiment) {
  NextNumbers next;
  if (experiment.jobs.size() > 1) {
    next.address = end_of_operations(experiment);
  }
  for (PlacedJob& placed : experiment.jobs) {
    const std::uint64_t begin = next.address;
    placed.job->number(next);
    next.address = next.address > begin ? next_begin(next.address) : begin;
  }
}

}  // namespace tessera::sim
