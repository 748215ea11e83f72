#include "program/program_outlook.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::executor {

using plan::Action;

namespace {

// By place: where a tile waits for the access that it asks for there.
std::vector<std::uint32_t> waits_of(std::span<const plan::Instruction> code) {
  constexpr std::size_t slots = 32;
  constexpr std::uint32_t nowhere = 0xFFFFFFFFU;
  std::vector<std::uint32_t> waits(code.size(), nowhere);
  std::array<std::uint32_t, slots> next;
  next.fill(nowhere);
  for (std::size_t at = code.size(); at-- > 0;) {
    const plan::Instruction& instruction = code[at];
    if (instruction.action == Action::read || instruction.action == Action::write) {
      waits[at] = next[instruction.slot];
    } else if (instruction.action == Action::wait_access) {
      for (std::size_t slot = 0; slot < slots; ++slot) {
        if ((instruction.bytes >> slot & 1) != 0) {
          next[slot] = static_cast<std::uint32_t>(at);
        }
      }
    }
  }
  return waits;
}

}  // namespace

bool ProgramOutlook::Leaving::empty() const {
  return peers[0].empty() && peers[1].empty() && memory.empty() && collectives.empty();
}

ProgramOutlook::ProgramOutlook(const ExecutorSetup& setup, std::span<const std::uint32_t> roles)
    : WatchedOutlook(setup.outlook, setup.members, setup.machine.topology->nodes()),
      setup_(setup),
      plan_(setup.plan),
      sends_(setup.plan) {
  for (const plan::Stage& stage : plan_.stages) {
    work_.push_back(plan::work_of(stage.program));
  }
  for (std::uint32_t index = 0; index < roles.size(); ++index) {
    if (roles[index] != plan::Placement::unused) {
      watch_tile(index, roles[index]);
    }
  }
  for (Class& of : classes_) {
    make_tables(of);
  }
  find_near();
}

void ProgramOutlook::watch_tile(std::uint32_t index, std::uint32_t role) {
  const Leaving leaving = leaving_of(index, role);
  if (leaving.empty()) {
    return;
  }
  watch(index);
  class_of_.push_back(class_of(plan_.placement.role(role).stage, index, leaving));
}

ProgramOutlook::Leaving ProgramOutlook::leaving_of(std::uint32_t index, std::uint32_t number) {
  Leaving leaving;
  const EntityId here = setup_.members[index];
  const plan::Role role = plan_.placement.role(number);
  const plan::StageWork& work = work_[role.stage];
  for (const auto& [key, count] : work.sends) {
    const auto peer = std::get<plan::Peer>(key);
    plan::Role other = role;
    other.stage = plan_.peer_stage(role.stage, peer);
    add_exit(leaving.peers[static_cast<std::size_t>(peer)], here, plan_.placement.tile(other));
  }
  leaving.computing = setup_.outlook.computing_accesses && setup_.outlook.computing_accesses(here);
  if (!work.accesses.empty() || leaving.computing) {
    const EntityId memory = setup_.outlook.memory_node(here);
    add_exit(leaving.memory, here, memory);
    add_exit(leaving.memory, memory, here);  // the reply, too, where ways out and back differ
  }
  for (const auto& [key, count] : work.collectives) {
    const auto group = std::get<plan::Group>(key);
    Regions regions;
    for (const plan::Sent& sent : sends_.of(key)[plan_.member_of(group, number)]) {
      add_exit(regions, here, plan_.placement.tile(plan_.role_of(group, sent.to, number)));
    }
    if (!regions.empty()) {
      leaving.collectives[{group, std::get<collective::Kind>(key)}].merge(regions);
    }
  }
  return leaving;
}

// Whether operations take the same time on both.
bool ProgramOutlook::are_alike(std::uint32_t a, std::uint32_t b) const {
  const machine::Machine& machine = setup_.machine;
  const EntityId one = setup_.members[a];
  const EntityId other = setup_.members[b];
  const auto slow = [&](EntityId node) { return machine.speeds.contains(node); };
  return &machine.tile_of(one) == &machine.tile_of(other) && !slow(one) && !slow(other);
}

// Of those so far, the one whose tiles send out to the same regions by the same instructions.
std::uint32_t ProgramOutlook::class_of(std::uint32_t stage, std::uint32_t index,
                                       const Leaving& leaving) {
  const auto alike = [](const Regions& a, const Regions& b) {
    return std::ranges::equal(a, b,
                              [](const auto& x, const auto& y) { return x.first == y.first; });
  };
  const auto same = [&](const Class& of) {
    return of.stage == stage && are_alike(of.example, index) &&
           alike(of.leaving.peers[0], leaving.peers[0]) &&
           alike(of.leaving.peers[1], leaving.peers[1]) &&
           alike(of.leaving.memory, leaving.memory) &&
           std::ranges::equal(of.leaving.collectives, leaving.collectives,
                              [&](const auto& a, const auto& b) {
                                return a.first == b.first && alike(a.second, b.second);
                              });
  };
  const auto least = [](Regions& a, const Regions& b) {
    for (const auto& [region, latency] : b) {
      a[region] = std::min(a[region], latency);
    }
  };
  // Tiles come stage by stage, mostly: the last ones first.
  const auto found = std::find_if(classes_.rbegin(), classes_.rend(), same);
  if (found == classes_.rend()) {
    Class& fresh = classes_.emplace_back();
    fresh.stage = stage;
    fresh.leaving = leaving;
    fresh.example = index;
    return static_cast<std::uint32_t>(classes_.size() - 1);
  }
  least(found->leaving.peers[0], leaving.peers[0]);
  least(found->leaving.peers[1], leaving.peers[1]);
  least(found->leaving.memory, leaving.memory);
  for (auto& [collective, regions] : found->leaving.collectives) {
    least(regions, leaving.collectives.at(collective));
  }
  return static_cast<std::uint32_t>(classes_.rend() - found - 1);
}

SimTime ProgramOutlook::least_duration(std::uint32_t index, std::uint32_t operation) const {
  return setup_.outlook.least_duration(setup_.members[index], operation);
}

SimTime ProgramOutlook::cost(const Class& of, const Instruction& instruction) const {
  switch (instruction.action) {
    case Action::execute:
      return least_duration(of.example, instruction.operation);
    case Action::elapse:
      return SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
    default:
      return SimTime::zero();
  }
}

const ProgramOutlook::Regions* ProgramOutlook::exits(const Leaving& leaving,
                                                     const Instruction& instruction) {
  switch (instruction.action) {
    case Action::execute:
      return leaving.computing ? &leaving.memory : nullptr;
    case Action::send:
      return &leaving.peers[static_cast<std::size_t>(instruction.peer)];
    case Action::read:
    case Action::write:
      return &leaving.memory;
    case Action::collective:
    case Action::start_collective: {
      const auto found = leaving.collectives.find({instruction.group, instruction.collective});
      return found == leaving.collectives.end() ? nullptr : &found->second;
    }
    default:
      return nullptr;
  }
}

SimTime ProgramOutlook::latency_to(const Regions* regions, std::uint32_t region) {
  if (regions == nullptr) {
    return SimTime::never();
  }
  const auto found = regions->find(region);
  return found == regions->end() ? SimTime::never() : found->second;
}

std::vector<SimTime> ProgramOutlook::times_to_end(const Class& of,
                                                  std::span<const Instruction> code,
                                                  const Waits& waits) const {
  std::vector<SimTime> times(code.size() + 1, SimTime::zero());
  for (std::size_t at = code.size(); at-- > 0;) {
    times[at] = cost(of, code[at]) + times[at + 1];
    if (waits[at] != none) {
      times[at] = std::max(
          times[at], setup_.outlook.least_access(Bytes(code[at].bytes)) + times[waits[at] + 1]);
    }
  }
  return times;
}

// What lies behind the wait for an access comes no sooner than the access takes; what lies before
// it is not held up.
std::vector<SimTime> ProgramOutlook::times_to_exit(const Class& of,
                                                   std::span<const Instruction> code,
                                                   const Waits& waits, std::uint32_t region) const {
  std::vector<SimTime> times(code.size() + 1, SimTime::never());
  for (std::size_t at = code.size(); at-- > 0;) {
    SimTime further = cost(of, code[at]) + times[at + 1];
    if (waits[at] != none) {
      SimTime behind = setup_.outlook.least_access(Bytes(code[at].bytes)) + times[waits[at] + 1];
      SimTime passed;
      for (std::size_t before = at + 1; before < waits[at] && passed < behind; ++before) {
        behind = std::min(behind, passed + latency_to(exits(of.leaving, code[before]), region));
        passed += cost(of, code[before]);
      }
      further = std::max(further, behind);
    }
    times[at] = std::min(latency_to(exits(of.leaving, code[at]), region), further);
  }
  return times;
}

void ProgramOutlook::make_tables(Class& of) {
  const plan::Program& program = plan_.stages[of.stage].program;
  for (const Regions* regions :
       {of.leaving.peers.data(), &of.leaving.peers[1], &of.leaving.memory}) {
    for (const auto& [region, latency] : *regions) {
      of.tables[region].beside = SimTime::never();
    }
  }
  for (const auto& [collective, regions] : of.leaving.collectives) {
    for (const auto& [region, latency] : regions) {
      of.tables[region].beside = SimTime::never();
    }
  }
  std::vector<Waits> waits;
  for (const auto& code : program.pieces) {
    waits.push_back(waits_of(code));
    of.to_end.push_back(times_to_end(of, code, waits.back()));
  }
  for (auto& [region, table] : of.tables) {
    for (std::size_t piece = 0; piece < program.pieces.size(); ++piece) {
      table.in_piece.push_back(times_to_exit(of, program.pieces[piece], waits[piece], region));
    }
    const std::size_t entries = program.schedule.size();
    table.from_entry.assign(entries + 1, SimTime::never());
    // The second time round, what follows the last entry is the first one again.
    for (int round = 0; round < (setup_.iterations > 1 ? 2 : 1); ++round) {
      table.from_entry[entries] = round == 0 ? SimTime::never() : table.from_entry[0];
      for (std::size_t entry = entries; entry-- > 0;) {
        const std::uint32_t piece = program.schedule[entry].piece;
        table.from_entry[entry] =
            std::min(table.in_piece[piece][0], of.to_end[piece][0] + table.from_entry[entry + 1]);
      }
    }
  }
}

SimTime ProgramOutlook::time_to_exit(const Class& of, const Table& table, std::uint32_t entry,
                                     std::uint32_t instruction) const {
  const std::uint32_t piece = plan_.stages[of.stage].program.schedule[entry].piece;
  return std::min(table.in_piece[piece][instruction],
                  of.to_end[piece][instruction] + table.from_entry[entry + 1]);
}

// In each entry all from the first near place on counts as near.
void ProgramOutlook::find_near() {
  SimTime longest;
  for (const Class& of : classes_) {
    for (const auto& [region, table] : of.tables) {
      for (const SimTime time : table.from_entry) {
        longest = time.is_never() ? longest : std::max(longest, time);
      }
    }
  }
  set_horizon(SimTime::from_ps(longest.ps() / horizon_part));
  const auto first_near = [this](const std::vector<SimTime>& times, SimTime further) {
    const auto is_near = [&](SimTime time) { return time + further <= horizon(); };
    return static_cast<std::uint32_t>(std::ranges::find_if(times, is_near) - times.begin());
  };
  for (const plan::Stage& stage : plan_.stages) {
    near_from_.emplace_back(stage.program.schedule.size(), none);
  }
  for (const Class& of : classes_) {
    const std::vector<plan::ScheduleEntry>& schedule = plan_.stages[of.stage].program.schedule;
    for (const auto& [region, table] : of.tables) {
      std::vector<std::uint32_t> in_piece;
      for (const std::vector<SimTime>& times : table.in_piece) {
        in_piece.push_back(first_near(times, SimTime::zero()));
      }
      for (std::size_t entry = 0; entry < schedule.size(); ++entry) {
        const std::uint32_t piece = schedule[entry].piece;
        std::uint32_t& near = near_from_[of.stage][entry];
        near = std::min(near, in_piece[piece]);
        if (table.from_entry[entry + 1] <= horizon()) {
          near = std::min(near, first_near(of.to_end[piece], table.from_entry[entry + 1]));
        }
      }
    }
  }
}

SimTime ProgramOutlook::from(const Class& of, const Table& table, const Stand& stand) const {
  const plan::Program& program = plan_.stages[of.stage].program;
  const bool is_last = stand.last && stand.entry + 1 == program.schedule.size();
  return is_last ? table.in_piece[program.schedule[stand.entry].piece][stand.instruction]
                 : time_to_exit(of, table, stand.entry, stand.instruction);
}

Resumption ProgramOutlook::message(std::uint32_t index, EntityId source, std::uint16_t tag,
                                   Bytes bytes) const {
  const SimTime earliest = earliest_under_way(index, [&](const UnderWay& message) {
    return message.source == source && message.tag == tag;
  });
  return earliest.is_never() ? not_sent_yet(index, source, bytes)
                             : Resumption{Resumption::Kind::at, earliest};
}

// Known of tiles that were watched exactly when they asked.
void ProgramOutlook::begin_access(std::uint32_t index, std::uint16_t slot, Bytes bytes,
                                  SimTime now) {
  if (is_watched_exactly(index)) {
    expect(member(index),
           {EntityId::none(), slot, asked_for, now + setup_.outlook.least_access(bytes)});
  }
}

void ProgramOutlook::follow_access(EntityId target, std::uint16_t slot, SimTime earliest) {
  if (is_expecting(target)) {
    follow(target, {EntityId::none(), slot, asked_for, earliest});
  }
}

void ProgramOutlook::end_access(std::uint32_t index, std::uint16_t slot) {
  WatchedOutlook::end_access(index, slot);
  arrive(index, EntityId::none(), slot, asked_for);
}

Resumption ProgramOutlook::access(std::uint32_t index, std::uint64_t mask) const {
  bool is_coming = false;
  SimTime earliest;
  visit_under_way(index, [&](const UnderWay& access) {
    if (access.source.valid() || (mask >> access.tag & 1) == 0) {
      return;
    }
    if (access.word == asked_for) {
      earliest = std::max(earliest, access.earliest);
    } else {
      is_coming = true;  // or a request of another tile to a channel here
    }
  });
  const Resumption resumption = WatchedOutlook::access(index, is_coming);
  return resumption.kind == Resumption::Kind::next && earliest > SimTime::zero()
             ? Resumption{Resumption::Kind::at, earliest}
             : resumption;
}

void ProgramOutlook::stand(const Stand& stand) {
  const Class& of = classes_[class_of_[telling()]];
  for (const auto& [region, table] : of.tables) {
    add(region, stand.resumption, from(of, table, stand));
  }
}

void ProgramOutlook::stand_beside(const Resumption& resumption,
                                  std::span<const Instruction* const> queue) {
  const Class& of = classes_[class_of_[telling()]];
  for (const auto& [region, table] : of.tables) {
    SimTime least = SimTime::never();
    for (const Instruction* instruction : queue) {
      least = std::min(least, latency_to(exits(of.leaving, *instruction), region));
    }
    add(region, resumption, least);
  }
}

pdes::Outlook ProgramOutlook::outlook(std::uint32_t rank, const pdes::Moment& moment,
                                      Teller& teller) {
  teller_ = &teller;
  return outlook_of(rank, moment);
}

}  // namespace tessera::executor
