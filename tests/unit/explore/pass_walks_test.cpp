// What schedules in a V hold, put together from counts, against a walk over all of their passes.
#include "search/pass_walks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace tessera::explore::pass_walks_test {
namespace {

// Two chunks of unlike size; passes whose own use has its peak in different phases.
plan::TurnMemory held_by_passes(std::uint64_t working) {
  plan::TurnMemory all;
  for (const std::uint64_t chunk : {1, 2}) {
    const Bytes stored(1000 * chunk);
    const Bytes apart(300 * chunk);
    plan::PhaseMemory passes;
    const auto pass = [&](plan::Phase phase, Bytes before, Bytes after, Bytes most) {
      plan::PassMemory& memory = passes[static_cast<std::size_t>(phase)];
      memory.before = before;
      memory.after = after;
      memory.most[plan::MemoryPart::activations] = most;
      memory.most[plan::MemoryPart::working] =
          Bytes(working * (static_cast<std::uint64_t>(phase) + chunk));
    };
    pass(plan::Phase::forward, {}, stored, stored);
    pass(plan::Phase::backward, stored, {}, stored);
    pass(plan::Phase::input_gradient, stored, stored + apart, stored + apart);
    pass(plan::Phase::weight_gradient, stored + apart, {}, stored + apart);
    all.chunks.push_back(passes);
  }
  // What both hold when the forward pass is over, of chunks 0 and 1 forward.
  for (const std::size_t chunk : {0, 1}) {
    plan::PassMemory pair;
    pair.before = all.chunks[1 - chunk][0].after;
    pair.after = all.chunks[chunk][0].after;
    pair.most[plan::MemoryPart::activations] = pair.before + pair.after;
    pair.most[plan::MemoryPart::working] = Bytes(working * (3 + chunk));
    all.pairs.push_back(pair);
  }
  return all;
}

TEST(PassWalks, HoldAsMuchAsAWalkOverAllPasses) {
  plan::MemoryUse state;
  state[plan::MemoryPart::weights] = Bytes(77);
  PassWalks walks;
  for (const auto& [name, pairs] :
       {std::pair("zb-v", false), std::pair("dualpipe-v", false), std::pair("dualpipe-v", true)}) {
    const plan::Schedule& schedule = plan::schedules().at(name);
    for (const std::uint32_t stages : {2, 3, 5, 8}) {
      for (std::uint32_t count = 1; count < 4 * stages + 3; ++count) {
        const plan::PipelineShape shape{stages, 2, count, true, true, false};
        if (!schedule.objection(shape).empty()) {
          continue;
        }
        for (std::uint32_t stage = 0; stage < stages; ++stage) {
          const StageWalk& ours = walks.of(name, shape, pairs)[stage];
          const std::vector<plan::Pass> passes = schedule.passes(shape, stage);
          EXPECT_EQ(ours.in_flight, plan::most_in_flight(passes));
          const std::vector<plan::Turn> turns = plan::turns_of(passes, shape, stage, pairs);
          for (const std::uint32_t chunk : {0U, 1U}) {
            EXPECT_EQ(ours.pairs_of(chunk, count),
                      std::count_if(turns.begin(), turns.end(), [&](const plan::Turn& turn) {
                        return turn.beside && turn.pass.chunk == chunk;
                      }));
          }
          for (const std::uint64_t working : {0, 1, 400}) {
            const plan::TurnMemory held = held_by_passes(working);
            plan::MemoryWalk walk(state);
            for (const plan::Turn& turn : turns) {
              walk.take(turn.pass, held.of(turn));
            }
            EXPECT_EQ(ours.peak(state, held).total(), walk.peak().use.total())
                << name << ", stage " << stage << " of " << stages << ", " << count;
          }
        }
      }
    }
  }
}

TEST(PassWalks, AreShort) {
  PassWalks walks;
  const plan::PipelineShape shape{64, 2, 4096, true, true, false};
  for (const StageWalk& walk : walks.of("zb-v", shape, false)) {
    EXPECT_LT(walk.most.size(), 100U);
  }
}

}  // namespace
}  // namespace tessera::explore::pass_walks_test
