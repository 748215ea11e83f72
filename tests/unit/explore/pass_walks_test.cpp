// What schedules in a V hold, put together from counts, against a walk over all of their passes.
#include "search/pass_walks.hpp"

#include <gtest/gtest.h>

namespace tessera::explore::pass_walks_test {
namespace {

// Two chunks of unlike size; passes whose own use has its peak in different phases.
std::vector<plan::PhaseMemory> chunks(std::uint64_t working) {
  std::vector<plan::PhaseMemory> all;
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
    all.push_back(passes);
  }
  return all;
}

TEST(PassWalks, HoldAsMuchAsAWalkOverAllPasses) {
  plan::MemoryUse state;
  state[plan::MemoryPart::weights] = Bytes(77);
  PassWalks walks;
  for (const char* const name : {"zb-v", "dualpipe-v"}) {
    const plan::Schedule& schedule = plan::schedules().at(name);
    for (const std::uint32_t stages : {2, 3, 5, 8}) {
      for (std::uint32_t count = 1; count < 4 * stages + 3; ++count) {
        const plan::PipelineShape shape{stages, 2, count, true, true, false};
        if (!schedule.objection(shape).empty()) {
          continue;
        }
        for (std::uint32_t stage = 0; stage < stages; ++stage) {
          const StageWalk& ours = walks.of(name, shape)[stage];
          const std::vector<plan::Pass> passes = schedule.passes(shape, stage);
          EXPECT_EQ(ours.in_flight, plan::most_in_flight(passes));
          for (const std::uint64_t working : {0, 1, 400}) {
            const std::vector<plan::PhaseMemory> held = chunks(working);
            plan::MemoryWalk walk(state);
            for (const plan::Pass& pass : passes) {
              walk.take(pass, held[pass.chunk][static_cast<std::size_t>(pass.phase)]);
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
  for (const StageWalk& walk : walks.of("zb-v", shape)) {
    EXPECT_LT(walk.most.size(), 100U);
  }
}

}  // namespace
}  // namespace tessera::explore::pass_walks_test
