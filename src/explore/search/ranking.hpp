// All candidates with their forecasts: how many there are, and those that may be the fastest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/forecast/forecast.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/explore/candidates.hpp"
#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore {

struct Ranked {
  Candidate candidate;
  Span iteration;  // [ps]
  Bytes memory;
  double events = 0;
};

// The candidate that misses its memory least, as a share of it.
struct NearMiss {
  Candidate candidate;
  double share = 0;  // asked for, of what there is
};

struct Ranking {
  std::uint64_t all = 0;
  std::uint64_t unplaced = 0;  // their layout does not fit
  std::uint64_t too_large = 0;
  std::uint64_t left_out = 0;    // fit, but are not among the fastest kept here
  double least_of_left_out = 0;  // smallest bound of those [ps]
  std::vector<Ranked> fastest;   // by estimate
  std::string objection;         // of a layout
  std::optional<NearMiss> nearest;
  std::size_t degrees = 0;    // combinations
  std::size_t looked_at = 0;  // of these
  bool stopped = false;
};

// Not simulated yet: what forecasts say of it.
Proposal proposal_of(const Ranked& ranked);

// Of a simulation, with the micro-batches of a batch that run.replay simulates.
double events_of(const Ranked& ranked, std::uint64_t batch);

// Of an iteration; zero of layouts that look for their place.
SimTime estimate_of(const Candidate& candidate, Forecaster& forecaster);

// What is known of a search that was stopped before it simulated anything. Some candidate fits.
std::string note_of_estimates(const Ranking& ranking);

// Of the same degrees, where not all are simulated.
inline constexpr std::size_t most_of_degrees = 512;

// Forecasts of all candidates of some degrees, spread over ranks by degrees; the same on all of
// them and on any number. At most `kept` of each degrees stay, those with the smallest estimates.
// `on_part` is told on each rank how many of how many degrees it has done.
Ranking rank_candidates(const CandidateLimits& limits,
                        const std::vector<DegreesOfCandidates>& blocks, Forecaster& forecaster,
                        std::size_t kept, comm::Communicator& communicator,
                        const std::function<bool()>& stop_requested,
                        const std::function<void(std::size_t, std::size_t)>& on_part);

}  // namespace tessera::explore
