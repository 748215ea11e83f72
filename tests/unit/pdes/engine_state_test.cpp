// Cuts of a run, and runs that go on from one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "../kept_run.hpp"
#include "regions.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::pdes::engine_state_test {
namespace {

using tessera::testing::KeptRun;
using testing::blocks;
using ::testing::ElementsAre;
using testing::regions_of;

constexpr std::uint32_t entities = 12;
constexpr SimTime lookahead = SimTime::from_ps(1000);
constexpr SimTime end_of_sending = SimTime::from_ps(200'000);

// Each event causes one more; an entity keeps a hash of what it handled, in that order.
class Walker final : public Component {
 public:
  explicit Walker(const Engine& engine) : hashes_(engine.local_entities()) {}

  void start(Context& context) override { go_on(context, context.self().value() + 1); }
  void handle(Context& context, const Event& event) override {
    std::uint64_t& hash = hashes_[context.index()];
    hash = mix64(hash ^ static_cast<std::uint64_t>(event.time.ps()) ^ event.source.value() ^
                 std::uint64_t{event.sequence} << 32);
    ++handled_;
    if (context.now() < end_of_sending) {
      go_on(context, hash);
    }
  }
  void pass_boundary(SimTime boundary) override { boundaries.push_back(boundary.ps()); }
  void save(std::uint32_t index, StateWriter& writer) const override { writer.put(hashes_[index]); }
  void restore(std::uint32_t index, StateReader& reader) override {
    hashes_[index] = reader.get<std::uint64_t>();
  }
  void save_totals(StateWriter& writer) const override { writer.put(handled_); }
  void add_totals(StateReader& reader) override { handled_ += reader.get<std::uint64_t>(); }

  std::uint64_t hash(std::uint32_t index) const { return hashes_[index]; }
  std::uint64_t handled() const { return handled_; }
  std::vector<std::int64_t> boundaries;

 private:
  static void go_on(Context& context, std::uint64_t word) {
    const std::uint64_t random = mix64(word);
    const EntityId target(static_cast<std::uint32_t>(random % entities));
    context.send(target,
                 lookahead + SimTime::from_ps(static_cast<std::int64_t>(random >> 8 & 4095)),
                 Port(0, 0), random);
  }

  std::vector<std::uint64_t> hashes_;
  std::uint64_t handled_ = 0;
};

struct Outcome {
  std::map<std::uint32_t, std::uint64_t> hashes;
  std::map<std::uint32_t, std::uint32_t> sent;
  std::uint64_t handled = 0;
  std::uint64_t events = 0;
  SimTime last;
  std::vector<std::int64_t> pauses;
  std::vector<std::int64_t> boundaries;  // of the first rank
};

// On so many ranks, with a pause each `period`; goes on from `from`, and keeps the `wanted`-th
// pause in `kept`.
Outcome run(int ranks, SimTime period, const KeptRun* from = nullptr, int wanted = 0,
            KeptRun* kept = nullptr) {
  Outcome outcome;
  std::mutex mutex;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    Engine engine(communicator, regions_of(communicator, entities, blocks(entities), lookahead),
                  lookahead);
    Walker walker(engine);
    engine.attach(walker);
    engine.set_boundaries(SimTime::from_ps(20'000), 4);
    if (!period.is_never()) {
      engine.set_pauses(period);
    }
    const bool is_first = communicator.rank() == 0;
    if (from != nullptr) {
      from->put_back(engine, is_first);
    }
    int pauses = 0;
    EngineHooks hooks;
    hooks.on_pause = [&](SimTime pause) {
      const std::scoped_lock lock(mutex);
      if (is_first) {
        outcome.pauses.push_back(pause.ps());
      }
      if (kept != nullptr && ++pauses == wanted) {
        kept->keep(engine);
      }
    };
    EXPECT_TRUE(engine.run(hooks));
    engine.finish_boundaries(SimTime::from_ps(250'000));
    const std::scoped_lock lock(mutex);
    for (std::uint32_t index = 0; index < engine.local_entities(); ++index) {
      outcome.hashes[engine.entity_of(index).value()] = walker.hash(index);
      outcome.sent[engine.entity_of(index).value()] = engine.events_sent(index);
    }
    outcome.handled += walker.handled();
    outcome.events += engine.statistics().events;
    outcome.last = std::max(outcome.last, engine.last_event_time());
    if (is_first) {
      outcome.boundaries = walker.boundaries;
    }
  });
  return outcome;
}

TEST(EngineState, CutsAreWholeWindowsApart) {
  const Outcome undisturbed = run(1, SimTime::never());
  EXPECT_TRUE(undisturbed.pauses.empty());
  for (const int ranks : {1, 3}) {
    const Outcome pause = run(ranks, SimTime::from_ps(49'001));
    EXPECT_THAT(pause.pauses, ElementsAre(50'000, 100'000, 150'000, 200'000)) << ranks;
    EXPECT_EQ(pause.hashes, undisturbed.hashes) << ranks;
    EXPECT_EQ(pause.boundaries, undisturbed.boundaries) << ranks;
    EXPECT_EQ(pause.events, undisturbed.events) << ranks;
  }
  // Less than a window is a window; more than the run has is none.
  EXPECT_EQ(run(1, SimTime::from_ps(1)).pauses.front(), 1000);
  EXPECT_TRUE(run(1, SimTime::from_ps(400'000)).pauses.empty());
}

TEST(EngineState, GoesOnFromACutOnAnyNumberOfRanks) {
  const SimTime period = SimTime::from_ps(40'000);
  const Outcome undisturbed = run(1, period);
  for (const int before : {1, 3}) {
    KeptRun kept;
    run(before, period, nullptr, 2, &kept);
    EXPECT_EQ(kept.pending().size(), entities) << "one under way for each entity that began";
    for (const Event& event : kept.pending()) {
      EXPECT_GE(event.time, SimTime::from_ps(80'000));
    }
    for (const int after : {1, 2, 4}) {
      const Outcome outcome = run(after, period, &kept);
      EXPECT_EQ(outcome.hashes, undisturbed.hashes) << before << " to " << after;
      EXPECT_EQ(outcome.sent, undisturbed.sent) << before << " to " << after;
      EXPECT_EQ(outcome.handled, undisturbed.handled) << before << " to " << after;
      EXPECT_EQ(outcome.events, undisturbed.events) << before << " to " << after;
      EXPECT_EQ(outcome.last, undisturbed.last);
      EXPECT_THAT(outcome.pauses, ElementsAre(120'000, 160'000, 200'000))
          << "the pause that it goes on from is not made again";
    }
  }
}

// Boundaries go on where they were: none is passed twice, and periods double as before.
TEST(EngineState, PassesEachBoundaryOnce) {
  const SimTime period = SimTime::from_ps(90'000);
  const Outcome undisturbed = run(1, period);
  EXPECT_THAT(undisturbed.boundaries,
              ElementsAre(20'000, 40'000, 60'000, 80'000, 120'000, 160'000, 200'000, 240'000));
  KeptRun kept;
  run(2, period, nullptr, 1, &kept);
  const Outcome outcome = run(2, period, &kept);
  EXPECT_THAT(outcome.boundaries, ElementsAre(120'000, 160'000, 200'000, 240'000));
}

// All ranks make it, once.
TEST(EngineState, MakesACutThatOneRankAsksFor) {
  for (const int ranks : {2, 3}) {
    std::mutex mutex;
    std::map<std::int64_t, int> pauses;
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      Engine engine(communicator, regions_of(communicator, entities, blocks(entities), lookahead),
                    lookahead);
      Walker walker(engine);
      engine.attach(walker);
      engine.set_pauses(SimTime::from_ps(120'000));
      bool asked = false;
      EngineHooks hooks;
      hooks.checkpoint_requested = [&] {
        const bool asks = !asked && communicator.rank() == 0 && walker.handled() > 20;
        asked = asked || asks;
        return asks;
      };
      hooks.on_pause = [&](SimTime pause) {
        const std::scoped_lock lock(mutex);
        ++pauses[pause.ps()];
      };
      EXPECT_TRUE(engine.run(hooks));
    });
    for (const auto& [pause, times] : pauses) {
      EXPECT_EQ(times, ranks) << pause;
    }
    EXPECT_EQ(pauses.count(120'000), 1U);
    EXPECT_EQ(pauses.size(), 2U);
    EXPECT_LT(pauses.begin()->first, 60'000);
  }
}

}  // namespace
}  // namespace tessera::pdes::engine_state_test
