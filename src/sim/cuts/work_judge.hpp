// Cuts of work that is no plan, judged by what is known of its first part (WorkForecast).
//
// Method: region_replay.hpp. Every node of a graph is two events at its end, a message those that
// the network says it raises at each node of its way (network::PredictedTraffic), and where the way
// comes to another region it crosses, packet by packet or as a whole. The part is taken to stand
// for the whole run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cuts/region_replay.hpp"
#include "tessera/network/network.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {

class WorkJudge {
 public:
  using Weights = machine::Weights;
  struct Judged {
    CutChoice choice;
    Replay replay;
  };

  // Refers to experiment and weights.
  WorkJudge(const Experiment& experiment, const Weights& weights, const Work& work,
            WorkForecast forecast);

  // Of the whole run.
  double events() const;
  // Of all cuts for so many ranks, the fastest first.
  std::vector<Judged> all(int ranks) const;
  std::optional<CutChoice> best(int ranks) const;
  // Numbers of ranks worth a look, the most first.
  std::vector<int> numbers(int ranks) const;

 private:
  Replay predict(const machine::Owners& owner, int ranks) const;
  std::optional<CutChoice> cut(const std::string& name, int ranks) const;

  const Experiment& experiment_;
  const Weights& weights_;
  WorkForecast forecast_;
  std::unique_ptr<network::PredictedTraffic> traffic_;
};

}  // namespace tessera::sim
