// The largest rate that one set of settings meets: what `capacity` and plans of services search.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capacity/more_requests.hpp"
#include "tessera/config/document.hpp"
#include "tessera/explore/capacity.hpp"

namespace tessera::explore {

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

}  // namespace tessera::explore
