// The largest rate that one set of settings meets: what `capacity` and plans of services search.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capacity/more_requests.hpp"
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

// One search of several.
struct RateTask {
  std::vector<std::string> settings;
  // A row of others that is met: it ends as `beaten` where no rate that is larger by half of
  // `within` is met.
  std::optional<CapacityRow> to_beat;
  // What was found with these settings, that is to be confirmed; none: it is searched.
  std::optional<CapacityRow> found;
  bool confirms = false;  // what it finds
};

class RateSearch {
 public:
  // All is kept by reference but the settings.
  RateSearch(const CapacityRequest& request, const config::TextLoader& load,
             std::vector<std::string> settings)
      : request_(request), load_(load), settings_(std::move(settings)) {}

  // Searches from rate `first` on. Null: it was stopped.
  std::optional<CapacityRow> run(double first, const RateTask& task);

 private:
  void fail(const std::string& status, std::string message);
  void search(double first, const std::optional<CapacityRow>& to_beat);
  void settle();
  void bracket(double rate, bool met);
  void narrow();
  void confirm();
  void walk(double rate, bool up);
  bool misses_alone(double rate);
  std::optional<double> rate_apart(double rate) const;
  bool try_rate(double rate);
  bool is_met(double rate, std::string& not_kept);
  bool meet_targets(const std::vector<trace::Service>& services) const;
  trace::Summary simulate(double rate, std::uint32_t times);

  const CapacityRequest& request_;
  const config::TextLoader& load_;
  std::vector<std::string> settings_;
  config::Value root_;
  CapacityRow row_;
  std::optional<Arrivals> arrivals_;
  std::vector<trace::Service> services_;  // of the last run
  std::string not_kept_;          // why the smallest rate beyond is not met where its targets are
  std::string no_rate_helps_;     // why
  std::uint32_t shown_with_ = 1;  // times the requests, before more confirmed it
  bool confirms_ = false;
  std::string changed_;     // what more requests did to the rate that was found
  bool was_alone_ = false;  // a run of requests that do not overlap was made
  bool stopped_ = false;
};

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
