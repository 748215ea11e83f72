#include "serving/served/memory.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "tessera/core/wide.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using executor::ServiceSettings;
using executor::ServingWork;

std::set<std::uint32_t> channels_of(const machine::Machine& machine,
                                    const std::vector<EntityId>& cores) {
  std::set<std::uint32_t> channels;
  if (machine.channels.empty()) {
    return channels;
  }
  for (const EntityId core : cores) {
    channels.insert(machine.channel_of[core.value()]);
  }
  return channels;
}

// Of one of the NPUs that it belongs to; none: not stated.
std::optional<Bytes> share_of(const ServingMemory& memory, std::uint32_t channel) {
  const std::optional<Bytes> free = memory.free(channel);
  return free ? std::optional(Bytes(free->count() / memory.npus(channel))) : std::nullopt;
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

bool runs_on(const ServiceSettings& tenant, std::uint32_t npu) {
  return std::find(tenant.npus.begin(), tenant.npus.end(), npu) != tenant.npus.end();
}

std::uint64_t bytes_of_block(const ServiceSettings& tenant) {
  return tenant.model->cache_block(tenant.batching.block).count();
}

// Where an NPU has something: in its channels, in the SRAM of a tile, or in what is never full.
enum class Place : std::uint8_t { channels, sram, anywhere };

// NPUs of a machine, and what models keep in them.
class Npus {
 public:
  Npus(const machine::Machine& machine, const ServingMemory& memory, const ServingWork& work)
      : machine_(machine), memory_(memory), work_(work) {}

  // Of a tile as of one that runs programs (plan/capacity.hpp): what SRAM does not hold is in DRAM.
  Place of_weights(std::uint32_t npu) const {
    if (!work_.on_tiles || work_.of_cores || tile(npu).operands_in_dram) {
      return Place::channels;
    }
    if (tile(npu).sram == Bytes()) {
      return Place::anywhere;
    }
    const bool fits = machine_.channels.empty() || weights_on(npu) <= tile(npu).sram;
    return fits ? Place::sram : Place::channels;
  }
  // In SRAM beside the weights where all caches have a size and fit, or there is nothing else.
  Place of_caches(std::uint32_t npu) const {
    const Place place = of_weights(npu);
    if (place != Place::sram || machine_.channels.empty()) {
      return place;
    }
    const std::optional<Bytes> caches = caches_on(npu);
    const bool fits = caches && weights_on(npu) + *caches <= tile(npu).sram;
    return fits ? Place::sram : Place::channels;
  }
  // None: not stated for all of it.
  std::optional<Bytes> room(std::uint32_t npu, Place place) const {
    if (place == Place::anywhere) {
      return std::nullopt;
    }
    return place == Place::sram ? tile(npu).sram
                                : memory_of(memory_, channels_of(machine_, work_.npus[npu]));
  }
  Bytes weights_on(std::uint32_t npu) const {
    Bytes sum;
    for (const ServiceSettings& tenant : work_.tenants) {
      sum += runs_on(tenant, npu) ? tenant.model->weights() : Bytes();
    }
    return sum;
  }
  // As asked for; none: some are to take what is left.
  std::optional<Bytes> caches_on(std::uint32_t npu) const {
    Bytes sum;
    for (const ServiceSettings& tenant : work_.tenants) {
      if (runs_on(tenant, npu) && tenant.of_language) {
        if (!tenant.cache) {
          return std::nullopt;
        }
        sum += *tenant.cache;
      }
    }
    return sum;
  }
  std::uint64_t language_models_on(std::uint32_t npu) const {
    return static_cast<std::uint64_t>(std::count_if(
        work_.tenants.begin(), work_.tenants.end(),
        [npu](const auto& tenant) { return runs_on(tenant, npu) && tenant.of_language; }));
  }
  // Whether what is in its channels comes to SRAM while operators work.
  bool streams(std::uint32_t npu, Place place) const {
    return work_.on_tiles && !work_.of_cores && place == Place::channels &&
           !tile(npu).operands_in_dram;
  }

 private:
  const machine::Tile& tile(std::uint32_t npu) const {
    return machine_.tile_of(work_.npus[npu].front());
  }

  const machine::Machine& machine_;
  const ServingMemory& memory_;
  const ServingWork& work_;
};

void complain(Section& section, const char* key, const std::string& what, std::uint32_t npu,
              Bytes bytes, Bytes room) {
  section.error(key, what + " on NPU " + std::to_string(npu) + " take " +
                         std::to_string(bytes.count()) + " B, its memory has " +
                         std::to_string(room.count()) + " B");
}

// What is left of an NPU's memory beside all weights, shared out evenly to its language models.
std::optional<Bytes> room_for_cache(const Npus& npus, const ServiceSettings& tenant,
                                    Section& section) {
  std::optional<Bytes> least;
  for (const std::uint32_t npu : tenant.npus) {
    const Place place = npus.of_caches(npu);
    const std::optional<Bytes> own = npus.room(npu, place);
    if (!own) {
      return std::nullopt;
    }
    const Bytes weights = npus.of_weights(npu) == place ? npus.weights_on(npu) : Bytes();
    if (weights > *own) {
      complain(section, "", "the weights", npu, weights, *own);
      return std::nullopt;
    }
    const Bytes room((*own - weights).count() / npus.language_models_on(npu));
    least = least ? std::min(*least, room) : room;
  }
  return least;
}

// Of tiles: weights beside caches of sizes that were asked for.
void check_given(const Npus& npus, const ServiceSettings& tenant, Section& section) {
  for (const std::uint32_t npu : tenant.npus) {
    const Place place = npus.of_caches(npu);
    const std::optional<Bytes> own = npus.room(npu, place);
    const Bytes weights = npus.of_weights(npu) == place ? npus.weights_on(npu) : Bytes();
    if (own && weights + *tenant.cache > *own) {
      complain(section, "batching", "the weights and the cache", npu, weights + *tenant.cache,
               *own);
      return;
    }
  }
}

// Of a model without a cache, where no language model says so.
void check_weights(const Npus& npus, const ServiceSettings& tenant, Section& section) {
  for (const std::uint32_t npu : tenant.npus) {
    const std::optional<Bytes> own = npus.room(npu, npus.of_weights(npu));
    const Bytes weights = npus.weights_on(npu);
    if (own && weights > *own && npus.language_models_on(npu) == 0) {
      complain(section, "onnx", "the weights", npu, weights, *own);
      return;
    }
  }
}

void note_streams(const Npus& npus, ServiceSettings& tenant) {
  for (const std::uint32_t npu : tenant.npus) {
    tenant.streams_weights = tenant.streams_weights || npus.streams(npu, npus.of_weights(npu));
    tenant.streams_cache =
        tenant.streams_cache || (tenant.of_language && npus.streams(npu, npus.of_caches(npu)));
  }
}

}  // namespace

void add_npus(const machine::Machine& machine, const ServingWork& work, ServingMemory& memory) {
  for (const auto& cores : work.npus) {
    for (const std::uint32_t channel : channels_of(machine, cores)) {
      memory.add_npu(channel);
    }
  }
}

plan::BytesByChannel bytes_in_channels(const machine::Machine& machine, const ServingMemory& memory,
                                       const ServingWork& work) {
  plan::BytesByChannel kept;
  const Npus npus(machine, memory, work);
  for (std::uint32_t npu = 0; !machine.channels.empty() && npu < work.npus.size(); ++npu) {
    Bytes bytes;
    for (const ServiceSettings& tenant : work.tenants) {
      if (runs_on(tenant, npu) && npus.of_weights(npu) == Place::channels) {
        bytes += tenant.model->weights();
      }
      if (runs_on(tenant, npu) && npus.of_caches(npu) == Place::channels) {
        bytes += Bytes(tenant.batching.blocks.value_or(0) * bytes_of_block(tenant));
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

void tell_of_whole_blocks(Section& section, std::string_view key, Bytes room, std::uint64_t block) {
  constexpr std::uint64_t much = 100;  // a hundredth of the room
  const std::uint64_t left = room.count() % block;
  if (left > room.count() / much && left < room.count()) {
    section.tell(section.path() + "." + std::string(key) + ": " +
                 std::to_string(room.count() / block) + " blocks of " + std::to_string(block) +
                 " B fit, and " + std::to_string(left) + " B stay free");
  }
}

void fit_caches(const machine::Machine& machine, const ServingMemory& memory, bool has_idle_time,
                ServingWork& work, Section workload) {
  std::vector<Section> sections = workload.sections("tenants");
  const Npus npus(machine, memory, work);
  for (ServiceSettings& tenant : work.tenants) {
    note_streams(npus, tenant);
    if (work.whole_steps && tenant.streams() && !has_idle_time) {
      workload.error(
          "steps",
          "operands of tenant " + tenant.name +
              " stream from memory whose model (machine.memory.model) has no time of an access by "
              "itself, as 'channel' and 'bandwidth' have; steps must be walked, or operands be in "
              "DRAM as of a GPU (machine.tile.operands: dram)");
    }
    if (!tenant.of_language) {
      check_weights(npus, tenant, sections[tenant.section]);
      continue;
    }
    const bool is_given = tenant.cache.has_value();
    const std::optional<Bytes> room =
        is_given ? tenant.cache : room_for_cache(npus, tenant, sections[tenant.section]);
    if (is_given && work.on_tiles) {
      check_given(npus, tenant, sections[tenant.section]);
    }
    if (!room) {
      continue;
    }
    tenant.batching.blocks = room->count() / bytes_of_block(tenant);
    if (is_given && &tenant == &work.tenants[tenant.lead]) {
      Section batching = sections[tenant.section].section("batching");
      tell_of_whole_blocks(batching, "cache", *room, bytes_of_block(tenant));
    }
    const serving::Request largest = tenant.requests->largest();
    const std::uint64_t tokens = std::uint64_t{largest.prompt} + largest.generate;
    const std::optional<std::uint32_t> piece = tenant.requests->shares_beginnings()
                                                   ? std::optional(tenant.requests->piece_tokens())
                                                   : std::nullopt;
    // The last token is given, and goes in again only where drafts are tried on it.
    const std::uint64_t held = tokens - (tenant.batching.drafts == 0 ? 1 : 0);
    const std::uint64_t blocks = serving::most_blocks_of(tenant.batching, held, piece);
    if (blocks > *tenant.batching.blocks / tenant.batching.units) {
      const std::string each =
          tenant.batching.units > 1
              ? "it may hold " +
                    std::to_string(blocks * bytes_of_block(tenant) * tenant.batching.units) +
                    " B at a time, all on one of " + std::to_string(tenant.batching.units) + " NPUs"
          : tenant.batching.layout.is_plain()
              ? std::to_string(tenant.model->cache_of_token().count()) + " B a token"
              : "it may hold " + std::to_string(blocks * bytes_of_block(tenant)) + " B at a time";
      sections[tenant.section].error(is_given ? "batching" : "requests",
                                     "a request of " + std::to_string(tokens) +
                                         " tokens does not fit the cache of " +
                                         std::to_string(room->count()) + " B (" + each + ")");
    }
  }
}

}  // namespace tessera::sim
