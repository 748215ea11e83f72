#include "search/ledger.hpp"

#include <algorithm>
#include <utility>

#include "search/proposal_line.hpp"
#include "sweep/line_fields.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::explore {
namespace {

constexpr std::size_t most_rows = 1000;  // of candidates that were not simulated

trace::JsonText question_of(const SearchRequest& request) {
  trace::JsonText json = question_about(request.experiment, request.overrides);
  json.put("devices", request.devices)
      .put("top", request.simulated)
      .put("full", request.full)
      .put("all", request.all)
      .put("keep", json_list(request.kept));
  return json;
}

// Keys in the order of varied_keys().
std::string csv_row(const Candidate& candidate, const std::string& status, const std::string& bound,
                    const std::string& estimate, const std::string& iteration,
                    const std::string& memory) {
  std::vector<std::string> cells = split(candidate.key(), '/');
  for (const std::string& cell : {status, bound, estimate, iteration, memory}) {
    cells.push_back(cell);
  }
  return join(cells, ",") + "\n";
}

std::string csv_of(const SearchOutcome& outcome, const std::vector<Ranked>& ranked) {
  std::string text = join(varied_keys(), ",") +
                     ",status,bound_ps,estimate_ps,iteration_time_ps,memory_per_tile_bytes\n";
  const auto whole = [](double ps) { return std::to_string(time_of(ps).ps()); };
  std::map<std::string, bool> done;
  for (const Proposal& proposal : outcome.proposals) {
    if (proposal.candidate) {
      done[proposal.candidate->key()] = true;
      text +=
          csv_row(*proposal.candidate, proposal.status, std::to_string(proposal.bound.ps()),
                  std::to_string(proposal.estimate.ps()), std::to_string(proposal.iteration.ps()),
                  std::to_string(proposal.memory.count()));
    }
  }
  for (std::size_t number = 0; number < std::min(most_rows, ranked.size()); ++number) {
    const Ranked& each = ranked[number];
    if (!done.contains(each.candidate.key())) {
      text += csv_row(each.candidate, "estimated", whole(each.iteration.least),
                      whole(each.iteration.likely), "", std::to_string(each.memory.count()));
    }
  }
  return text;
}

}  // namespace

std::string key_of(const Proposal& proposal) {
  return proposal.candidate ? proposal.candidate->key() : "own";
}

SearchRequest request_in(const std::string& folder) {
  const Question question(folder);
  SearchRequest request;
  request.experiment = question.text("experiment");
  request.overrides = question.texts("overrides");
  request.devices = question.count("devices");
  request.simulated = question.count("top");
  request.full = question.text("full") == "true";
  request.all = question.text("all") == "true";
  request.kept = question.texts("keep");
  request.folder = folder;
  request.resume = true;
  return request;
}

Ledger::Ledger(const SearchRequest& request, const std::string& hash,
               comm::Communicator& communicator)
    : folder_({request.folder, request.resume, request.experiment}, question_of(request), hash,
              communicator) {
  for (const std::string& line : folder_.kept()) {
    try {
      Proposal proposal = proposal_from(line);
      const std::string key = key_of(proposal);
      known_.insert_or_assign(key, std::move(proposal));
    } catch (const ConfigError&) {
      continue;  // cut by a kill
    }
  }
}

const Proposal* Ledger::known(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second;
}

void Ledger::keep(const Proposal& proposal) {
  if (known(key_of(proposal)) == nullptr) {
    folder_.keep(to_line(proposal));
  }
}

void Ledger::write(const SearchOutcome& outcome, const std::vector<Ranked>& ranked) const {
  folder_.write("plan.json", to_json(outcome));
  folder_.write("candidates.csv", csv_of(outcome, ranked));
  if (!outcome.strategy_yaml.empty()) {
    folder_.write("strategy.yaml", outcome.strategy_yaml);
  }
}

}  // namespace tessera::explore
