// PHOLD (Fujimoto, "Performance of Time Warp under synthetic workloads", 1990): every event causes
// one more, here with 25 % of them at another entity. Each entity keeps a hash that depends on the
// order in which it handled its events, so that equal hashes mean an equal order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "regions.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/random.hpp"

namespace tessera::pdes::testing {

// To whom an entity sends: anyone, or one that is two places away at most.
enum class Reach { anywhere, ring, line };

// Events go on until `end`.
struct PholdSettings {
  std::uint32_t entities = 200;
  SimTime lookahead = SimTime::from_ps(1000);
  SimTime end = SimTime::from_ps(300'000);
  Reach reach = Reach::anywhere;
  std::string policy = "window";
};

class Phold final : public Component {
 public:
  Phold(const Engine& engine, const PholdSettings& settings)
      : settings_(settings), hashes_(engine.local_entities()) {
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
    if (context.now() < settings_.end) {
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
      context.send(target_of(context.self().value(), random),
                   settings_.lookahead + SimTime::from_ps(extra), Port(0, 0), word);
    } else {
      // Coarse, so that many events fall on one instant, some of them the current one.
      context.send_self(SimTime::from_ps(extra / 500 * 500), Port(0, 0), word);
    }
  }
  EntityId target_of(std::uint32_t self, RandomStream& random) const {
    const std::uint32_t n = settings_.entities;
    if (settings_.reach == Reach::anywhere) {
      return EntityId(static_cast<std::uint32_t>(random.next_below(n)));
    }
    const std::uint32_t target = self + n + static_cast<std::uint32_t>(random.next_below(5)) - 2;
    return EntityId(settings_.reach == Reach::ring ? target % n
                                                   : std::clamp(target, n, 2 * n - 1) - n);
  }
  PholdSettings settings_;
  std::vector<RandomStream> random_;
  std::vector<std::uint64_t> hashes_;
};

struct Outcome {
  std::vector<std::uint64_t> hashes;
  std::uint64_t events = 0;
  std::uint64_t remote = 0;
  std::uint64_t rounds = 0;         // of rank 0
  std::uint64_t global_rounds = 0;  // of rank 0
  SimTime last;
  bool operator==(const Outcome& other) const {
    return hashes == other.hashes && events == other.events && last == other.last;
  }
};

// What one entity of PHOLD may send to another.
inline RegionDelays delays_of(const comm::Communicator& communicator, const PholdSettings& settings,
                              const std::vector<std::uint32_t>& owner) {
  const auto ranks = static_cast<std::uint32_t>(communicator.size());
  std::vector<SimTime> direct(std::size_t{ranks} * ranks, SimTime::never());
  const std::uint32_t n = settings.entities;
  for (std::uint32_t a = 0; a < n; ++a) {
    for (std::uint32_t b = 0; b < n; ++b) {
      const std::uint32_t apart = a > b ? a - b : b - a;
      const bool reached = settings.reach == Reach::anywhere || apart <= 2 ||
                           (settings.reach == Reach::ring && apart >= n - 2);
      if (reached && owner[a] != owner[b]) {
        direct[owner[a] * ranks + owner[b]] = settings.lookahead;
      }
    }
  }
  return delays_of(communicator, closed(direct, ranks), direct);
}

inline void run_rank(comm::Communicator& communicator, const PholdSettings& settings,
                     const Owner& owner, EngineHooks hooks,
                     const std::function<void(Engine&)>& prepare, std::mutex& mutex,
                     Outcome& outcome) {
  Regions regions = regions_of(communicator, settings.entities, owner, settings.lookahead);
  regions.delays = delays_of(communicator, settings, regions.owner);
  Engine engine(communicator, regions, settings.lookahead,
                sync_policies().at(settings.policy)(communicator, regions.delays));
  Phold phold(engine, settings);
  engine.attach(phold);
  prepare(engine);
  std::uint64_t global_rounds = 0;
  hooks.on_round = [&](const RoundResult& round) { global_rounds += round.global ? 1 : 0; };
  EXPECT_TRUE(engine.run(hooks));
  const std::scoped_lock lock(mutex);
  outcome.hashes.resize(settings.entities);
  for (std::uint32_t index = 0; index < engine.local_entities(); ++index) {
    outcome.hashes[engine.entity_of(index).value()] = phold.hash(index);
  }
  outcome.events += engine.statistics().events;
  outcome.remote += engine.statistics().remote_events;
  outcome.last = std::max(outcome.last, engine.last_event_time());
  if (communicator.rank() == 0) {
    outcome.rounds = engine.statistics().rounds;
    outcome.global_rounds = global_rounds;
  }
}

// On threads; `ranks` 0 stands for one rank in-process. `hooks` and `prepare` serve all ranks.
inline Outcome run_phold(
    int ranks, const PholdSettings& settings, const Owner& owner, const EngineHooks& hooks = {},
    const std::function<void(Engine&)>& prepare = [](Engine&) {}) {
  Outcome outcome;
  std::mutex mutex;
  const auto body = [&](comm::Communicator& communicator) {
    run_rank(communicator, settings, owner, hooks, prepare, mutex, outcome);
  };
  if (ranks == 0) {
    body(*comm::make_in_process());
  } else {
    comm::run_ranks_as_threads(ranks, body);
  }
  return outcome;
}

// Any owner for any entity, the same on all ranks, none without an entity.
inline Owner scattered(std::uint64_t seed) {
  return [seed](std::uint32_t entity, std::uint32_t ranks) {
    return entity < ranks ? entity : static_cast<std::uint32_t>(mix64(seed ^ entity) % ranks);
  };
}

}  // namespace tessera::pdes::testing
