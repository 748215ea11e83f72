#include "programs/library_use.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "notes/library_note.hpp"
#include "tessera/core/text.hpp"
#include "tessera/network/network.hpp"
#include "tessera/network/sharing.hpp"

namespace tessera::sim {
namespace {

bool is_collective(plan::Action action) {
  return action == plan::Action::collective || action == plan::Action::start_collective ||
         action == plan::Action::elapse || action == plan::Action::start_elapse;
}

template <class Visit>
void visit_instructions(const plan::Plan& plan, const Visit& visit) {
  for (const plan::Stage& stage : plan.stages) {
    for (const std::vector<plan::Instruction>& piece : stage.program.pieces) {
      std::ranges::for_each(piece, visit);
    }
  }
}

// Whose collectives there are, simulated or as times.
std::set<plan::Group> groups_of_collectives(const plan::Plan& plan) {
  std::set<plan::Group> groups;
  visit_instructions(plan, [&](const plan::Instruction& instruction) {
    if (is_collective(instruction.action)) {
      groups.insert(instruction.group);
    }
  });
  return groups;
}

}  // namespace

bool has_collectives(const plan::Plan& plan) {
  return !groups_of_collectives(plan).empty();
}

bool overlaps_collectives(const plan::Plan& plan) {
  bool some = false;
  visit_instructions(plan, [&](const plan::Instruction& instruction) {
    some |= instruction.action == plan::Action::start_collective ||
            instruction.action == plan::Action::start_elapse;
  });
  return some;
}

void note_library_use(const Platform& platform, const plan::Plan& plan,
                      std::vector<std::string>& notes) {
  if (!platform.network->overheads().library.is_named() ||
      network::sharing_of(*platform.network) == plan::Sharing::nothing) {
    return;
  }
  auto others = plan.library_use.others;
  visit_instructions(plan, [&](const plan::Instruction& instruction) {
    if (instruction.action == plan::Action::collective ||
        instruction.action == plan::Action::start_collective) {
      others.emplace(instruction.group, instruction.collective);
    }
  });
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
      "(strategy.aggregation, strategy.collectives)" +
      (plan.library_use.has_some ? "" : unused_with_library(*platform.network)));
}

void note_unused_collectives(const Platform& platform, const plan::Plan& plan,
                             std::vector<std::string>& notes) {
  const std::set<plan::Group> groups = groups_of_collectives(plan);
  if (groups.empty()) {
    note_unused_collectives_of(*platform.network, "a plan without collectives", notes);
  }
  const plan::Strategy& strategy = plan.strategy;
  const plan::Degrees& degrees = strategy.degrees;
  const auto has_of = [&](const std::unique_ptr<collective::Algorithm>& algorithm) {
    return std::ranges::any_of(
        groups, [&](plan::Group group) { return &plan.algorithm(group) == algorithm.get(); });
  };
  // Of groups of one it was noted as the strategy was read.
  if (strategy.tensor_algorithm != plan::usual_algorithm && !has_of(plan.tensor_algorithm) &&
      (degrees.tensor > 1 || strategy.context > 1 || strategy.expert > 1)) {
    notes.emplace_back(
        "strategy.collectives.tensor has no effect on a plan without collectives of tensor, "
        "context and expert groups");
  }
  if (strategy.data_algorithm != plan::usual_algorithm && !has_of(plan.data_algorithm) &&
      (degrees.data > 1 || degrees.pipeline > 1)) {
    notes.emplace_back(
        "strategy.collectives.data has no effect on a plan without collectives of data groups");
  }
}

}  // namespace tessera::sim
