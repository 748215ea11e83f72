// When stages have done their passes, in the order that a schedule gives them: with what too few
// micro-batches leave idle.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/plan/schedule/pairs.hpp"

namespace tessera::explore {

// What passes of one stage take [ps], by phase (plan::Phase) and chunk.
struct PassTimes {
  static constexpr std::size_t phases = 4;
  std::array<std::array<double, 2>, phases> of{};
  std::array<double, 2> pairs{};  // that take turns, by chunk of the forward one

  double& at(plan::Phase phase, std::uint32_t chunk) {
    return of[static_cast<std::size_t>(phase)][chunk];
  }
  double at(plan::Phase phase, std::uint32_t chunk) const {
    return of[static_cast<std::size_t>(phase)][chunk];
  }
};

// The passes of all stages.
struct ClockedSchedule {
  std::string name;
  plan::PipelineShape shape;
  bool pairs = false;  // whether passes take turns
};

// [ps] Of one stage, from the first pass of the first stage on.
struct StageHours {
  double begin = 0;
  double end = 0;
};

// Method. Passes are gone through once in an order in which each comes after what it waits for: the
// one before it in its stage, and the same micro-batch in the part before it, or behind it on the
// way back. The order follows from schedule, stages and micro-batches alone and is kept; for each
// candidate its times are put in. Two passes that take turns begin when what both need is there,
// and end together. At most two chunks a stage.
class PassClock {
 public:
  // [stages] `crossings`: from each stage to the next one, either way [ps]. More micro-batches than
  // fill the pipeline take as long as the stage that has most to do, all in pairs where there are
  // any.
  std::vector<StageHours> hours(const ClockedSchedule& schedule,
                                const std::vector<PassTimes>& times,
                                const std::vector<double>& crossings);

 private:
  static constexpr std::uint32_t nothing = 0xffffffff;
  struct Wait {
    std::uint32_t before = nothing;    // the step that is waited for
    std::uint32_t crossing = nothing;  // over which what is waited for comes
  };
  struct Step {
    std::uint32_t stage = 0;
    plan::Phase phase = plan::Phase::forward;
    std::uint32_t chunk = 0;
    Wait wait;
    std::optional<Wait> other{};  // of the pass that takes turns with it

    double time(const PassTimes& times) const {
      return other ? times.pairs[chunk] : times.at(phase, chunk);
    }
  };
  class Steps;
  using Key = std::tuple<std::string, std::uint32_t, std::uint32_t, bool>;

  std::map<Key, std::vector<Step>> known_;  // by schedule, stages, micro-batches, pairs
  std::vector<double> done_;                // [steps]
};

}  // namespace tessera::explore
