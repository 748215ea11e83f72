// The best strategy as its file has it, and the notes of a run of it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore {

// Reads an experiment once for each best strategy.
class StrategyText {
 public:
  // `request` must outlive it.
  StrategyText(const SearchRequest& request, config::TextLoader load)
      : request_(request), load_(std::move(load)) {}

  // Of the first proposal; "" without any. `has_ended`: of the search, else it says so.
  std::string best_of(const SearchOutcome& outcome, bool has_ended);
  // Of the same, after `best_of`.
  const std::vector<std::string>& notes_of(const SearchOutcome& outcome);

 private:
  std::string strategy_of(const Proposal& proposal, const SearchOutcome& outcome);
  const std::vector<std::string>& notes_of_own();

  const SearchRequest& request_;
  config::TextLoader load_;
  std::string text_;
  std::string key_;
  std::vector<std::string> notes_;  // of that key
  std::optional<std::vector<std::string>> own_notes_;
};

}  // namespace tessera::explore
