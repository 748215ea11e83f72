#include "tessera/plan/issue.hpp"

namespace tessera::plan {

workload::Issue issue_of(std::span<const Instruction> phase, std::size_t place, bool first) {
  const HostWait own = phase[place].host_waits;
  const std::uint32_t counted = own == HostWait::begins ? 0 : 1;
  workload::Issue issue{0, own != HostWait::no};
  for (; place > 0; --place) {
    switch (phase[place - 1].action) {
      case Action::execute:
        return issue;
      case Action::receive:
        issue.waits = true;
        [[fallthrough]];
      case Action::send:
      case Action::collective:
      case Action::start_collective:
      case Action::elapse:
      case Action::start_elapse:
      case Action::start_copy:
        issue.others += counted;
        break;
      case Action::wait_collectives:
      case Action::read:
      case Action::write:
      case Action::wait_access:
      case Action::wait_copies:
        break;
    }
  }
  issue.begins = true;
  issue.waits = issue.waits || first;
  return issue;
}

}  // namespace tessera::plan
