// What a run costs, and its sum over ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/time.hpp"

namespace tessera::bench {

// One run, of one rank or of all.
struct Measurement {
  std::string engine;
  int ranks = 1;
  std::uint64_t lps = 0;
  std::uint64_t events = 0;
  std::optional<std::uint64_t> hops;
  std::uint64_t windows = 0;     // that held an event, summed over ranks
  std::uint64_t rounds = 0;      // of synchronisation, the most of any rank
  std::uint64_t reductions = 0;  // made for them, the most of any rank
  std::uint64_t remote_messages = 0;
  std::uint64_t largest_pending = 0;  // events, summed over ranks
  std::uint64_t process_bytes = 0;    // the engine's, in proportion to logical processes
  std::uint64_t event_bytes = 0;      // the engine's, in proportion to pending events
  std::uint64_t model_bytes = 0;
  std::uint64_t peak_memory = 0;  // of the largest process [B]
  SimTime simulated;              // time of the last event
  double cpu_s = 0;               // summed over ranks
  double cpu_median_s = 0;        // of all repeats
  double wall_s = 0;
  double waiting_s = 0;  // summed over ranks
  Digest digest;         // of the models' state at the end; zero for an engine with other models
};

// The run of all ranks from that of each: the same on every rank.
Measurement over_ranks(comm::Communicator& communicator, Measurement rank);

// The repeat with the least processor time, with the median of all. Throws InternalError when the
// repeats' results differ.
Measurement best_of(std::vector<Measurement> repeats);

// Whether two runs did the same.
bool same_results(const Measurement& a, const Measurement& b);

}  // namespace tessera::bench
