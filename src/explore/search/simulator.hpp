// Simulates strategies of one experiment, one after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "search/forecast/forecast.hpp"
#include "tessera/explore/strategy_search.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {

// The status of a strategy that takes more tiles than may be used: it is no answer, and nothing is
// held against it.
inline constexpr const char* left_out = "left out";

class Simulator {
 public:
  // Reads the experiment with a strategy that any machine has room for: its own tensor degree, and
  // one of all else. Throws ConfigError where machine or workload cannot be read.
  Simulator(const SearchRequest& request, const config::TextLoader& load);

  const sim::Experiment& experiment() const { return experiment_; }
  const workload::Workload& workload() const { return experiment_.planned()->workload; }
  // What candidates do not vary, as the experiment has it.
  const plan::Strategy& base() const { return base_; }
  // Whether one tile may stand for its stage: on machines without faults, of one type of tiles.
  bool can_aggregate() const { return can_aggregate_; }
  void aggregate_by_stages() { base_.aggregation = plan::Aggregation::stage; }
  plan::Aggregation aggregation() const { return base_.aggregation; }

  // Fills in what a simulation of one iteration shows.
  Proposal simulate(Proposal proposal, const std::function<bool()>& stop_requested);
  // The experiment's own strategy, as it stands in its file; `left_out` where it takes more tiles
  // than the request allows.
  Proposal simulate_own(const SearchRequest& request, const config::TextLoader& load);

 private:
  static void run(sim::Experiment& experiment, Proposal& proposal,
                  const std::function<bool()>& stop_requested);
  void run_own(const SearchRequest& request, const config::TextLoader& load,
               Proposal& proposal) const;

  sim::Experiment experiment_;
  plan::Strategy base_;
  bool can_aggregate_ = false;
};

// What an experiment says of a placement beside its layout; of null: nothing.
KeptPlacement kept_placement(const config::Value* strategy);

// The candidate that an experiment's own strategy is, as far as its file says; what it leaves out
// is as usual.
Candidate own_candidate(const config::Value& strategy, const std::string& usual_layout);

}  // namespace tessera::explore
