#include "chip_outlook.hpp"

#include <algorithm>
#include <utility>

namespace tessera::executor {

ChipOutlook::ChipOutlook(const ChipSetup& setup, std::span<const std::uint32_t> core_of)
    : WatchedOutlook(setup.outlook, setup.members, setup.machine.topology->nodes()), setup_(setup) {
  for (std::uint32_t index = 0; index < core_of.size(); ++index) {
    if (core_of[index] != no_core) {
      watch_core(index, core_of[index]);
    }
  }
}

void ChipOutlook::watch_core(std::uint32_t index, std::uint32_t core) {
  const std::vector<EntityId>& cores = setup_.work.cores;
  Ways ways;
  add_exit(ways.heard, cores[core], cores.front());
  if (setup_.outlook.computing_accesses && setup_.outlook.computing_accesses(cores[core])) {
    const EntityId memory = setup_.outlook.memory_node(cores[core]);
    add_exit(ways.memory, cores[core], memory);
    if (memory.valid() && setup_.outlook.regions->is_here(memory)) {
      add_exit(ways.memory, memory, cores[core]);  // a reply that leaves and comes back
    }
  }
  if (core == 0) {
    for (const EntityId other : cores) {
      add_exit(ways.told, cores.front(), other);
    }
  }
  if (!ways.heard.empty() || !ways.memory.empty() || !ways.told.empty()) {
    watch(index);
    ways_.push_back(std::move(ways));
  }
}

void ChipOutlook::add_all(const Regions& regions, const Resumption& resumption) {
  for (const auto& [region, latency] : regions) {
    add(region, resumption, latency);
  }
}

void ChipOutlook::stand_in_share(std::uint32_t index, std::uint32_t number, SimTime begun) {
  const Ways& ways = ways_[telling()];
  if (!ways.heard.empty()) {
    add_all(ways.heard, {Resumption::Kind::at, least_end(index, number, begun)});
  }
}

// A share may be over as soon as it begins, for what is known here of one that is still to come.
void ChipOutlook::stand_idle(std::uint32_t index) {
  const EntityId first = setup_.work.cores.front();
  const SimTime coming =
      earliest_under_way(index, [&](const UnderWay& message) { return message.source == first; });
  const Resumption not_yet = not_sent_yet(index, first, setup_.work.message);
  const Ways& ways = ways_[telling()];
  for (const Regions* const regions : {&ways.heard, &ways.memory}) {
    add_all(*regions, not_yet);
    if (!coming.is_never()) {
      add_all(*regions, {Resumption::Kind::at, coming});
    }
  }
}

void ChipOutlook::stand_first(const Resumption& resumption) {
  add_all(ways_[telling()].told, resumption);
}

SimTime ChipOutlook::least_end(std::uint32_t index, std::uint32_t number, SimTime begun) const {
  return begun + setup_.outlook.least_duration(member(index), number);
}

SimTime ChipOutlook::heard_of(std::uint32_t first_core, std::uint32_t number) const {
  SimTime latest;
  visit_under_way(first_core, [&](const UnderWay& message) {
    if (message.source.valid() && message.word == number) {
      latest = std::max(latest, message.earliest);
    }
  });
  return latest;
}

std::uint32_t ChipOutlook::coming_from_others(std::uint32_t first_core,
                                              std::uint32_t number) const {
  std::uint32_t coming = 0;
  visit_under_way(first_core, [&](const UnderWay& message) {
    coming += message.source.valid() && message.word == number &&
                      !setup_.outlook.regions->is_here(message.source)
                  ? 1
                  : 0;
  });
  return coming;
}

// What is said of a core holds until something happens at it.
void ChipOutlook::tell(std::uint32_t index) {
  stay_exact();
  teller_->tell(index, *this);
}

pdes::Outlook ChipOutlook::outlook(std::uint32_t rank, const pdes::Moment& moment, Teller& teller) {
  teller_ = &teller;
  return outlook_of(rank, moment);
}

}  // namespace tessera::executor
