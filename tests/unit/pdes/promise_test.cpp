// What the promise policy does beyond giving the results of any other: see phold_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "regions.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::pdes::promise_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::regions_of;

constexpr SimTime lookahead = SimTime::from_ps(1000);
constexpr SimTime period = SimTime::from_ps(1'000'000'000);
constexpr Port port(0, 0);

// A rank for each entity; entity number = rank.
class Scripted final : public Component {
 public:
  std::function<void(Context&)> on_start = [](Context&) {};
  std::function<void(Context&, const Event&)> on_event = [](Context&, const Event&) {};
  std::function<std::optional<Outlook>(SimTime next)> on_outlook = [](SimTime) {
    return std::nullopt;
  };
  void start(Context& context) override { on_start(context); }
  void handle(Context& context, const Event& event) override { on_event(context, event); }
  std::optional<Outlook> outlook(std::uint32_t, const Moment& moment) override {
    return on_outlook(moment.next);
  }
  const char* name() const override { return "scripted model"; }
};

// Totals over all ranks.
struct Counts {
  std::uint64_t events = 0;
  std::uint64_t remote = 0;
  std::uint64_t batches = 0;
  std::uint64_t waits = 0;
};

Counts run(int ranks, const std::function<void(Scripted&, std::uint32_t rank)>& script) {
  Counts counts;
  std::mutex mutex;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    const auto size = static_cast<std::uint32_t>(ranks);
    Regions regions = regions_of(communicator, size, testing::blocks(size), lookahead);
    Engine engine(communicator, regions, lookahead,
                  make_promise_policy(communicator, regions.delays));
    Scripted model;
    script(model, static_cast<std::uint32_t>(communicator.rank()));
    engine.attach(model);
    EXPECT_TRUE(engine.run());
    const std::scoped_lock lock(mutex);
    counts.events += engine.statistics().events;
    counts.remote += engine.statistics().remote_events;
    counts.batches += engine.statistics().batches;
    counts.waits += engine.statistics().waits;
  });
  return counts;
}

// Each rank has an event a millisecond, and they take turns.
void tick(Scripted& model, std::uint32_t rank, int ticks) {
  model.on_start = [rank](Context& context) {
    context.send_self(period + SimTime::from_ps(5000 * rank), port, std::uint32_t{1});
  };
  model.on_event = [ticks](Context& context, const Event& event) {
    const auto number = event.as<std::uint32_t>();
    if (number < static_cast<std::uint32_t>(ticks)) {
      context.send_self(period, port, number + 1);
    }
  };
}

TEST(Promises, OfSilentModelsDoNotCreepThroughIdleTime) {
  constexpr int ticks = 20;
  const Counts counts =
      run(2, [](Scripted& model, std::uint32_t rank) { tick(model, rank, ticks); });
  EXPECT_EQ(counts.events, 2U * ticks);
  // By lookaheads it would be a million batches a tick.
  EXPECT_LT(counts.batches, 40U * ticks);
}

TEST(Promises, CirclesOfRegionsDoNotCreep) {
  constexpr int ticks = 5;
  const Counts counts =
      run(4, [](Scripted& model, std::uint32_t rank) { tick(model, rank, ticks); });
  EXPECT_EQ(counts.events, 4U * ticks);
  // A round of statements, and some more, for each tick of each.
  EXPECT_LT(counts.batches, 200U * ticks);
}

TEST(Promises, OfModelsThatNeverSendSpareAllWaits) {
  constexpr int ticks = 1000;
  const Counts counts = run(2, [](Scripted& model, std::uint32_t rank) {
    tick(model, rank, ticks);
    model.on_outlook = [](SimTime) { return Outlook{}; };
  });
  EXPECT_EQ(counts.events, 2U * ticks);
  EXPECT_LE(counts.waits, 2U);  // for what the other says first
}

// Rank 0 works by itself and sends a message every tenth millisecond, as it says beforehand.
TEST(Promises, LetTheReceiverRunUpToTheNextMessage) {
  constexpr int ticks = 200;
  int received = 0;
  const Counts counts = run(2, [&received](Scripted& model, std::uint32_t rank) {
    tick(model, rank, ticks);
    if (rank == 1) {
      model.on_outlook = [](SimTime) { return Outlook{}; };
      model.on_event = [&received, on_tick = model.on_event](Context& context, const Event& event) {
        if (event.source == context.self()) {
          on_tick(context, event);
        } else {
          ++received;
        }
      };
      return;
    }
    const SimTime every = period * 10;
    model.on_outlook = [every](SimTime next) {
      Outlook outlook;
      outlook.at =
          every * (next.is_never() ? 1'000 : (next - SimTime::from_ps(1)).ps() / every.ps() + 1) +
          lookahead;
      return outlook;
    };
    model.on_event = [every, on_tick = model.on_event](Context& context, const Event& event) {
      if (context.now().ps() % every.ps() == 0) {
        context.send(EntityId(1), lookahead, port, std::uint32_t{0});
      }
      on_tick(context, event);
    };
  });
  EXPECT_EQ(received, ticks / 10);
  EXPECT_EQ(counts.remote, static_cast<std::uint64_t>(ticks / 10));
  EXPECT_LE(counts.waits, static_cast<std::uint64_t>(4 * (ticks / 10) + 4));
}

TEST(Promises, ThatDoNotHoldAreDefectsOfTheModel) {
  try {
    run(2, [](Scripted& model, std::uint32_t rank) {
      tick(model, rank, 3);
      model.on_outlook = [](SimTime) { return Outlook{}; };  // never
      if (rank == 0) {
        model.on_event = [](Context& context, const Event&) {
          context.send(EntityId(1), lookahead, port, std::uint32_t{9});
        };
      }
    });
    FAIL() << "a broken promise was not noticed";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("scripted model"), HasSubstr("entity 0"), HasSubstr("entity 1"),
                      HasSubstr("1.000001 ms"), HasSubstr("never")));
  }
}

}  // namespace
}  // namespace tessera::pdes::promise_test
