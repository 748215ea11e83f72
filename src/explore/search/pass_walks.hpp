// What stages hold through the passes of schedules whose chunks lie in a V, whatever the sizes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/plan/memory.hpp"
#include "tessera/plan/schedule/pairs.hpp"

namespace tessera::explore {

// Beside a pass, of each of the two chunks: of how many micro-batches activations are kept, and of
// how many they are with what gradients of weights need that were put off.
struct HeldBeside {
  plan::Phase phase = plan::Phase::forward;
  std::uint16_t chunk = 0;
  bool pairs = false;  // a backward pass of the other chunk takes turns with it
  std::array<std::uint32_t, 2> whole{};
  std::array<std::uint32_t, 2> apart{};
};

// Method. A walk over the passes (plan::MemoryWalk) takes the largest of sums over what is held;
// these grow with each count, so that of passes alike those with the most of everything decide.
// They are few, and sizes are put in for each candidate. What is held apart is no smaller than what
// is held whole.
struct StageWalk {
  std::vector<HeldBeside> most;
  std::uint32_t in_flight = 0;  // plan::most_in_flight
  std::uint32_t micro_batches = 0;
  // Passes that take turns, by chunk of the forward one: so many of as many micro-batches.
  std::array<std::uint32_t, 2> pairs{};

  // As plan::MemoryWalk has it at its peak. `state`: what is held all the time.
  plan::MemoryUse peak(const plan::MemoryUse& state, const plan::TurnMemory& passes) const;
  // Of as many micro-batches as fill the pipeline, or more: each further one has all its passes in
  // pairs.
  std::uint32_t pairs_of(std::uint32_t chunk, std::uint32_t count) const {
    return pairs[chunk] == 0 ? 0 : pairs[chunk] + (count - micro_batches);
  }
};
StageWalk walk_of(const std::vector<plan::Turn>& turns);

// Each shape is walked through once.
class PassWalks {
 public:
  // [stages] More micro-batches than fill the pipeline add nothing but repetition: as many are
  // walked through.
  const std::vector<StageWalk>& of(const std::string& schedule, const plan::PipelineShape& shape,
                                   bool pairs);

 private:
  using Key = std::tuple<std::string, std::uint32_t, std::uint32_t, bool>;
  std::map<Key, std::vector<StageWalk>> known_;  // by schedule, stages, micro-batches, pairs
};

}  // namespace tessera::explore
