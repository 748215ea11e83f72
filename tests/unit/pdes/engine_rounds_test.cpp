// How an engine deals with its policy, and what it counts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "regions.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::pdes::engine_rounds_test {
namespace {

using testing::blocks;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::regions_of;

constexpr SimTime lookahead = SimTime::from_ps(1000);
constexpr Port port(0, 0);

class Scripted final : public Component {
 public:
  std::function<void(Context&)> on_start = [](Context&) {};
  std::function<void(Context&, const Event&)> on_event = [](Context&, const Event&) {};
  StateArray array;
  void start(Context& context) override { on_start(context); }
  void handle(Context& context, const Event& event) override { on_event(context, event); }
  StateArray state_array() const override { return array; }
};

// Lets the engine run on; what it asks is kept.
class Lenient final : public SyncPolicy {
 public:
  explicit Lenient(std::uint64_t stretch, bool news = false) : stretch_(stretch), news_(news) {}
  RoundResult advance(Site& site, const RoundSums& sums) override {
    events.push_back(sums.events);
    asked.push_back(std::exchange(asked_, 0));
    sent.push_back({site.next(), site.width(), site.limit()});
    RoundResult result;
    result.bound = SimTime::never();
    result.global_next = site.next();
    result.finished = result.global_next.is_never();
    return result;
  }
  std::uint64_t stretch() const override { return stretch_; }
  bool has_news() const override {
    ++asked_;
    return news_;
  }
  std::vector<std::int64_t> events;  // at each round
  std::vector<int> asked;            // for news, before it
  std::vector<std::vector<SimTime>> sent;

 private:
  std::uint64_t stretch_;
  bool news_;
  mutable int asked_ = 0;
};

// One rank of one entity that has an event a window.
struct Ticking {
  Ticking(int ticks, std::unique_ptr<Lenient> rounds)
      : communicator(comm::make_in_process()),
        policy(rounds.get()),
        engine(*communicator, regions_of(*communicator, 1, blocks(1), lookahead), lookahead,
               std::move(rounds)) {
    component.on_start = [=](Context& context) { context.send_self(lookahead, port, ticks); };
    component.on_event = [](Context& context, const Event& event) {
      if (event.as<int>() > 1) {
        context.send_self(lookahead, port, event.as<int>() - 1);
      }
    };
    engine.attach(component);
    EXPECT_TRUE(engine.run());
  }
  std::unique_ptr<comm::Communicator> communicator;
  Lenient* policy;
  Engine engine;
  Scripted component;
};

TEST(EngineRounds, ComeAfterAStretch) {
  const Ticking run(25, std::make_unique<Lenient>(10));
  EXPECT_THAT(run.policy->events, ElementsAre(0, 10, 20, 25));
  EXPECT_THAT(run.policy->asked, Each(0));
  EXPECT_EQ(run.policy->sent[1],
            (std::vector{SimTime::from_ps(11'000), lookahead, SimTime::never()}));
  EXPECT_EQ(run.engine.statistics().windows, 25U);
  EXPECT_EQ(run.engine.statistics().events, 25U);
  EXPECT_EQ(run.engine.statistics().remote_events, 0U);
  EXPECT_EQ(run.engine.statistics().largest_pending, 1U);
  EXPECT_EQ(run.engine.last_event_time(), SimTime::from_ps(25'000));
}

TEST(EngineRounds, ComeWhereThereIsNews) {
  const Ticking without(400, std::make_unique<Lenient>(100'000));
  EXPECT_THAT(without.policy->events, ElementsAre(0, 400));
  EXPECT_THAT(without.policy->asked, ElementsAre(0, 3)) << "every 128 events";
  const Ticking with(400, std::make_unique<Lenient>(100'000, true));
  EXPECT_THAT(with.policy->events, ElementsAre(0, 128, 256, 384, 400));
  EXPECT_THAT(with.policy->asked, ElementsAre(0, 1, 1, 1, 0));
}

TEST(EngineRounds, TakeTimeWhereThereAreOthers) {
  const Ticking alone(1000, std::make_unique<Lenient>(1));
  EXPECT_EQ(alone.engine.statistics().waiting_s, 0.0);
  comm::run_ranks_as_threads(2, [](comm::Communicator& communicator) {
    Engine engine(communicator, regions_of(communicator, 2, blocks(2), lookahead), lookahead);
    Scripted component;
    engine.attach(component);
    EXPECT_TRUE(engine.run());
    EXPECT_GT(engine.statistics().waiting_s, 0.0);
    EXPECT_LT(engine.statistics().waiting_s, 30.0);
    EXPECT_EQ(engine.statistics().rounds, 1U);
  });
}

// What was agreed on is not asked for again before it is done.
TEST(EngineRounds, AskForRequestsUntilTheyAreAgreedOn) {
  const auto communicator = comm::make_in_process();
  Engine engine(*communicator, regions_of(*communicator, 1, blocks(1), lookahead), lookahead,
                std::make_unique<Lenient>(1));
  Scripted component;
  component.on_start = [](Context& context) { context.send_self(lookahead, port, 6); };
  component.on_event = [](Context& context, const Event& event) {
    if (event.as<int>() > 1) {
      context.send_self(lookahead, port, event.as<int>() - 1);
    }
  };
  engine.attach(component);
  std::vector<SimTime> pauses;
  int asked = 0;
  EngineHooks hooks;
  hooks.checkpoint_requested = [&] { return ++asked == 3; };
  hooks.on_pause = [&](SimTime pause) { pauses.push_back(pause); };
  EXPECT_TRUE(engine.run(hooks));
  EXPECT_EQ(engine.statistics().events, 6U);
  EXPECT_EQ(asked, 7) << "before each of six windows, and at the end";
  EXPECT_TRUE(pauses.empty()) << "this policy tells of none";
}

// As tables for processes, and for events what is held at most.
TEST(EngineRounds, StateWhatTheEngineHolds) {
  const auto communicator = comm::make_in_process();
  Engine small(*communicator, regions_of(*communicator, 100, blocks(100), lookahead), lookahead);
  EXPECT_EQ(small.memory().process_bytes, 100U * 8 + 100U * 4);
  constexpr std::size_t small_wheels = 3 * 64 * 24;
  EXPECT_EQ(small.memory().event_bytes, small_wheels + 256 * 4) << "and places of a counting sort";
  EXPECT_EQ(small.local_entities(), 100U);
  EXPECT_EQ(small.lookahead(), lookahead);

  // 5000 events among 40 000 entities in one window are sorted by keys.
  Engine large(*communicator, regions_of(*communicator, 40'000, blocks(40'000), lookahead),
               lookahead);
  Scripted component;
  component.on_start = [](Context& context) {
    for (std::uint32_t i = 0; context.self() == EntityId(7) && i < 5000; ++i) {
      context.send(EntityId(8 * i), lookahead * 3, port, i);
    }
  };
  large.attach(component);
  constexpr std::size_t wheels = 3 * 1024 * 24;
  EXPECT_EQ(large.memory().event_bytes, wheels + 1024 * 4);
  EXPECT_TRUE(large.run());
  EXPECT_EQ(large.statistics().largest_pending, 5000U);
  const std::size_t chunks = 240;  // with 21 events each, in slabs of four
  const std::size_t keys = 5000 + 5000 / 16;
  const std::size_t chunk_list = 256;
  EXPECT_EQ(large.memory().event_bytes,
            wheels + 1024 * 4 + chunks * 1024 + 2 * keys * 8 + chunk_list * 8)
      << "keys and as much again to sort them";
}

// Few events among many entities are found by a hash table.
TEST(EngineRounds, StateWhatShortListsTake) {
  const auto communicator = comm::make_in_process();
  Engine engine(*communicator, regions_of(*communicator, 4096, blocks(4096), lookahead), lookahead);
  Scripted component;
  component.on_start = [](Context& context) {
    for (std::uint32_t i = 0; context.self() == EntityId(7) && i < 48; ++i) {
      context.send(EntityId(16 * i), lookahead * 3, port, i);
    }
  };
  engine.attach(component);
  EXPECT_TRUE(engine.run());
  const std::size_t wheels = 3 * 64 * 24 + 256 * 4;
  const std::size_t chunks = 8 * (16 + 8 * 48);  // six, in slabs of four
  const std::size_t slots = 128 + 128 / 16;
  const std::size_t linked = 48 + 48 / 16;
  EXPECT_EQ(engine.memory().event_bytes, wheels + chunks + slots * 2 + linked * 16 + 8 * 8);
}

// An event that an entity sends itself within the window waits apart.
TEST(EngineRounds, StateWhatEventsWithinAWindowTake) {
  const auto communicator = comm::make_in_process();
  Engine engine(*communicator, regions_of(*communicator, 1, blocks(1), lookahead), lookahead);
  Scripted component;
  component.on_start = [](Context& context) { context.send_self(lookahead, port, 1); };
  component.on_event = [](Context& context, const Event& event) {
    if (event.as<int>() == 1) {
      context.send_self(SimTime::from_ps(1), port, 0);
    }
  };
  engine.attach(component);
  EXPECT_TRUE(engine.run());
  EXPECT_EQ(engine.statistics().events, 2U);
  EXPECT_EQ(engine.statistics().windows, 1U);
  const std::size_t wheels = 3 * 64 * 24 + 256 * 4;
  EXPECT_EQ(engine.memory().event_bytes, wheels + 4 * (16 + 8 * 48) + 16 * 48);
}

// Time goes back for nobody: of an event that changes nothing the time is not the last.
TEST(EngineRounds, TellTheLastEventHandled) {
  const auto communicator = comm::make_in_process();
  Engine engine(*communicator, regions_of(*communicator, 2, blocks(2), lookahead), lookahead);
  Scripted component;
  component.on_start = [](Context& context) {
    context.send_self(lookahead * (context.self().value() + 1), port, 0);
  };
  component.on_event = [](Context& context, const Event&) {
    if (context.self() == EntityId(1)) {
      context.pass();
    }
  };
  engine.attach(component);
  EXPECT_TRUE(engine.run());
  EXPECT_EQ(engine.last_event_time(), lookahead);
  EXPECT_EQ(engine.last_handled_time(), lookahead * 2);
  EXPECT_EQ(engine.events_sent(0), 1U);
}

// A boundary at the end of a run, and one past it.
TEST(EngineRounds, FinishBoundaries) {
  const auto communicator = comm::make_in_process();
  Engine engine(*communicator, regions_of(*communicator, 1, blocks(1), lookahead), lookahead);
  class Listener final : public Component {
   public:
    std::vector<std::int64_t> boundaries;
    void handle(Context&, const Event&) override {}
    void pass_boundary(SimTime boundary) override { boundaries.push_back(boundary.ps()); }
  } listener;
  engine.attach(listener);
  engine.finish_boundaries(lookahead * 100);
  EXPECT_TRUE(listener.boundaries.empty()) << "there are none";
  engine.set_boundaries(SimTime::from_ps(1), 2);
  engine.finish_boundaries(SimTime::from_ps(3000));
  EXPECT_THAT(listener.boundaries, ElementsAre(1000, 2000));
  engine.finish_boundaries(SimTime::from_ps(8001));
  EXPECT_THAT(listener.boundaries, ElementsAre(1000, 2000, 4000, 6000));
  engine.finish_boundaries(SimTime::from_ps(10'001));
  EXPECT_THAT(listener.boundaries, ElementsAre(1000, 2000, 4000, 6000, 10'000));
}

}  // namespace
}  // namespace tessera::pdes::engine_rounds_test
