// The strategies among which the best one is searched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/machine/machine.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::explore {

struct Candidate {
  plan::Degrees degrees;
  std::uint32_t micro_batch = 1;
  std::string schedule;
  std::string recompute;

  // "key=value" of the experiment. The layout is set without shapes, which would not suit other
  // degrees.
  std::vector<std::string> settings(const std::string& layout) const;
};

// What limits them.
struct CandidateLimits {
  std::uint64_t devices = 1;               // at most so many tiles
  std::uint64_t layers = 1;                // stages at most
  std::uint64_t batch = 1;                 // samples of an iteration
  std::vector<std::uint64_t> head_counts;  // tensor degrees divide each; empty: they divide devices
  std::vector<std::string> schedules;      // names
  std::vector<std::string> recomputations;  // values of strategy.recompute
  bool full = false;
};

// Of this machine and workload; `devices` 0: all nodes that compute. All registered schedules, and
// recomputation none and full.
CandidateLimits limits_of(const machine::Machine& machine, const workload::Workload& workload,
                          std::uint64_t devices, bool full);

// All candidates in a fixed order: tensor degrees that divide the heads; data degrees that divide
// the batch; as many stages as devices and layers allow, and the fewest that have no more layers a
// stage; micro-batches that are powers of two and divide a replica's samples; every schedule and
// recomputation. `full`: any number of stages and any micro-batch that divides. Left out: what uses
// less than half as many tiles as the candidate with most.
std::vector<Candidate> candidates(const CandidateLimits& limits);

}  // namespace tessera::explore
