#include "served_memory.hpp"

#include <algorithm>
#include <set>

#include "tessera/core/wide.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using executor::ServedTenant;
using executor::ServingWork;

std::set<std::uint32_t> channels_of(const machine::Machine& machine,
                                    const std::vector<EntityId>& cores) {
  std::set<std::uint32_t> channels;
  for (const EntityId core : cores) {
    channels.insert(machine.channel_of[core.value()]);
  }
  return channels;
}

// Of one of the NPUs that it belongs to; none: not stated.
std::optional<Bytes> share_of(const ServingMemory& memory, std::uint32_t channel) {
  const std::optional<Bytes>& free = memory.free[channel];
  return free ? std::optional(Bytes(free->count() / memory.npus[channel])) : std::nullopt;
}

// Of an NPU; none: not stated for all of it.
std::optional<Bytes> memory_of(const ServingMemory& memory,
                               const std::set<std::uint32_t>& channels) {
  Bytes sum;
  for (const std::uint32_t channel : channels) {
    const std::optional<Bytes> share = share_of(memory, channel);
    if (!share) {
      return std::nullopt;
    }
    sum += *share;
  }
  return channels.empty() ? std::nullopt : std::optional(sum);
}

bool runs_on(const ServedTenant& tenant, std::uint32_t npu) {
  return std::find(tenant.npus.begin(), tenant.npus.end(), npu) != tenant.npus.end();
}

std::uint64_t bytes_of_block(const ServedTenant& tenant) {
  return tenant.model->cache_of_token().count() * tenant.batching.block;
}

// What is left of an NPU's memory beside all weights, shared out evenly to its language models.
std::optional<Bytes> room_for_cache(const machine::Machine& machine, const ServingMemory& memory,
                                    const ServingWork& work, const ServedTenant& tenant,
                                    Section& section) {
  std::optional<Bytes> least;
  for (const std::uint32_t npu : tenant.npus) {
    const std::optional<Bytes> own = memory_of(memory, channels_of(machine, work.npus[npu]));
    if (!own) {
      return std::nullopt;
    }
    Bytes weights;
    std::uint64_t models = 0;
    for (const ServedTenant& other : work.tenants) {
      if (runs_on(other, npu)) {
        weights += other.model->weights();
        models += other.of_language ? 1 : 0;
      }
    }
    if (weights > *own) {
      section.error("", "the weights on NPU " + std::to_string(npu) + " take " +
                            std::to_string(weights.count()) + " B, its memory has " +
                            std::to_string(own->count()) + " B");
      return std::nullopt;
    }
    const Bytes room(((*own - weights).count()) / models);
    least = least ? std::min(*least, room) : room;
  }
  return least;
}

}  // namespace

void add_npus(const machine::Machine& machine, const ServingWork& work, ServingMemory& memory) {
  for (const auto& cores : work.npus) {
    for (const std::uint32_t channel :
         machine.channels.empty() ? std::set<std::uint32_t>{} : channels_of(machine, cores)) {
      ++memory.npus[channel];
    }
  }
}

std::vector<Bytes> bytes_in_channels(const machine::Machine& machine, const ServingMemory& memory,
                                     const ServingWork& work) {
  std::vector<Bytes> kept(machine.channels.size());
  for (std::uint32_t npu = 0; !kept.empty() && npu < work.npus.size(); ++npu) {
    Bytes bytes;
    for (const ServedTenant& tenant : work.tenants) {
      if (runs_on(tenant, npu)) {
        bytes += tenant.model->weights() +
                 Bytes(tenant.batching.blocks.value_or(0) * bytes_of_block(tenant));
      }
    }
    // By what it has of each, so that what fits the NPU fits each.
    const std::set<std::uint32_t> channels = channels_of(machine, work.npus[npu]);
    const Bytes all = memory_of(memory, channels).value_or(Bytes());
    for (const std::uint32_t channel : channels) {
      const Wide part = all > Bytes() ? share_of(memory, channel)->count() : 1;
      const Wide whole = all > Bytes() ? all.count() : channels.size();
      kept[channel] +=
          Bytes(static_cast<std::uint64_t>((bytes.count() * part + whole - 1) / whole));
    }
  }
  return kept;
}

void fit_caches(const machine::Machine& machine, const ServingMemory& memory, ServingWork& work,
                Section workload) {
  std::vector<Section> sections = workload.sections("tenants");
  for (std::size_t place = 0; place < work.tenants.size(); ++place) {
    ServedTenant& tenant = work.tenants[place];
    if (!tenant.of_language) {
      continue;
    }
    const bool is_given = tenant.cache.has_value();
    const std::optional<Bytes> room =
        is_given ? tenant.cache : room_for_cache(machine, memory, work, tenant, sections[place]);
    if (!room) {
      continue;
    }
    tenant.batching.blocks = room->count() / bytes_of_block(tenant);
    const serving::Request largest = tenant.requests->largest();
    const std::uint64_t tokens = std::uint64_t{largest.prompt} + largest.generate;
    if (tokens > *tenant.batching.blocks * tenant.batching.block) {
      sections[place].error(
          is_given ? "batching" : "requests",
          "a request of " + std::to_string(tokens) + " tokens does not fit the cache of " +
              std::to_string(room->count()) + " B (" +
              std::to_string(tenant.model->cache_of_token().count()) + " B a token)");
    }
  }
}

}  // namespace tessera::sim
