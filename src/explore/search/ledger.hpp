// What a search of strategies has simulated, in its folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "search/ranking.hpp"
#include "search/search_folder.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore {

class Ledger {
 public:
  // See SearchFolder. Collective.
  Ledger(const SearchRequest& request, const std::string& hash, comm::Communicator& communicator);

  // What an earlier search has simulated; null: not yet. By key of the candidate, "own" of none.
  const Proposal* known(const std::string& key) const;
  // On the rank that has done it.
  void keep(const Proposal& proposal);
  // On rank 0.
  void write(const SearchOutcome& outcome, const std::vector<Ranked>& ranked) const;

 private:
  SearchFolder folder_;
  std::map<std::string, Proposal> known_;
};

std::string key_of(const Proposal& proposal);

}  // namespace tessera::explore
