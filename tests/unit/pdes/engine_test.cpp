#include "tessera/pdes/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "regions.hpp"
#include "tessera/core/random.hpp"
#include "tessera/core/range_error.hpp"

namespace tessera::pdes::engine_test {
namespace {

using ::testing::AllOf;
using testing::blocks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::regions_of;

constexpr SimTime lookahead = SimTime::from_ps(1000);

// A component made of two functions.
class Scripted final : public Component {
 public:
  std::function<void(Context&)> on_start = [](Context&) {};
  std::function<void(Context&, const Event&)> on_event = [](Context&, const Event&) {};
  std::vector<std::int64_t> boundaries;

  void start(Context& context) override { on_start(context); }
  void handle(Context& context, const Event& event) override { on_event(context, event); }
  void pass_boundary(SimTime boundary) override { boundaries.push_back(boundary.ps()); }
};

// One rank with `entities` entities.
struct Single {
  explicit Single(std::uint32_t entities)
      : communicator(comm::make_in_process()),
        engine(*communicator, regions_of(*communicator, entities, blocks(entities), lookahead),
               lookahead) {
    engine.attach(component);
  }
  std::unique_ptr<comm::Communicator> communicator;
  Engine engine;
  Scripted component;
};

// What an observer hears, as text.
struct Listener final : EventObserver {
  std::vector<std::string> heard;
  void on_event(WindowNumber window, const Event& event) override {
    heard.push_back(std::to_string(window) + ": " + std::to_string(event.source.value()) + "#" +
                    std::to_string(event.sequence) + " at " + std::to_string(event.target));
  }
  void on_send(EntityId source, std::uint32_t sequence, EntityId target) override {
    heard.push_back(std::to_string(source.value()) + "#" + std::to_string(sequence) + " to " +
                    std::to_string(target.value()));
  }
};

// Of an entity's events to itself only when they are handled.
TEST(Engine, AnObserverHearsOfSendingAndHandling) {
  Single run(2);
  run.component.on_start = [](Context& context) {
    if (context.self().value() == 0) {
      context.send_self(SimTime::from_ps(10), Port(0, 0), 1);
      context.send(EntityId(1), SimTime::from_ps(2000), Port(0, 0), 0);
    }
  };
  run.component.on_event = [](Context& context, const Event& event) {
    if (event.as<int>() == 1) {
      context.send(EntityId(1), SimTime::from_ps(1000), Port(0, 0), 0);
    }
  };
  Listener listener;
  run.engine.observe(&listener);
  EXPECT_TRUE(run.engine.run({}));
  EXPECT_THAT(listener.heard,
              ElementsAre("0#1 to 1", "0: 0#0 at 0", "0#2 to 1", "1: 0#2 at 1", "2: 0#1 at 1"));
}

// Events that change nothing do not make a run longer, but what is beside them does: of the same
// entity before, and of another at the same instant.
TEST(Engine, LastsUntilTheLastEventThatChangesSomething) {
  const auto last = [](std::vector<std::pair<std::int64_t, int>> first, std::int64_t other_at) {
    Single run(2);
    run.component.on_start = [&](Context& context) {
      if (context.self().value() == 0) {
        for (const auto& [at, changes] : first) {
          context.send_self(SimTime::from_ps(at), Port(0, 0), changes);
        }
      } else {
        context.send_self(SimTime::from_ps(other_at), Port(0, 0), 1);
      }
    };
    run.component.on_event = [](Context& context, const Event& event) {
      if (event.as<int>() == 0) {
        context.pass();
      }
    };
    EXPECT_TRUE(run.engine.run({}));
    return run.engine.last_event_time().ps();
  };
  EXPECT_EQ(last({{5000, 0}}, 100), 100);
  EXPECT_EQ(last({{5000, 1}, {5010, 0}, {5020, 0}}, 100), 5000);
  EXPECT_EQ(last({{5000, 0}, {5000, 1}, {5000, 0}}, 100), 5000);
  EXPECT_EQ(last({{5000, 0}}, 5000), 5000);
  EXPECT_EQ(last({{5000, 0}, {5010, 0}}, 5005), 5005);
}

TEST(Engine, HandlesEventsWithoutDelayAfterTheCurrentOneInTotalOrder) {
  Single run(3);
  std::vector<int> order;
  // At 5000 ps entity 1 has an event of entity 0, one of itself, and one of entity 2, each of which
  // sends one without delay.
  run.component.on_start = [](Context& context) {
    const int number = static_cast<int>(context.self().value());
    if (number == 1) {
      context.send_self(SimTime::from_ps(5000), Port(0, 0), 10);
    } else {
      context.send(EntityId(1), SimTime::from_ps(5000), Port(0, 0), number == 0 ? 0 : 20);
    }
  };
  run.component.on_event = [&](Context& context, const Event& event) {
    const int number = event.as<int>();
    order.push_back(number);
    EXPECT_EQ(context.now().ps(), 5000);
    if (number % 10 == 0) {
      context.send_self(SimTime::zero(), Port(0, 0), number + 1);
      context.send(EntityId(1), SimTime::zero(), Port(0, 0), number + 2);
    }
  };
  EXPECT_TRUE(run.engine.run());
  // 10 was sent before the others of entity 1; all of them come before entity 2's.
  EXPECT_THAT(order, ElementsAre(0, 10, 1, 2, 11, 12, 20, 21, 22));
  EXPECT_EQ(run.engine.statistics().events, 9U);
  EXPECT_EQ(run.engine.last_event_time().ps(), 5000);
}

TEST(Engine, HandlesEventsToItselfInsideAndBeyondTheWindowInOrder) {
  Single run(1);
  std::vector<std::int64_t> times;
  run.component.on_start = [](Context& context) {
    for (const std::int64_t delay : {1500, 999, 0, 1000, 4'000'000}) {
      context.send_self(SimTime::from_ps(delay), Port(0, 0), 1);
    }
  };
  run.component.on_event = [&](Context& context, const Event& event) {
    times.push_back(context.now().ps());
    if (event.as<int>() == 1) {
      context.send_self(SimTime::from_ps(600), Port(0, 0), 0);
    }
  };
  EXPECT_TRUE(run.engine.run());
  EXPECT_THAT(times, ElementsAre(0, 600, 999, 1000, 1500, 1599, 1600, 2100, 4'000'000, 4'000'600));
}

// Many entities in one window take the counting sort.
TEST(Engine, GroupsALargeWindowByEntity) {
  constexpr std::uint32_t entities = 3000;
  Single run(entities);
  std::vector<std::uint32_t> last(entities);
  run.component.on_start = [](Context& context) {
    for (std::uint32_t i = 1; i <= 3; ++i) {
      context.send_self(SimTime::from_ps(400 - i * 100), Port(0, 0), 4 - i);
    }
  };
  run.component.on_event = [&](Context& context, const Event& event) {
    EXPECT_EQ(event.source, context.self());
    EXPECT_EQ(event.as<std::uint32_t>(), ++last[context.index()]);
  };
  EXPECT_TRUE(run.engine.run());
  EXPECT_EQ(run.engine.statistics().events, 3 * entities);
  EXPECT_EQ(run.engine.statistics().windows, 1U);
}

// However an entity's events are found among those of a window: each is handled once, in order.
TEST(Engine, GroupsWindowsOfAnySizeByEntity) {
  constexpr std::uint32_t entities = 40'000;
  for (const std::uint32_t events : {1U, 2U, 3U, 20U, 1000U, 1024U, 1025U, 5000U}) {
    Single run(entities);
    RandomStream stream(events, EntityId(0), 0);
    run.component.on_start = [&](Context& context) {
      for (std::uint32_t i = 0; context.self().value() == 7 && i < events; ++i) {
        // Half of them for few, so that some have several.
        const std::uint64_t word = stream.next_u64();
        const auto target = static_cast<std::uint32_t>((word >> 32) % (i % 2 == 0 ? entities : 50));
        context.send(EntityId(target),
                     lookahead * 3 + SimTime::from_ps(static_cast<std::int64_t>(word % 900)),
                     Port(0, 0), i);
      }
    };
    std::map<std::uint32_t, Event> last;
    std::set<std::uint32_t> handled;
    run.component.on_event = [&](Context& context, const Event& event) {
      EXPECT_EQ(event.target, context.index());
      const auto [before, is_first] = last.try_emplace(event.target, event);
      EXPECT_TRUE(is_first || handled_before(before->second, event));
      before->second = event;
      handled.insert(event.as<std::uint32_t>());
    };
    EXPECT_TRUE(run.engine.run());
    EXPECT_EQ(run.engine.statistics().events, events);
    EXPECT_EQ(handled.size(), events);
  }
}

TEST(Engine, GivesTagFlagsAndPortToTheRightComponent) {
  Single run(2);
  Scripted second;
  ASSERT_EQ(run.engine.attach(second), 1U);
  bool heard = false;
  run.component.on_start = [](Context& context) {
    if (context.self() == EntityId(0)) {
      context.send(EntityId(1), lookahead, Port(1, 3), std::uint64_t{77}, 9, 0x42);
    }
  };
  run.component.on_event = [](Context&, const Event&) { ADD_FAILURE() << "the wrong component"; };
  second.on_event = [&](Context& context, const Event& event) {
    heard = true;
    EXPECT_EQ(context.self(), EntityId(1));
    EXPECT_EQ(event.port, Port(1, 3));
    EXPECT_EQ(event.tag, 9);
    EXPECT_EQ(event.flags, 0x42);
    EXPECT_EQ(event.source, EntityId(0));
    EXPECT_EQ(event.as<std::uint64_t>(), 77U);
  };
  EXPECT_TRUE(run.engine.run());
  EXPECT_TRUE(heard);
}

TEST(Engine, TakesOnlySoManyComponents) {
  Single run(1);
  std::vector<Scripted> more(Port::max_components);
  for (unsigned i = 1; i < Port::max_components; ++i) {
    EXPECT_EQ(run.engine.attach(more[i]), i);
  }
  EXPECT_THROW(run.engine.attach(more[0]), InternalError);
}

TEST(Engine, RefusesADelayBelowTheLookahead) {
  Single run(8);
  run.component.on_start = [](Context& context) {
    if (context.self() == EntityId(3)) {
      context.send_self(SimTime::from_ps(2500), Port(0, 0), 0);
    }
  };
  run.component.on_event = [](Context& context, const Event&) {
    context.send(EntityId(5), SimTime::from_ps(999), Port(0, 0), 0);
  };
  try {
    run.engine.run();
    FAIL() << "nothing was thrown";
  } catch (const ModelError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("causality"), HasSubstr("entity 3 sends to entity 5"),
                                    HasSubstr(to_string(SimTime::from_ps(999))),
                                    HasSubstr(to_string(lookahead))));
    EXPECT_EQ(error.time().ps(), 2500);
    EXPECT_EQ(error.entity(), EntityId(3));
  }
}

TEST(Engine, RefusesADelayBelowTheDistanceOfTheRegions) {
  const SimTime distance = lookahead * 5;
  std::string message;
  try {
    comm::run_ranks_as_threads(2, [&](comm::Communicator& communicator) {
      Engine engine(communicator, regions_of(communicator, 2, blocks(2), distance), lookahead);
      Scripted component;
      component.on_start = [](Context& context) {
        context.send(EntityId(1 - context.self().value()), SimTime::from_ps(4999), Port(0, 0), 0);
      };
      engine.attach(component);
      engine.run();
    });
  } catch (const ModelError& error) {
    message = error.what();
  }
  EXPECT_THAT(message,
              AllOf(HasSubstr("entity 0 sends to entity 1"),
                    HasSubstr(to_string(SimTime::from_ps(4999))), HasSubstr(to_string(distance))));
}

TEST(Engine, RefusesMembersThatItDoesNotOwn) {
  const auto communicator = comm::make_in_process();
  Regions regions = regions_of(*communicator, 2, blocks(2), lookahead);
  regions.owner[1] = 1;
  EXPECT_THROW(Engine(*communicator, regions, lookahead), InternalError);
}

// Runs entities 0 … 5 with one component on `ranks` ranks.
using Script = std::function<void(Scripted&)>;
using Check = std::function<void(Engine&, Scripted&, bool finished)>;
void run_six(
    int ranks, const Script& script, const Check& check, const EngineHooks& hooks = {},
    const std::function<void(Engine&)>& prepare = [](Engine&) {}) {
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    Engine engine(communicator, regions_of(communicator, 6, blocks(6), lookahead), lookahead);
    Scripted component;
    script(component);
    engine.attach(component);
    prepare(engine);
    const bool finished = engine.run(hooks);
    check(engine, component, finished);
  });
}

// Entity 0 and 5 call each other once an hour.
void call_hourly(Scripted& component, int calls) {
  const SimTime hour = SimTime::from_ps(3'600'000'000'000'000);
  component.on_start = [=](Context& context) {
    if (context.self() == EntityId(0)) {
      context.send(EntityId(5), hour, Port(0, 0), calls);
    }
  };
  component.on_event = [=](Context& context, const Event& event) {
    if (const int left = event.as<int>() - 1; left > 0) {
      context.send(event.source, hour, Port(0, 0), left);
    }
  };
}

TEST(Engine, SkipsIdleStretches) {
  for (const int ranks : {1, 3}) {
    run_six(
        ranks, [](Scripted& component) { call_hourly(component, 10); },
        [](Engine& engine, Scripted&, bool finished) {
          EXPECT_TRUE(finished);
          EXPECT_LE(engine.statistics().rounds, 40U);
          EXPECT_LE(engine.statistics().windows, 10U);
        });
  }
}

TEST(Engine, PassesTheSameBoundariesOnAnyNumberOfRanks) {
  std::vector<std::vector<std::int64_t>> passed;
  std::mutex mutex;
  for (const int ranks : {1, 3}) {
    run_six(
        ranks,
        [](Scripted& component) {
          component.on_start = [](Context& context) {
            context.send_self(SimTime::from_ps(700) * (context.self().value() + 1), Port(0, 0), 30);
          };
          component.on_event = [](Context& context, const Event& event) {
            if (const int left = event.as<int>() - 1; left > 0) {
              const EntityId next((context.self().value() + 1) % 6);
              context.send(next, SimTime::from_ps(1200), Port(0, 0), left);
            }
          };
        },
        [&](Engine& engine, Scripted& component, bool) {
          // All ranks give the end of the whole run.
          engine.finish_boundaries(SimTime::from_ps(39'000));
          const std::scoped_lock lock(mutex);
          passed.push_back(component.boundaries);
        },
        {}, [](Engine& engine) { engine.set_boundaries(SimTime::from_ps(1500), 3); });
  }
  // Two windows, rounded up; doubled after three.
  ASSERT_EQ(passed.size(), 4U);
  EXPECT_THAT(passed[0], ElementsAre(2000, 4000, 6000, 10'000, 14'000, 18'000, 26'000, 34'000));
  for (const auto& boundaries : passed) {
    EXPECT_EQ(boundaries, passed[0]);
  }
}

TEST(Engine, PassesABoundaryAfterAllThatCameBeforeAndNothingElse) {
  Single run(2);
  std::vector<std::string> seen;
  class Recorder final : public Component {
   public:
    explicit Recorder(std::vector<std::string>& seen) : seen_(seen) {}
    void handle(Context&, const Event&) override {}
    void pass_boundary(SimTime boundary) override {
      seen_.push_back("boundary " + std::to_string(boundary.ps()));
    }

   private:
    std::vector<std::string>& seen_;
  } recorder(seen);
  run.engine.attach(recorder);
  run.engine.set_boundaries(SimTime::from_ps(4000), 100);
  run.component.on_start = [](Context& context) {
    if (context.self() == EntityId(0)) {
      for (const std::int64_t time : {3999, 4000, 9000}) {
        context.send(EntityId(1), SimTime::from_ps(time), Port(0, 0), 0);
      }
    }
  };
  run.component.on_event = [&](Context& context, const Event&) {
    seen.push_back("event " + std::to_string(context.now().ps()));
  };
  EXPECT_TRUE(run.engine.run());
  run.engine.finish_boundaries(SimTime::from_ps(12'001));
  EXPECT_THAT(seen, ElementsAre("event 3999", "boundary 4000", "event 4000", "boundary 8000",
                                "event 9000", "boundary 12000"));
}

TEST(Engine, EndsOnAllRanksWhenOneIsAskedToStop) {
  std::mutex mutex;
  int ended = 0;
  EngineHooks hooks;
  std::atomic<int> questions = 0;
  hooks.stop_requested = [&] { return ++questions == 20; };  // one rank hears of it
  run_six(
      3, [](Scripted& component) { call_hourly(component, 1'000'000); },
      [&](Engine&, Scripted&, bool finished) {
        EXPECT_FALSE(finished);
        const std::scoped_lock lock(mutex);
        ++ended;
      },
      hooks);
  EXPECT_EQ(ended, 3);
}

TEST(Engine, SumsTheModelsProgressOverTheRanks) {
  std::mutex mutex;
  std::vector<std::int64_t> sums;
  EngineHooks hooks;
  hooks.work_done = [] { return std::int64_t{7}; };
  hooks.on_round = [&](const RoundResult& round) {
    if (round.finished) {
      const std::scoped_lock lock(mutex);
      sums.push_back(round.sums.work_done);
      EXPECT_EQ(round.sums.events, 4);
    }
  };
  run_six(
      2, [](Scripted& component) { call_hourly(component, 4); }, [](Engine&, Scripted&, bool) {},
      hooks);
  EXPECT_THAT(sums, ElementsAre(14, 14));
}

// So that the program can say which key of the input made it so long.
TEST(Engine, KeepsTheKindOfATimeThatIsTooLong) {
  Single run(1);
  run.component.on_start = [](Context& context) {
    context.send_self(SimTime::from_ps(2500), Port(0, 0), 0);
  };
  run.component.on_event = [](Context& context, const Event&) {
    context.send_self(SimTime::never() - SimTime::from_ps(1000), Port(0, 0), 0);
  };
  try {
    run.engine.run();
    FAIL() << "nothing was thrown";
  } catch (const TimeTooLong& error) {
    EXPECT_EQ(error.time().ps(), 2500);
    EXPECT_EQ(error.entity(), EntityId(0));
  }
}

TEST(Engine, AnErrorOfOneRankEndsTheOthers) {
  const auto run = [] {
    run_six(
        3,
        [](Scripted& component) {
          call_hourly(component, 100);
          component.on_event = [go_on = component.on_event](Context& context, const Event& event) {
            if (event.as<int>() == 50) {
              throw ModelError("enough", context.now(), context.self());
            }
            go_on(context, event);
          };
        },
        [](Engine&, Scripted&, bool) { ADD_FAILURE() << "the run went on"; });
  };
  EXPECT_THROW(run(), ModelError);
}

}  // namespace
}  // namespace tessera::pdes::engine_test
