#include "tessera/plan/issue.hpp"

#include <vector>

namespace tessera::plan {
namespace {

// What a collective takes before its first message stands before it, and is no kernel of its own.
bool is_part_of_next(const std::vector<Instruction>& phase, std::size_t place) {
  if (place + 1 == phase.size()) {
    return false;
  }
  const Instruction& next = phase[place + 1];
  return (next.action == Action::collective || next.action == Action::start_collective) &&
         next.group == phase[place].group;
}

// What is issued before `place`, back to the operation before. Whether there is one.
bool count_back(const std::vector<Instruction>& phase, std::size_t place, std::uint32_t counted,
                workload::Issue& issue) {
  for (; place > 0; --place) {
    switch (phase[place - 1].action) {
      case Action::execute:
        return true;
      case Action::receive:
        issue.waits = true;
        [[fallthrough]];
      case Action::send:
      case Action::collective:
      case Action::start_collective:
      case Action::start_copy:
        issue.others += counted;
        break;
      case Action::elapse:
      case Action::start_elapse:
        issue.others += is_part_of_next(phase, place - 1) ? 0 : counted;
        break;
      case Action::wait_collectives:
      case Action::read:
      case Action::write:
      case Action::wait_access:
      case Action::wait_copies:
        break;
    }
  }
  return false;
}

}  // namespace

workload::Issue issue_of(const Program& program, std::size_t entry, std::size_t place) {
  const auto phase = [&](std::size_t number) -> const std::vector<Instruction>& {
    return program.instructions(program.schedule[number]);
  };
  const HostWait own = phase(entry)[place].host_waits;
  const std::uint32_t counted = own == HostWait::begins ? 0 : 1;
  workload::Issue issue{0, own != HostWait::no};
  if (count_back(phase(entry), place, counted, issue)) {
    return issue;
  }
  issue.begins = true;
  issue.waits = issue.waits || entry == 0;
  while (!issue.waits && entry > 0) {
    --entry;
    if (count_back(phase(entry), phase(entry).size(), counted, issue)) {
      break;
    }
  }
  return issue;
}

}  // namespace tessera::plan
