// Pipeline schedules: the order of forward and backward passes in each stage.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/core/registry.hpp"
#include "tessera/plan/program.hpp"

namespace tessera::plan {

// A schedule as a pure function of the stage. It lists every micro-batch's forward and backward
// exactly once, forward first; the update is added by the caller.
struct Schedule {
  std::function<std::vector<ScheduleEntry>(std::uint32_t stage, std::uint32_t stages,
                                           std::uint32_t micro_batches)>
      entries;
};

// Schedules by name:
//   gpipe  all forward passes, then all backward passes, last micro-batch first (Huang et al.,
//          "GPipe", arXiv:1811.06965); keeps the activations of every micro-batch
//   1f1b   stage s runs stages - s - 1 forward passes ahead, then one backward for each forward
//          (Narayanan et al., arXiv:2104.04473, section 2.2); keeps at most stages - s
Registry<Schedule>& schedules();

// Most micro-batches whose forward pass is done and whose backward pass is not, at any time.
std::uint32_t micro_batches_in_flight(const std::vector<ScheduleEntry>& entries);

}  // namespace tessera::plan
