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
using Collectives = std::set<std::pair<plan::Group, collective::Kind>>;

Collectives collectives_of(const plan::Plan& plan) {
  Collectives found;
  visit_instructions(plan, [&](const plan::Instruction& instruction) {
    if (is_collective(instruction.action)) {
      found.emplace(instruction.group, instruction.collective);
    }
  });
  return found;
}

// Why this algorithm of the key changes nothing; "" where it does, or is the usual one.
std::string why_unused(const plan::Plan& plan, const Collectives& all,
                       const std::unique_ptr<collective::Algorithm>& algorithm,
                       const std::string& name, const std::string& groups) {
  if (name == plan::usual_algorithm) {
    return "";
  }
  bool has_some = false;
  for (const auto& [group, kind] : all) {
    if (&plan.algorithm(group) == algorithm.get()) {
      has_some = true;
      if (!algorithm->is_as_ring(kind)) {
        return "";
      }
    }
  }
  return has_some ? "no effect: " + name + " is as ring for the collectives of " + groups +
                        " groups here"
                  : "no effect on a plan without collectives of " + groups + " groups";
}

void note_unused(const std::string& key, const std::string& why, std::vector<std::string>& notes) {
  if (!why.empty()) {
    notes.push_back("strategy.collectives." + key + " has " + why);
  }
}

}  // namespace

bool has_collectives(const plan::Plan& plan) {
  return !collectives_of(plan).empty();
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
  const Collectives all = collectives_of(plan);
  if (all.empty()) {
    note_unused_collectives_of(*platform.network, "a plan without collectives", notes);
  }
  const plan::Strategy& strategy = plan.strategy;
  const plan::Degrees& degrees = strategy.degrees;
  // Of groups of one it was noted as the strategy was read.
  if (degrees.tensor > 1 || strategy.context > 1 || strategy.expert > 1) {
    note_unused("tensor",
                why_unused(plan, all, plan.tensor_algorithm, strategy.tensor_algorithm,
                           "tensor, context and expert"),
                notes);
  }
  if (degrees.data > 1 || degrees.pipeline > 1) {
    note_unused("data", why_unused(plan, all, plan.data_algorithm, strategy.data_algorithm, "data"),
                notes);
  }
}

}  // namespace tessera::sim
