#include "search/notes.hpp"

#include <algorithm>

namespace tessera::explore {

std::vector<std::string> notes_about_others(const std::vector<std::string>& notes,
                                            const std::vector<std::string>& settings) {
  std::vector<std::string> others;
  for (const std::string& note : notes) {
    const bool is_own = std::ranges::any_of(settings, [&](const std::string& setting) {
      const std::string key = setting.substr(0, setting.find('='));
      return note.starts_with(key + " ") || note.starts_with(key + ".");
    });
    if (!is_own && !note.starts_with("run.")) {
      others.push_back(note);
    }
  }
  return others;
}

void note_overfilled(SearchOutcome& outcome) {
  const Proposal& best = outcome.proposals.front();
  if (best.overfills()) {
    outcome.notes.push_back(best.message);
    return;
  }
  for (const Proposal& proposal : outcome.proposals) {
    if (proposal.overfills() && proposal.iteration < best.iteration) {
      outcome.notes.push_back("faster, but no answer (" + proposal.title() +
                              "): " + proposal.message);
      return;
    }
  }
}

void note_slow_nodes(const machine::Machine& machine, SearchOutcome& outcome) {
  if (!machine.speeds.empty()) {
    outcome.notes.emplace_back(
        "estimates, which choose the candidates to simulate, take all nodes at full speed, and "
        "machine.faults slows some");
  }
}

}  // namespace tessera::explore
