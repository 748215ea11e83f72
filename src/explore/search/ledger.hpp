// The folder of a search: what was asked for, and what has been found so far.
//   question.json    what was asked for
//   plan.json        the counts and the table, rewritten as the search goes on
//   candidates.csv   one row a candidate: those simulated, and those with the best estimates
//   strategy.yaml    the best so far
//   simulated.N.log  of each rank, a line as soon as a simulation is done
#pragma once

#include <map>
#include <string>
#include <vector>

#include "search/ranking.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/explore/strategy_search.hpp"
#include "tessera/trace/folder_lock.hpp"

namespace tessera::explore {

class Ledger {
 public:
  // Without a folder nothing is kept. `hash`: of all texts that the answer depends on. Throws
  // ConfigError where the folder holds anything else, or what is to be gone on with is not as it
  // was, and IoError. Collective.
  Ledger(const SearchRequest& request, const std::string& hash, comm::Communicator& communicator);

  // What an earlier search has simulated; null: not yet. By key of the candidate, "own" of none.
  const Proposal* known(const std::string& key) const;
  // On the rank that has done it.
  void keep(const Proposal& proposal);
  // On rank 0.
  void write(const SearchOutcome& outcome, const std::vector<Ranked>& ranked) const;

 private:
  void begin();
  void go_on(const std::string& hash);
  std::string log_path() const;

  const SearchRequest& request_;
  comm::Communicator& communicator_;
  trace::FolderLock lock_;
  std::string question_;  // as JSON
  std::map<std::string, Proposal> known_;
};

std::string key_of(const Proposal& proposal);

}  // namespace tessera::explore
