#include "serving/served/tiers.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "jobs/npu_memories.hpp"
#include "serving/served/memory.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using executor::ServiceSettings;
using executor::ServingWork;

struct TierKeys {
  config::RequiredKey<Bytes> capacity{
      "batching.tier.capacity",
      "capacity for each NPU's keys and values in the memory behind its own: "
      "machine.remote_memory, else nodes of kind memory, else machine.host",
      config::at_least(Bytes(1))};
  config::Key<bool> swap{"batching.tier.swap", serving::TierOptions{}.swaps,
                         "caches of preempted requests are stored there and fetched again "
                         "instead of being recomputed, as long as there is room"};
  config::Key<bool> prefixes{"batching.tier.prefixes", serving::TierOptions{}.prefixes,
                             "prefixes of prompts for which the cache has no room are stored "
                             "there, and fetched for prompts that begin with them"};
};

const TierKeys& tier_keys() {
  static const TierKeys keys;
  return keys;
}

// [npus] the memory of each that is a node; empty: it is the machine's remote memory, or that of
// hosts, or there is none.
std::vector<EntityId> memories_of(const Platform& platform, const ServingWork& work) {
  if (platform.remote_memory) {
    return {};
  }
  std::vector<EntityId> tiles;
  for (const std::vector<EntityId>& npu : work.npus) {
    tiles.push_back(npu.front());
  }
  return remote_memories_of(platform.machine, tiles);
}

void settle_blocks(ServiceSettings& tenant, Section& section, bool complains) {
  const std::uint64_t block = tenant.model->cache_block(tenant.batching.block).count();
  tenant.batching.tier->blocks = tenant.tier->capacity.count() / block;
  const bool is_given = tenant.tier->capacity > Bytes();  // else that has been complained about
  if (complains && is_given && tenant.batching.tier->blocks == 0) {
    section.section("batching")
        .section("tier")
        .error("capacity", "a block of the cache takes " + std::to_string(block) + " B");
  } else if (complains && is_given) {
    Section tier = section.section("batching").section("tier");
    tell_of_whole_blocks(tier, "capacity", tenant.tier->capacity, block);
  }
}

// Beginnings of several kinds of layers that are told by blocks are several things in the cache.
void refuse_kinds(const ServiceSettings& tenant, Section& section) {
  if (!tenant.batching.layout.is_plain() && tenant.batching.tier->prefixes &&
      tenant.requests->piece_tokens() > 0) {
    section.section("batching")
        .section("tier")
        .error("prefixes",
               "blocks that prompts have in common are not stored of models with windows or "
               "state-space layers ('prefixes: false')");
  }
}

void check_hosts(const machine::Machine& machine, const ServingWork& work, Section& workload) {
  const std::vector<std::uint32_t> host_of = machine::hosts_of(machine);
  std::map<std::uint32_t, Bytes> kept;
  for (const ServiceSettings& tenant : work.tenants) {
    for (const std::uint32_t npu : tenant.npus) {
      kept[host_of[work.npus[npu].front().value()]] +=
          tenant.tier ? tenant.tier->capacity : Bytes();
    }
  }
  for (const auto& [host, bytes] : kept) {
    if (machine.host.memory > Bytes() && bytes > machine.host.memory) {
      workload.error("tenants", "tiers of caches take " + std::to_string(bytes.count()) +
                                    " B at host " + std::to_string(host) + ", which has " +
                                    std::to_string(machine.host.memory.count()) +
                                    " B (machine.host.memory)");
      return;
    }
  }
}

void check_capacities(const Platform& platform, const ServingWork& work, Section& workload) {
  const Job::BytesByNode kept = kept_in_tiers(work);
  for (const machine::MemoryNode& memory : platform.machine.topology->memory_nodes()) {
    const auto found = kept.find(memory.node);
    if (memory.capacity > Bytes() && found != kept.end() && found->second > memory.capacity) {
      workload.error("tenants", "tiers of caches take " + std::to_string(found->second.count()) +
                                    " B at " + platform.machine.topology->node_name(memory.node) +
                                    ", which has " + std::to_string(memory.capacity.count()) +
                                    " B");
    }
  }
}

}  // namespace

std::vector<ParameterInfo> tier_parameters() {
  const TierKeys& keys = tier_keys();
  return {keys.capacity, keys.swap, keys.prefixes};
}

void read_tier(Section batching, const ServingWork& work, ServiceSettings& tenant) {
  if (!batching.has("tier")) {
    return;
  }
  Section tier = batching.section("tier");
  const TierKeys& keys = tier_keys();
  tenant.tier = executor::ServedTier{keys.capacity.read(tier)};
  tenant.batching.tier = serving::TierOptions{0, keys.swap.read(tier), keys.prefixes.read(tier)};
  if (!tenant.batching.tier->swaps && !tenant.batching.tier->prefixes) {
    config::note_without_effect(batching, "tier", "swap: false and prefixes: false");
  }
  if (!work.on_tiles) {
    batching.error(
        "tier",
        "is of language models on tiles of other compute models than npu, and on NPU cores "
        "with 'steps: whole'");
  }
}

namespace {

bool is_behind(const ServiceSettings& tenant, const ServingWork& work) {
  return work.on_tiles && (tenant.tier || tenant.batching.adapter_slots > 0);
}

}  // namespace

bool has_memory_behind(const ServingWork& work) {
  return std::any_of(work.tenants.begin(), work.tenants.end(),
                     [&](const ServiceSettings& tenant) { return is_behind(tenant, work); });
}

bool settle_tiers(const Platform& platform, ServingWork& work, Section workload) {
  std::vector<Section> sections = workload.sections("tenants");
  const std::vector<EntityId> memories = memories_of(platform, work);
  const bool is_host =
      memories.empty() && !platform.remote_memory && platform.machine.host.is_there();
  const bool is_there = is_host || !memories.empty() || platform.remote_memory;
  for (std::uint32_t number = 0; number < work.tenants.size(); ++number) {
    ServiceSettings& tenant = work.tenants[number];
    if (!is_behind(tenant, work)) {
      continue;
    }
    for (std::size_t unit = 0; !memories.empty() && unit < tenant.npus.size(); ++unit) {
      tenant.behind.push_back(memories[tenant.npus[unit]]);
    }
    tenant.batching.adapters_stay = !is_there && tenant.batching.adapter_slots >= tenant.adapters;
    Section& section = sections[tenant.section];
    const bool complains = tenant.lead == number;  // else the first replica has
    if (complains && !is_there && (tenant.tier || !tenant.batching.adapters_stay)) {
      Section at = tenant.tier ? section.section("batching") : section;
      at.error(tenant.tier ? "tier" : "adapters",
               "the machine has no memory behind all of its NPUs (machine.remote_memory, nodes of "
               "kind memory, or machine.host)");
    }
    if (tenant.tier) {
      settle_blocks(tenant, section, complains);
    }
    if (tenant.tier && complains) {
      refuse_kinds(tenant, section);
    }
  }
  const bool uses_host = is_host && has_memory_behind(work);
  if (uses_host) {
    check_hosts(platform.machine, work, workload);
  }
  check_capacities(platform, work, workload);
  return uses_host;
}

Job::BytesByNode kept_in_tiers(const ServingWork& work) {
  Job::BytesByNode kept;
  for (const ServiceSettings& tenant : work.tenants) {
    for (std::size_t unit = 0; tenant.tier && unit < tenant.behind.size(); ++unit) {
      kept[tenant.behind[unit]] += tenant.tier->capacity;
    }
  }
  return kept;
}

}  // namespace tessera::sim
