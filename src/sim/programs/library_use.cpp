#include "programs/library_use.hpp"

#include "tessera/core/text.hpp"
#include "tessera/network/network.hpp"
#include "tessera/network/sharing.hpp"

namespace tessera::sim {

void note_library_use(const Platform& platform, const plan::Plan& plan,
                      std::vector<std::string>& notes) {
  if (!platform.network->overheads().library.is_named() ||
      network::sharing_of(*platform.network) == plan::Sharing::nothing) {
    return;
  }
  auto others = plan.library_use.others;
  for (const plan::Stage& stage : plan.stages) {
    for (const std::vector<plan::Instruction>& piece : stage.program.pieces) {
      for (const plan::Instruction& instruction : piece) {
        if (instruction.action == plan::Action::collective ||
            instruction.action == plan::Action::start_collective) {
          others.emplace(instruction.group, instruction.collective);
        }
      }
    }
  }
  if (others.empty()) {
    return;
  }
  std::vector<std::string> names;
  for (const auto& [group, kind] : others) {
    names.push_back(to_string(kind) + " (" + to_string(group) + ")");
  }
  notes.push_back(
      "machine.network.library has no effect on " +
      (plan.library_use.has_some ? join(names) : "collectives of this plan: " + join(names)) +
      ": it applies only to rings whose messages are not simulated "
      "(strategy.aggregation, strategy.collectives)");
}

}  // namespace tessera::sim
