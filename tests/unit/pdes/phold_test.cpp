// PHOLD (Fujimoto, "Performance of Time Warp under synthetic workloads", 1990): every event causes
// one more, here with 25 % of them at another entity. Each entity keeps a hash that depends on the
// order in which it handled its events, so that equal hashes mean an equal order.

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "regions.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/random.hpp"

namespace tessera::pdes {
namespace {

using testing::blocks;
using testing::Owner;
using testing::regions_of;

constexpr std::uint32_t entities = 200;
constexpr SimTime lookahead = SimTime::from_ps(1000);
constexpr SimTime end = SimTime::from_ps(300'000);

class Phold final : public Component {
 public:
  explicit Phold(const Engine& engine) : hashes_(engine.local_entities()) {
    for (std::uint32_t index = 0; index < engine.local_entities(); ++index) {
      random_.emplace_back(11, engine.entity_of(index), 0);
    }
  }
  void start(Context& context) override {
    for (int i = 0; i < 4; ++i) {
      go_on(context);
    }
  }
  void handle(Context& context, const Event& event) override {
    std::uint64_t& hash = hashes_[context.index()];
    hash = mix64(hash ^ static_cast<std::uint64_t>(event.time.ps()));
    hash = mix64(hash ^ event.source.value() ^ std::uint64_t{event.sequence} << 32);
    hash = mix64(hash ^ event.as<std::uint64_t>());
    EXPECT_EQ(context.now(), event.time);
    if (context.now() < end) {
      go_on(context);
    }
  }
  std::uint64_t hash(std::uint32_t index) const { return hashes_[index]; }

 private:
  void go_on(Context& context) {
    RandomStream& random = random_[context.index()];
    const std::uint64_t word = random.next_u64();
    const auto extra = static_cast<std::int64_t>(random.next_exponential(1500.0));
    if (random.next_uniform() < 0.25) {
      const auto target = static_cast<std::uint32_t>(random.next_below(entities));
      context.send(EntityId(target), lookahead + SimTime::from_ps(extra), Port(0, 0), word);
    } else {
      // Coarse, so that many events fall on one instant, some of them the current one.
      context.send_self(SimTime::from_ps(extra / 500 * 500), Port(0, 0), word);
    }
  }
  std::vector<RandomStream> random_;
  std::vector<std::uint64_t> hashes_;
};

struct Outcome {
  std::vector<std::uint64_t> hashes = std::vector<std::uint64_t>(entities);
  std::uint64_t events = 0;
  std::uint64_t remote = 0;
  SimTime last;
  bool operator==(const Outcome& other) const {
    return hashes == other.hashes && events == other.events && last == other.last;
  }
};

void run_rank(comm::Communicator& communicator, const Owner& owner, std::mutex& mutex,
              Outcome& outcome) {
  Engine engine(communicator, regions_of(communicator, entities, owner, lookahead), lookahead);
  Phold phold(engine);
  engine.attach(phold);
  EXPECT_TRUE(engine.run());
  const std::scoped_lock lock(mutex);
  for (std::uint32_t index = 0; index < engine.local_entities(); ++index) {
    outcome.hashes[engine.entity_of(index).value()] = phold.hash(index);
  }
  outcome.events += engine.statistics().events;
  outcome.remote += engine.statistics().remote_events;
  outcome.last = std::max(outcome.last, engine.last_event_time());
}

Outcome run_on(int ranks, const Owner& owner) {
  Outcome outcome;
  std::mutex mutex;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    run_rank(communicator, owner, mutex, outcome);
  });
  return outcome;
}

Outcome reference() {
  Outcome outcome;
  std::mutex mutex;
  const auto communicator = comm::make_in_process();
  run_rank(*communicator, blocks(entities), mutex, outcome);
  return outcome;
}

// Any owner for any entity, the same on all ranks, none without an entity.
Owner scattered(std::uint64_t seed) {
  return [seed](std::uint32_t entity, std::uint32_t ranks) {
    return entity < ranks ? entity : static_cast<std::uint32_t>(mix64(seed ^ entity) % ranks);
  };
}

TEST(Phold, IsTheSameOnAnyNumberOfRanks) {
  const Outcome expected = reference();
  EXPECT_GT(expected.events, 20'000U);
  EXPECT_GE(expected.last, end);
  for (const int ranks : {1, 2, 3, 4, 8}) {
    const Outcome outcome = run_on(ranks, blocks(entities));
    EXPECT_TRUE(outcome == expected) << ranks << " ranks";
    EXPECT_EQ(outcome.remote > 0, ranks > 1);
  }
}

TEST(Phold, IsTheSameForAnyPartition) {
  const Outcome expected = reference();
  for (const std::uint64_t seed : {1, 2, 3}) {
    EXPECT_TRUE(run_on(3, scattered(seed)) == expected) << seed;
  }
  const auto all_but_one = [](std::uint32_t entity, std::uint32_t) {
    return entity == 7 ? 1U : 0U;
  };
  EXPECT_TRUE(run_on(2, all_but_one) == expected);
}

}  // namespace
}  // namespace tessera::pdes
