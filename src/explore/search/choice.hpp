// Which candidates are worth a simulation, from what the ones before have shown.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "search/ranking.hpp"
#include "tessera/core/time.hpp"

namespace tessera::explore {

// Estimates of candidates with the same degrees, layout and schedule are wrong in the same way: by
// the mean of what simulations of these took for each estimated second they are corrected. Those of
// which none was simulated are given the smallest such ratio of the layout that was seen, so that
// they are tried rather than passed over.
//
// A candidate is worth a simulation when its bound is shorter than the best so far, and its
// corrected estimate too, less the margin: the largest share by which a simulation has been shorter
// than its corrected estimate so far, the first of its kind as well, `least_margin` at least, 25 %
// at most. The bound is certain, the margin is measured; where simulations are short, it is not
// needed.
class Choice {
 public:
  // `ranked`: by estimate; must outlive it.
  Choice(const std::vector<Ranked>& ranked, double least_margin);

  // Up to `most` numbers in `ranked`, the most promising first, at most two of the same degrees
  // and layout. Empty: none is worth it.
  std::vector<std::size_t> next(std::size_t most) const;
  // For simulations that are short: all whose bound is shorter than the best are worth one.
  std::vector<std::size_t> next_by_bounds(std::size_t most) const;
  // For simulations that take long: of these without those whose bounds are longer than what the
  // most promising is expected to take, with the margin. They are left for when it is known.
  std::vector<std::size_t> next_of_large(std::size_t most) const;
  // Whether its micro-batches may repeat: not where those of one with as many of the same schedule,
  // degrees and layout did not.
  bool may_repeat(std::size_t number) const { return !unlike_.contains(loads_[number]); }
  // What came of one; `never` where it did not finish.
  void learn(std::size_t number, SimTime iteration, bool repeats = true);
  // Simulated otherwise.
  void beat(SimTime iteration);

  double margin() const { return margin_; }
  double best() const { return best_; }  // [ps]
  // Of those that were not simulated: bounds that are no shorter than the best, and the others.
  std::uint64_t bounded() const;
  std::uint64_t open() const;
  // The smallest bound of those that were not simulated, or the best [ps].
  double least() const;

 private:
  struct Seen {
    double sum = 0;  // of ratios
    std::uint32_t count = 0;
  };
  double corrected(std::size_t number) const;
  double expected(std::size_t number) const;
  bool may_win(std::size_t number, double margin) const;
  std::vector<std::size_t> next_with(std::size_t most, double margin) const;

  const std::vector<Ranked>& ranked_;
  std::vector<std::string> groups_;  // [ranked] by degrees and layout
  std::vector<std::string> kinds_;   // [ranked] of these by schedule
  std::vector<std::string> loads_;   // [ranked] of groups by schedule and micro-batch
  std::vector<bool> done_;
  std::map<std::string, Seen> seen_;           // by kind
  std::map<std::string, double> least_ratio_;  // by layout
  std::set<std::string> unlike_;               // loads whose micro-batches do not repeat
  double margin_;
  double best_;
};

}  // namespace tessera::explore
