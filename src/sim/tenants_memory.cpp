#include "tenants_memory.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "job_reader.hpp"
#include "npu_memories.hpp"
#include "served_memory.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/text.hpp"
#include "tessera/npu/cores.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using Kept = std::map<EntityId, Bytes>;  // by node of the memory

void add(const machine::Machine& machine, const std::vector<Bytes>& in_channels, Kept& kept) {
  for (std::size_t channel = 0; channel < in_channels.size(); ++channel) {
    kept[machine.channels[channel].node] += in_channels[channel];
  }
}

std::vector<const npu::TiledOperator*> operators_of(const executor::ChipWork& work) {
  std::vector<const npu::TiledOperator*> operators;
  for (const executor::ChipOperator& op : work.operators) {
    operators.push_back(op.tiles.get());
  }
  return operators;
}

// Cores that a channel serves hold their part of all.
void add_chip(const machine::Machine& machine, const Job& job, Kept& kept) {
  const executor::ChipWork& chip = *job.chip;
  if (machine.channels.empty()) {
    return;
  }
  const Bytes all = job.model ? element_size(chip.data_type) * job.model->parameters
                              : Bytes(npu::bytes_of_operands(operators_of(chip)));
  std::map<EntityId, std::uint64_t> cores;
  for (const EntityId core : chip.cores) {
    ++cores[machine.channels[machine.channel_of[core.value()]].node];
  }
  for (const auto& [node, count] : cores) {
    kept[node] += Bytes(quotient_up((all * count).count(), chip.cores.size()));
  }
}

void add_tensors(const Experiment& experiment, const executor::GraphWork& graph, Kept& kept) {
  const workload::TensorPlacement* const tensors = graph.source->tensors();
  if (tensors == nullptr) {
    return;
  }
  const machine::Machine& machine = experiment.machine;
  const std::vector<EntityId> holders = holders_of(memory_parts(experiment), graph.nodes);
  for (std::uint32_t npu = 0; npu < graph.npus(); ++npu) {
    const workload::TensorPlacement::Class& own = tensors->classes[tensors->class_of[npu]];
    if (has_own_channel(machine, graph.nodes[npu])) {
      kept[graph.nodes[npu]] += own.local;
    }
    if (!holders.empty()) {
      kept[holders[npu]] += own.remote;
    }
  }
}

Kept kept_by(const Experiment& experiment, const ServingMemory& memory, const Job& job) {
  Kept kept;
  add(experiment.machine, job.in_channels, kept);
  if (job.chip) {
    add_chip(experiment.machine, job, kept);
  }
  if (job.serving) {
    add(experiment.machine, bytes_in_channels(experiment.machine, memory, *job.serving), kept);
  }
  if (job.graph) {
    add_tensors(experiment, *job.graph, kept);
  }
  return kept;
}

// False: some memory cannot hold it all, which has been complained about.
bool check_sums(const Experiment& experiment, const std::vector<Kept>& kept,
                std::vector<Section>& sections) {
  for (const auto& [node, capacity] : memory_capacities(memory_parts(experiment))) {
    Bytes sum;
    std::vector<std::string> shares;
    std::size_t last = 0;
    for (std::size_t tenant = 0; tenant < kept.size(); ++tenant) {
      const auto found = kept[tenant].find(node);
      if (found != kept[tenant].end() && found->second > Bytes()) {
        sum += found->second;
        shares.push_back("'" + experiment.tenants[tenant].name + "' " +
                         to_short_string(found->second));
        last = tenant;
      }
    }
    if (capacity > Bytes() && sum > capacity && shares.size() > 1) {
      sections[last].error("workload", "the memory at " +
                                           experiment.machine.topology->node_name(node) +
                                           " would hold " + to_short_string(sum) + " of tenants, " +
                                           to_short_string(sum - capacity) + " more than its " +
                                           to_short_string(capacity) + ": " + join(shares));
      return false;
    }
  }
  return true;
}

// From what there is for those who serve.
void take(const machine::Machine& machine, const Kept& kept, ServingMemory& memory) {
  for (std::size_t channel = 0; channel < memory.free.size(); ++channel) {
    const auto found = kept.find(machine.channels[channel].node);
    if (std::optional<Bytes>& free = memory.free[channel]; free && found != kept.end()) {
      free = *free - std::min(*free, found->second);
    }
  }
}

// Where those of another tenant may begin: far enough that they share no row of any memory, at a
// place that lies in banks and channels as the first address does.
std::uint64_t next_begin(std::uint64_t end) {
  constexpr std::uint64_t unit = std::uint64_t{16} << 20U;
  return quotient_up(end, unit) * unit;
}

// Of all programs, as cores of this kind do them.
std::uint64_t bytes_of_programs(const Experiment& experiment, const npu::CoreConfig& core) {
  std::vector<std::unique_ptr<npu::TiledOperator>> owned;
  std::vector<const npu::TiledOperator*> operators;
  for (const Tenant& tenant : experiment.tenants) {
    for (const workload::Operation& operation : tenant.job.plan.operations) {
      owned.push_back(npu::lower(operation, {core, 1, operation.data_type}));
      operators.push_back(owned.back().get());
    }
  }
  return npu::bytes_of_operands(operators);
}

// Each core that does programs has its operands at its own number times those of all
// (npu/cores.hpp).
std::uint64_t end_of_programs(const Experiment& experiment) {
  std::set<const npu::CoreConfig*> cores;
  for (const Tenant& tenant : experiment.tenants) {
    if (tenant.job.plan.operations.empty()) {
      continue;
    }
    for (const machine::Tile* tile : kinds_of(experiment.machine, tenant.tiles)) {
      cores.insert(npu::core_of(experiment.compute->of(*tile)));
    }
  }
  cores.erase(nullptr);
  std::uint64_t bytes = 0;
  for (const npu::CoreConfig* const core : cores) {
    bytes = std::max(bytes, bytes_of_programs(experiment, *core));
  }
  return next_begin(bytes * experiment.machine.topology->nodes());
}

}  // namespace

void share_memories(Experiment& experiment, std::vector<Section>& sections) {
  const machine::Machine& machine = experiment.machine;
  ServingMemory memory(machine);
  for (const Tenant& tenant : experiment.tenants) {
    if (tenant.job.serving) {
      memory.add(machine, *tenant.job.serving);
    }
  }
  const auto all_kept = [&] {
    std::vector<Kept> all;
    for (const Tenant& tenant : experiment.tenants) {
      all.push_back(kept_by(experiment, memory, tenant.job));
    }
    return all;
  };
  const std::vector<Kept> kept = all_kept();
  if (!check_sums(experiment, kept, sections)) {
    return;
  }
  for (std::size_t number = 0; number < kept.size(); ++number) {
    if (!experiment.tenants[number].job.serving) {
      take(machine, kept[number], memory);
    }
  }
  for (std::size_t number = 0; number < kept.size(); ++number) {
    if (Job& job = experiment.tenants[number].job; job.serving) {
      fit_caches(machine, memory, *job.serving, sections[number].section("workload"));
    }
  }
  check_sums(experiment, all_kept(), sections);
}

void place_operands(Experiment& experiment) {
  std::uint32_t operations = 0;
  for (Tenant& tenant : experiment.tenants) {
    tenant.job.plan.first_operation = operations;
    operations += static_cast<std::uint32_t>(tenant.job.plan.operations.size());
  }
  std::uint64_t begin = end_of_programs(experiment);
  for (Tenant& tenant : experiment.tenants) {
    if (executor::ChipWork* const chip = tenant.job.chip.get()) {
      chip->first_address = begin;
      begin = next_begin(begin + npu::bytes_of_operands(operators_of(*chip)));
    }
    if (executor::ServingWork* const serving = tenant.job.serving.get()) {
      serving->first_address = begin;
      begin = next_begin(begin + executor::bytes_of_operands(*serving));
    }
  }
}

}  // namespace tessera::sim
