#include "search/crowded_links.hpp"

#include <algorithm>
#include <utility>

namespace tessera::explore {
namespace {

constexpr std::uint32_t most_looked_at_tiles = 1024;
constexpr std::size_t most_crowded_links = 32;
constexpr std::uint64_t most_collective_steps = 100'000;  // of a collective that are looked at
constexpr std::uint64_t an_access = 1U << 20U;

double ps_per_byte(const machine::Topology& topology, std::uint64_t link) {
  const machine::Link of = topology.link(EntityId(static_cast<std::uint32_t>(link >> 16U)),
                                         static_cast<std::uint32_t>(link & 0xffffU));
  return 1e12 /
         static_cast<double>(topology.link_classes()[of.link_class].bandwidth.bytes_per_second());
}

// Of all that a member sends to each other one, as shares of the vector.
std::vector<std::pair<std::uint32_t, double>> shares_sent(const collective::Algorithm& algorithm,
                                                          collective::Kind kind, std::uint32_t size,
                                                          std::uint32_t member) {
  const Bytes vector(an_access * size);
  std::map<std::uint32_t, double> sends;
  for (std::uint32_t step = 0; step < algorithm.steps(kind, size); ++step) {
    const collective::Step now = algorithm.step(kind, size, member, vector, step);
    if (now.send_to != collective::nobody) {
      sends[now.send_to] +=
          static_cast<double>(now.send_bytes.count()) / static_cast<double>(vector.count());
    }
  }
  return {sends.begin(), sends.end()};
}

}  // namespace

LinkBytes& LinkBytes::operator+=(const LinkBytes& other) {
  for (std::size_t slot = 0; slot < slots; ++slot) {
    of[slot] += other.of[slot];
  }
  return *this;
}

LinkBytes operator-(LinkBytes a, const LinkBytes& b) {
  for (std::size_t slot = 0; slot < LinkBytes::slots; ++slot) {
    a.of[slot] -= b.of[slot];
  }
  return a;
}

LinkBytes operator*(LinkBytes a, double times) {
  for (double& each : a.of) {
    each *= times;
  }
  return a;
}

LinkBytes smaller(const LinkBytes& a, const LinkBytes& b) {
  LinkBytes least;
  for (std::size_t slot = 0; slot < LinkBytes::slots; ++slot) {
    least.of[slot] = std::min(a.of[slot], b.of[slot]);
  }
  return least;
}

CrowdedLinks::CrowdedLinks(const machine::Machine& machine, const machine::Routing& routing,
                           const memory::MemoryModel* memory, const plan::Placement& placement,
                           std::uint32_t stages)
    : machine_(machine), routing_(routing), placement_(placement), stages_(stages) {
  if (memory != nullptr && memory->serves_at_node() && !machine.channels.empty() &&
      stages * placement.stage_tiles() <= most_looked_at_tiles) {
    count_accesses(*memory);
  }
}

CrowdedLinks::Links CrowdedLinks::links_between(EntityId from, EntityId to) const {
  Links links;
  if (from != to) {
    for (const machine::Hop& hop : machine::hops_between(*machine_.topology, routing_, from, to)) {
      links.push_back(link_number(hop));
    }
  }
  return links;
}

void CrowdedLinks::count(EntityId from, EntityId to, std::uint32_t stage, double bytes,
                         Slot& slot) const {
  for (const std::uint64_t link : links_between(from, to)) {
    const auto found = numbers_.find(link);
    if (found != numbers_.end()) {
      slot[stage * ps_per_byte_.size() + found->second] += bytes;
    }
  }
}

// As the memory says which messages an access sends.
void CrowdedLinks::count_accesses(const memory::MemoryModel& memory) {
  struct Load {
    std::uint32_t stage;
    std::size_t slot;
    double share;
    Links links;
  };
  std::vector<Load> loads;
  std::map<std::uint64_t, double> of_links;  // [ps]
  const std::uint32_t place_count = placement_.stage_tiles();
  for (std::uint32_t role = 0; role < stages_ * place_count; ++role) {
    const EntityId tile = placement_.tile(role);
    for (const std::size_t slot : {LinkBytes::reads, LinkBytes::writes}) {
      const bool write = slot == LinkBytes::writes;
      memory.predict_events(
          machine_, tile, Bytes(an_access), write, [](EntityId, std::uint64_t) {},
          [&](EntityId from, EntityId to, Bytes bytes, std::uint64_t count) {
            if (from == to || (write ? from : to) != tile) {
              return;
            }
            const double share = static_cast<double>(bytes.count() * count) / an_access;
            loads.push_back({role / place_count, slot, share, links_between(from, to)});
            for (const std::uint64_t link : loads.back().links) {
              of_links[link] += share * ps_per_byte(*machine_.topology, link);
            }
          });
    }
  }
  std::vector<std::pair<double, std::uint64_t>> busiest;
  for (const auto& [link, load] : of_links) {
    busiest.emplace_back(-load, link);
  }
  std::sort(busiest.begin(), busiest.end());
  busiest.resize(std::min(busiest.size(), most_crowded_links));
  for (const auto& [load, link] : busiest) {
    numbers_.emplace(link, ps_per_byte_.size());
    ps_per_byte_.push_back(ps_per_byte(*machine_.topology, link));
  }
  slots_.assign(LinkBytes::first_collective, Slot(stages_ * ps_per_byte_.size()));
  for (const Load& load : loads) {
    for (const std::uint64_t link : load.links) {
      if (const auto found = numbers_.find(link); found != numbers_.end()) {
        slots_[load.slot][load.stage * ps_per_byte_.size() + found->second] += load.share;
      }
    }
  }
}

std::optional<std::size_t> CrowdedLinks::slot_of(const plan::GroupShape& shape,
                                                 const collective::Algorithm& algorithm,
                                                 collective::Kind kind) {
  const auto [entry, fresh] =
      collectives_.try_emplace({shape.size, shape.stride, &algorithm, kind}, slots_.size());
  if (!fresh) {
    return entry->second < LinkBytes::slots ? std::optional(entry->second) : std::nullopt;
  }
  const std::uint64_t steps = std::uint64_t{algorithm.steps(kind, shape.size)} * shape.size;
  if (slots_.size() == LinkBytes::slots || steps > most_collective_steps) {
    entry->second = LinkBytes::slots;
    return std::nullopt;
  }
  Slot slot(stages_ * ps_per_byte_.size());
  std::vector<std::vector<std::pair<std::uint32_t, double>>> sends;
  for (std::uint32_t member = 0; member < shape.size; ++member) {
    sends.push_back(shares_sent(algorithm, kind, shape.size, member));
  }
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    for (std::uint32_t place = 0; place < placement_.stage_tiles(); ++place) {
      for (const auto& [to, share] : sends[shape.member(place)]) {
        count(tile(stage, place), tile(stage, shape.place_of(to, place)), stage, share, slot);
      }
    }
  }
  slots_.push_back(std::move(slot));
  return entry->second;
}

double CrowdedLinks::busiest(const std::vector<LinkBytes>& of_stages) const {
  const std::size_t links = ps_per_byte_.size();
  double most = 0;
  for (std::size_t link = 0; link < links; ++link) {
    double bytes = 0;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      for (std::size_t stage = 0; stage < stages_; ++stage) {
        bytes += of_stages[stage].of[slot] * slots_[slot][stage * links + link];
      }
    }
    most = std::max(most, bytes * ps_per_byte_[link]);
  }
  return most;
}

}  // namespace tessera::explore
