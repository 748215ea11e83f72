// The folder of a search: what was asked for, what has been found, and a log of each rank.
//   question.json    what was asked for
//   plan.json        what is known, rewritten as the search goes on
//   candidates.csv   of strategies: one row a candidate, those simulated and those with the best
//                    estimates
//   strategy.yaml    of strategies: the best so far
//   simulated.N.log  of each rank, a line as soon as a simulation, or a search for a rate, is done
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"
#include "tessera/trace/folder_lock.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::explore {

// Where a search is kept. Without a folder nothing is.
struct SearchPlace {
  std::string folder;
  bool resume = false;     // what is in the folder is gone on with
  std::string experiment;  // for messages
};

class SearchFolder {
 public:
  // `question` is what question.json is to hold beside `hash`, which is of all texts that the
  // answer depends on. Throws ConfigError where the folder holds anything else, or what is to be
  // gone on with is not as it was, and IoError. Collective.
  SearchFolder(SearchPlace place, trace::JsonText question, const std::string& hash,
               comm::Communicator& communicator);

  // Lines that were kept before, of all ranks; the last of each may be cut by a kill.
  const std::vector<std::string>& kept() const { return kept_; }
  // On the rank that has done it.
  void keep(const std::string& line) const;
  // On rank 0.
  void write(const char* name, const std::string& text) const;

 private:
  void begin(const std::string& question) const;
  std::string go_on(const std::string& hash) const;

  SearchPlace place_;
  int rank_;
  trace::FolderLock lock_;
  std::vector<std::string> kept_;
};

// What question.json of a folder holds.
class Question {
 public:
  // Throws ConfigError where there is none.
  explicit Question(const std::string& folder);
  // Empty or 0 where it lacks the key.
  std::string text(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  std::uint64_t count(const char* key) const;
  double real(const char* key) const;

 private:
  config::Value root_;
};

// Of the experiment that is asked about and its settings.
trace::JsonText question_about(const std::string& experiment,
                               const std::vector<std::string>& overrides);
trace::JsonText json_list(const std::vector<std::string>& texts);

}  // namespace tessera::explore
