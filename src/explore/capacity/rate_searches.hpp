// Searches of the largest rate that are spread over ranks, and kept to go on with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capacity/rate_search.hpp"
#include "search/search_folder.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"
#include "tessera/explore/capacity.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/sim/model_cache.hpp"

namespace tessera::explore {

// The best first.
void sort_rows(CapacityOutcome& outcome);

// With the place of its service. Collective. Throws as read_configuration.
CapacityRequest in_its_place(CapacityRequest request, const config::TextLoader& load);

// Searches that are spread over ranks. Files are read once, by all ranks in step, before the ranks
// go their own ways. All calls are collective.
class RateSearches {
 public:
  // All must outlive it.
  RateSearches(const CapacityRequest& request, const config::TextLoader& load,
               comm::Communicator& communicator);
  RateSearches(const RateSearches&) = delete;
  RateSearches& operator=(const RateSearches&) = delete;

  // The experiment as given. Throws as read_configuration.
  config::Value configuration();
  // The rate that the experiment has, be it a default. Throws ConfigError where it has none, or no
  // targets: what is wrong with the experiment itself is wrong at once.
  double first_rate();
  // Keeps what is found in a folder, and takes what it has from an earlier time. `question`: what
  // all of it depends on, but for files. Throws as SearchFolder does.
  void keep_in(const SearchPlace& place, const trace::JsonText& question);
  void write(const CapacityOutcome& outcome);
  // Each task on one rank, all rows on all ranks, without their values; null: it was stopped. The
  // same on any number of ranks.
  std::vector<std::optional<CapacityRow>> run(double first, const std::vector<RateTask>& tasks);
  // Of files that are read already; of others each rank's own.
  config::TextLoader loader() { return sim::CachingLoader{texts_.loader(), &models_}; }
  // Says so on one rank.
  void note(const std::string& text) const;

 private:
  std::vector<std::string> read_files(const std::vector<RateTask>& tasks);
  std::string search(double first, const RateTask& task, const config::TextLoader& load);

  const CapacityRequest& request_;
  comm::Communicator& communicator_;
  TextCache texts_;
  sim::ModelCache models_;
  bool in_step_ = true;
  std::optional<SearchFolder> folder_;
  std::map<std::string, std::string> known_;  // lines of rows, by what was searched
};

}  // namespace tessera::explore
