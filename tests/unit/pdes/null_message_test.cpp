// What the null-message policy does beyond giving the results of any other: see phold_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "phold.hpp"

namespace tessera::pdes::null_message_test {
namespace {

using ::testing::AllOf;
using testing::blocks;
using testing::closed;
using testing::delays_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::PholdSettings;
using testing::Reach;
using testing::regions_of;
using testing::run_phold;

constexpr SimTime lookahead = SimTime::from_ps(1000);
constexpr SimTime never = SimTime::never();

PholdSettings null_messages(Reach reach) {
  PholdSettings settings;
  settings.policy = "null-message";
  settings.reach = reach;
  return settings;
}

TEST(SyncPolicies, HaveNames) {
  EXPECT_THAT(sync_policies().names(), ElementsAre("null-message", "promise", "window"));
}

TEST(NullMessages, MeetSeldomWhileAllAreBusy) {
  const PholdSettings settings = null_messages(Reach::line);
  const Outcome outcome = run_phold(4, settings, blocks(settings.entities));
  EXPECT_GT(outcome.rounds, 200U);
  EXPECT_LT(outcome.global_rounds * 4, outcome.rounds);
}

// A rank for each entity; entity number = rank.
class Scripted final : public Component {
 public:
  std::function<void(Context&)> on_start = [](Context&) {};
  std::function<void(Context&, const Event&)> on_event = [](Context&, const Event&) {};
  void start(Context& context) override { on_start(context); }
  void handle(Context& context, const Event& event) override { on_event(context, event); }
};

struct Ending {
  bool finished = false;
  std::uint64_t rounds = 0;
  std::uint64_t events = 0;
};

std::vector<Ending> run_scripted(const std::vector<SimTime>& direct, int ranks,
                                 const std::function<void(Scripted&)>& script,
                                 const EngineHooks& hooks = {}) {
  std::vector<Ending> endings(static_cast<std::size_t>(ranks));
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    const auto entities = static_cast<std::uint32_t>(ranks);
    Regions regions = regions_of(communicator, entities, blocks(entities), lookahead);
    regions.delays = delays_of(communicator, closed(direct, entities), direct);
    Engine engine(communicator, regions, lookahead,
                  make_null_message_policy(communicator, regions.delays));
    Scripted component;
    script(component);
    engine.attach(component);
    Ending& ending = endings[static_cast<std::size_t>(communicator.rank())];
    ending.finished = engine.run(hooks);
    ending.rounds = engine.statistics().rounds;
    ending.events = engine.statistics().events;
  });
  return endings;
}

// Regions in a row, each linked to the next both ways.
std::vector<SimTime> row(std::size_t ranks, SimTime delay) {
  std::vector<SimTime> delays(ranks * ranks, never);
  for (std::size_t rank = 0; rank + 1 < ranks; ++rank) {
    delays[rank * ranks + rank + 1] = delay;
    delays[(rank + 1) * ranks + rank] = delay;
  }
  return delays;
}

// Every entity has an event in each of 500 windows, then none for an hour, ten times.
TEST(NullMessages, JumpIdleStretches) {
  constexpr int busy = 500;
  constexpr int days = 10;
  const SimTime hour = SimTime::from_ps(3'600'000'000'000'000);
  const auto script = [&](Scripted& component) {
    component.on_start = [](Context& context) {
      context.send_self(lookahead, Port(0, 0), days * busy);
    };
    component.on_event = [&](Context& context, const Event& event) {
      const int left = event.as<int>() - 1;
      if (left > 0) {
        context.send_self(left % busy == 0 ? hour : lookahead, Port(0, 0), left);
      }
    };
  };
  for (const Ending& ending : run_scripted(row(3, lookahead), 3, script)) {
    EXPECT_TRUE(ending.finished);
    EXPECT_EQ(ending.events, static_cast<std::uint64_t>(days * busy));
    // A round a window, and less than three of the longest stretches for every idle one.
    EXPECT_LT(ending.rounds, static_cast<std::uint64_t>(days * (busy + 3 * 64)));
  }
}

// Asked once, of one rank, in some round of a stretch in which it meets nobody.
TEST(NullMessages, StopAllWhenOneIsAskedTo) {
  const auto for_ever = [](Scripted& component) {
    component.on_start = [](Context& context) { context.send_self(lookahead, Port(0, 0), 0); };
    component.on_event = [](Context& context, const Event&) {
      context.send_self(lookahead, Port(0, 0), 0);
    };
  };
  EngineHooks hooks;
  std::atomic<int> questions = 0;
  hooks.stop_requested = [&] { return ++questions == 2000; };
  for (const Ending& ending : run_scripted(row(4, lookahead), 4, for_ever, hooks)) {
    EXPECT_FALSE(ending.finished);
    EXPECT_GT(ending.rounds, 100U);
    EXPECT_LT(ending.rounds, 2500U);
  }
}

TEST(NullMessages, CutAtTheSameTimeOnAllRanks) {
  PholdSettings settings = null_messages(Reach::ring);
  const Outcome expected = run_phold(0, settings, blocks(settings.entities));
  std::mutex mutex;
  std::map<std::int64_t, int> pauses;  // ranks that made each
  EngineHooks hooks;
  hooks.on_pause = [&](SimTime pause) {
    const std::scoped_lock lock(mutex);
    ++pauses[pause.ps()];
  };
  std::atomic<int> questions = 0;
  hooks.checkpoint_requested = [&] { return ++questions % 400 == 0; };
  const Outcome outcome =
      run_phold(4, settings, blocks(settings.entities), hooks,
                [](Engine& engine) { engine.set_pauses(SimTime::from_ps(50'000)); });
  EXPECT_TRUE(outcome == expected);
  EXPECT_GE(pauses.size(), 6U);
  for (const std::int64_t periodic : {50'000, 100'000, 150'000, 200'000, 250'000}) {
    EXPECT_EQ(pauses.count(periodic), 1U) << periodic;
  }
  for (const auto& [pause, ranks] : pauses) {
    EXPECT_EQ(ranks, 4) << pause;
  }
}

// What every rank has handled at a pause is all that comes before it, and nothing else.
TEST(NullMessages, HaveNothingInFlightAtACut) {
  constexpr int rounds = 300;
  constexpr std::uint32_t ranks = 4;
  std::mutex mutex;
  std::vector<std::int64_t> at_pauses;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    Regions regions = regions_of(communicator, ranks, blocks(ranks), lookahead);
    std::vector<SimTime> ring = row(ranks, lookahead);
    ring[ranks - 1] = ring[(ranks - 1) * ranks] = lookahead;
    regions.delays = delays_of(communicator, closed(ring, ranks), ring);
    Engine engine(communicator, regions, lookahead,
                  make_null_message_policy(communicator, regions.delays));
    // Messages run round the ring, one an entity and window; the first arrives in window 1.
    const auto pass_on = [&](Context& context, int left) {
      context.send(EntityId((context.self().value() + 1) % ranks), lookahead, Port(0, 0), left);
    };
    std::int64_t handled = 0;
    Scripted component;
    component.on_start = [&](Context& context) { pass_on(context, rounds); };
    component.on_event = [&](Context& context, const Event& event) {
      ++handled;
      if (const int left = event.as<int>() - 1; left > 0) {
        pass_on(context, left);
      }
    };
    engine.attach(component);
    engine.set_pauses(lookahead * 37);
    EngineHooks hooks;
    hooks.on_pause = [&](SimTime pause) {
      const std::scoped_lock lock(mutex);
      at_pauses.push_back(handled - pause.ps() / lookahead.ps());
    };
    EXPECT_TRUE(engine.run(hooks));
  });
  EXPECT_EQ(at_pauses.size(), 8 * ranks);
  EXPECT_THAT(at_pauses, ::testing::Each(-1));  // windows 1 to n - 1
}

TEST(NullMessages, WorkWhereLinksLeadOneWayOnly) {
  std::vector<SimTime> direct(4, never);
  direct[1] = lookahead;  // from 0 to 1
  const auto script = [](Scripted& component) {
    component.on_start = [](Context& context) {
      if (context.self() == EntityId(0)) {
        context.send_self(lookahead, Port(0, 0), 1000);
      }
    };
    component.on_event = [](Context& context, const Event& event) {
      const int left = event.as<int>() - 1;
      if (context.self() == EntityId(0) && left > 0) {
        context.send_self(lookahead, Port(0, 0), left);
        context.send(EntityId(1), lookahead, Port(0, 0), left);
      }
    };
  };
  const auto endings = run_scripted(direct, 2, script);
  EXPECT_TRUE(endings[0].finished && endings[1].finished);
  EXPECT_EQ(endings[0].events, 1000U);
  EXPECT_EQ(endings[1].events, 999U);
}

TEST(NullMessages, WorkWhereRegionsAreNotLinked) {
  const auto script = [](Scripted& component) {
    component.on_start = [](Context& context) { context.send_self(lookahead, Port(0, 0), 50); };
    component.on_event = [](Context& context, const Event& event) {
      if (const int left = event.as<int>() - 1; left > 0) {
        context.send_self(lookahead, Port(0, 0), left);
      }
    };
  };
  for (const Ending& ending : run_scripted(std::vector<SimTime>(9, never), 3, script)) {
    EXPECT_TRUE(ending.finished);
    EXPECT_EQ(ending.events, 50U);
  }
}

// Entity 0 ticks 200 times and then sends to `target` with `delay`.
std::string complaint(const std::vector<SimTime>& direct, const std::vector<SimTime>& closed_delays,
                      std::uint32_t target, SimTime delay) {
  try {
    comm::run_ranks_as_threads(3, [&](comm::Communicator& communicator) {
      Regions regions = regions_of(communicator, 3, blocks(3), lookahead);
      regions.delays = delays_of(communicator, closed_delays, direct);
      Engine engine(communicator, regions, lookahead,
                    make_null_message_policy(communicator, regions.delays));
      Scripted component;
      component.on_start = [](Context& context) { context.send_self(lookahead, Port(0, 0), 200); };
      component.on_event = [&](Context& context, const Event& event) {
        if (const int left = event.as<int>() - 1; left > 0) {
          context.send_self(lookahead, Port(0, 0), left);
        } else if (context.self() == EntityId(0)) {
          context.send(EntityId(target), delay, Port(0, 0), 0);
        }
      };
      engine.attach(component);
      engine.run();
    });
  } catch (const ModelError& error) {
    return error.what();
  }
  return "no ModelError";
}

TEST(NullMessages, RefuseASendToARankThatIsNoNeighbour) {
  const auto direct = row(3, lookahead);
  EXPECT_THAT(
      complaint(direct, closed(direct, 3), 2, lookahead * 2),
      AllOf(HasSubstr("entity 0 (rank 0) sends to entity 2 (rank 2)"), HasSubstr("no link leads")));
  EXPECT_EQ(complaint(direct, closed(direct, 3), 1, lookahead), "no ModelError");
}

TEST(NullMessages, RefuseASendThatBreaksAPromise) {
  const auto direct = row(3, lookahead * 5);
  const std::vector<SimTime> looser = closed(row(3, lookahead), 3);
  EXPECT_THAT(complaint(direct, looser, 1, lookahead),
              AllOf(HasSubstr("causality"), HasSubstr("entity 0 (rank 0) sends to entity 1")));
}

}  // namespace
}  // namespace tessera::pdes::null_message_test
