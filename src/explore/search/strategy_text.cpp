#include "search/strategy_text.hpp"

#include <string_view>

#include "search/notes.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/experiment.hpp"
#include "usual_settings.hpp"

namespace tessera::explore {
namespace {

constexpr std::string_view heading = "# A strategy that tessera plan proposed:\n";

}  // namespace

bool begins_as_proposal(std::string_view text) {
  return text.starts_with(heading);
}

const std::vector<std::string>& StrategyText::notes_of(const SearchOutcome& outcome) {
  return outcome.proposals.front().candidate ? notes_ : notes_of_own();
}

std::string StrategyText::best_of(const SearchOutcome& outcome, bool has_ended) {
  if (outcome.proposals.empty()) {
    return "";
  }
  const Proposal& best = outcome.proposals.front();
  const std::string key = best.candidate ? best.candidate->key() : "own";
  if (key != key_) {
    text_ = strategy_of(best, outcome);
    key_ = key;
  }
  return std::string(heading) +
         (has_ended ? "" : "# The search had not ended: " + outcome.how_far() + ".\n") + text_;
}

// With all its defaults, below the heading. Where its roles lie is given when it was looked for.
std::string StrategyText::strategy_of(const Proposal& proposal, const SearchOutcome& outcome) {
  std::vector<std::string> own;
  std::vector<std::string> settings{"run.trace=none", "run.weights=none"};
  std::string name = "the experiment's own, which is the fastest";
  if (proposal.candidate) {
    own = proposal.candidate->settings(outcome.placement);
    settings.insert(settings.end(), own.begin(), own.end());
    settings.emplace_back("strategy.order=[]");
    name = proposal.title() + ", " + proposal.candidate->layout;
  }
  if (!proposal.tiles.empty()) {
    settings.push_back("strategy.placement={layout: given, tiles: " + proposal.tiles + "}");
  }
  const sim::Experiment best =
      sim::read_single_job_experiment(request_.experiment, request_.overrides, settings, load_);
  notes_ = notes_about_others(best.notes, own);
  config::Diagnostics diagnostics;
  const config::Value root = config::parse("resolved", best.resolved, diagnostics);
  diagnostics.throw_if_any();
  return "# " + name + ".\n# For " + outcome.workload + " on " + outcome.machine +
         ": an iteration takes " + to_string(proposal.iteration) +
         (outcome.by_stages() ? ", simulated with one tile for each stage" : "") + ".\n" +
         (proposal.overfills() ? "# " + proposal.message + ".\n" : "") +
         config::to_yaml(root.find("strategy")->value);
}

// Of the experiment as its file has it.
const std::vector<std::string>& StrategyText::notes_of_own() {
  if (!own_notes_) {
    own_notes_ = notes_about_others(
        sim::read_experiment(request_.experiment, alone_and_untraced(request_.overrides), load_)
            .notes,
        {});
  }
  return *own_notes_;
}

}  // namespace tessera::explore
