// The runner of collectives: which step begins when, by itself and as a member's part in an
// algorithm with a clock of the test.
#include "tessera/collective/lane.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "run_clock.hpp"
#include "tessera/collective/algorithm_run.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective::lane_test {
namespace {

using ::testing::ElementsAre;

// A lane of steps by hand, and what became of them.
struct ByHand {
  std::vector<Step> all;
  bool passes = false;
  bool ends_at_once = true;
  std::vector<bool> out_of_step{};  // empty: in step
  std::set<std::uint32_t> early{};
  std::vector<std::string> did{};

  std::uint32_t steps() const { return static_cast<std::uint32_t>(all.size()); }
  const Step& step(std::uint32_t number) const { return all.at(number); }
  void send(const Step& step) { did.push_back("send " + std::to_string(step.send_step)); }
  bool take_early(std::uint32_t number) { return early.erase(number) > 0; }
  bool received(std::uint32_t number, const Step& step) {
    did.push_back("take " + std::to_string(number) + ": " + to_string(step.receive_bytes));
    return ends_at_once;
  }
  bool passes_on() const { return passes; }
  void passed_on(std::uint32_t number, Bytes bytes) {
    did.push_back("take " + std::to_string(number) + ": " + to_string(bytes));
  }
  std::vector<bool>* ended() { return out_of_step.empty() ? nullptr : &out_of_step; }
  std::vector<std::string> done() { return std::exchange(did, {}); }
};

Step step(std::uint32_t number, std::uint64_t sent, std::uint64_t received,
          std::uint32_t after = 0) {
  Step one;
  one.send_to = 1;
  one.send_step = number;
  one.send_bytes = Bytes(sent);
  one.receive_from = 1;
  one.receive_bytes = Bytes(received);
  one.after = after;
  return one;
}

TEST(Lane, BeginsAStepWhenTheOneBeforeIsOver) {
  ByHand host{{step(0, 4, 3), step(1, 3, 2), step(2, 2, 1)}};
  Lane lane;
  EXPECT_TRUE(lane.begin_next(host));
  EXPECT_FALSE(lane.begin_next(host));
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("send 0"));
  host.early = {1};
  lane.arrived(0, host);
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("take 0: 3 B", "send 1", "take 1: 2 B", "send 2"));
  EXPECT_EQ(lane.over, 2U);
  lane.arrived(2, host);
  lane.go_on(host);
  EXPECT_EQ(lane.over, 3U);
  EXPECT_EQ(lane.begun, 3U);
}

// Messages of several steps may be there before it looks.
TEST(Lane, PassesOnAllThatIsThere) {
  ByHand host{{step(0, 4, 3), step(1, 3, 2), step(2, 2, 1)}};
  host.passes = true;
  host.early = {0, 1, 2};
  Lane lane;
  lane.begin_next(host);
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("send 0", "take 0: 3 B", "send 1", "take 1: 2 B", "send 2",
                                       "take 2: 1 B"));
  EXPECT_EQ(lane.over, 3U);
}

// What is passed on is asked for once: the next step says how much has come.
TEST(Lane, PassesOnAsItWouldStepByStep) {
  ByHand one{{step(0, 4, 3), step(1, 3, 2), step(2, 2, 1)}};
  ByHand other = one;
  other.passes = true;
  for (ByHand* const host : {&one, &other}) {
    Lane lane;
    lane.go_on(*host);
    host->early = {2};
    for (const std::uint32_t number : {0U, 1U}) {
      lane = Lane::in_step(number, 3);  // a number is all that there is to keep
      lane.arrived(number, *host);
      lane.go_on(*host);
    }
    EXPECT_EQ(lane.over, 3U);
  }
  EXPECT_EQ(one.did, other.did);
  EXPECT_EQ(one.did.back(), "take 2: 1 B");
}

// All that came early is taken at once, also where taking one begins the next.
TEST(Lane, TakesSeveralThatCameEarly) {
  for (const bool passes : {false, true}) {
    ByHand host{{step(0, 4, 3), step(1, 3, 2), step(2, 2, 1), step(3, 1, 1)}};
    host.passes = passes;
    host.early = {1, 2};
    Lane lane;
    lane.go_on(host);
    lane.arrived(0, host);
    lane.go_on(host);
    EXPECT_EQ(lane.over, 3U) << passes;
    EXPECT_EQ(lane.begun, 4U) << passes;
    EXPECT_THAT(host.early, ::testing::IsEmpty()) << passes;
    EXPECT_EQ(host.did.back(), "send 3") << passes;
  }
}

TEST(Lane, GoesPastStepsThatWaitForNobody) {
  ByHand host{{step(0, 1, 1), step(1, 1, 1), step(2, 1, 1)}};
  host.all[0].receive_from = nobody;
  host.all[1].send_to = nobody;
  Lane lane;
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("send 0"));
  EXPECT_EQ(lane.over, 1U);
  EXPECT_EQ(lane.begun, 2U);
}

TEST(Lane, WaitsForTheEndOfAStepThatTakesTime) {
  ByHand host{{step(0, 1, 1), step(1, 1, 1)}};
  host.ends_at_once = false;
  Lane lane;
  lane.go_on(host);
  lane.arrived(0, host);
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("send 0", "take 0: 1 B"));
  lane.end(0, host);
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("send 1"));
  EXPECT_THROW(lane.end(0, host), InternalError);
}

// With two under way at a time, the third begins when the first is over, not the second.
TEST(Lane, OutOfStepGoesByWhatStepsComeAfter) {
  ByHand host{{step(0, 1, 1), step(1, 1, 1), step(2, 1, 1, 1)}};
  host.out_of_step.resize(3);
  Lane lane;
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("send 0", "send 1"));
  lane.arrived(1, host);
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("take 1: 1 B"));
  lane.arrived(0, host);
  lane.go_on(host);
  EXPECT_THAT(host.done(), ElementsAre("take 0: 1 B", "send 2"));
  EXPECT_EQ(lane.over, 2U);
}

// By itself, as served models have it: members 0 to n - 1 of one dimension.
test::RunClock clock_of(const Algorithm& algorithm, Kind kind, std::uint32_t size,
                        const StepCosts& costs) {
  return test::RunClock(test::RunWorld{
      size,
      [&algorithm, kind, size, costs](std::uint32_t member) {
        AlgorithmPart part;
        part.algorithm = &algorithm;
        part.kind = kind;
        part.size = size;
        part.member = member;
        part.bytes = Bytes(10'007);
        part.costs = costs;
        return std::make_unique<AlgorithmRun>(part);
      },
      [](std::uint32_t, std::uint32_t, std::uint32_t coordinate) { return coordinate; },
      [](std::uint32_t, Bytes bytes) {
        return SimTime::from_ps(500 + static_cast<std::int64_t>(bytes.count()));
      },
      {}});
}

TEST(AlgorithmRun, EndsAtEveryMemberWithNothingLeft) {
  StepCosts with_costs;
  with_costs.endpoint = SimTime::from_ps(7);
  with_costs.local_memory = Bandwidth::bytes_per_second(1'000'000'000'000U);
  for (const std::string& name : algorithms().names()) {
    const auto algorithm = algorithms().at(name)({2});
    for (std::size_t number = 0; number < kinds; ++number) {
      const auto kind = static_cast<Kind>(number);
      for (const std::uint32_t size : {1U, 2U, 5U, 8U}) {
        if (!algorithm->offers(kind)) {
          continue;
        }
        for (const StepCosts& costs : {StepCosts{}, with_costs}) {
          test::RunClock clock = clock_of(*algorithm, kind, size, costs);
          clock.run(3 * size);
          clock.save_and_restore();
          clock.go_on(10'000'000);
          EXPECT_TRUE(clock.all_over()) << name << ' ' << to_string(kind) << ' ' << size;
          EXPECT_EQ(clock.kept(), 0U) << name << ' ' << to_string(kind) << ' ' << size;
        }
      }
    }
  }
}

// A ring without costs passes on; one whose additions take next to nothing does not: 14 steps of
// eight take the same, but for a picosecond an addition and pass.
TEST(AlgorithmRun, PassesOnInTheTimeOfItsSteps) {
  const auto ring = algorithms().at("ring")({});
  StepCosts adds;
  adds.local_memory = Bandwidth::bytes_per_second(std::uint64_t{1} << 62U);
  test::RunClock passing = clock_of(*ring, Kind::all_reduce, 8, {});
  test::RunClock adding = clock_of(*ring, Kind::all_reduce, 8, adds);
  passing.run();
  adding.run();
  EXPECT_EQ(passing.known(), 8 * 14);
  EXPECT_GT(adding.known(), 8 * 14) << "waits of its own, too";
  for (std::uint32_t member = 0; member < 8; ++member) {
    EXPECT_EQ(adding.ends()[member], passing.ends()[member] + 7 * 3) << member;
    EXPECT_EQ(adding.sent(member, (member + 1) % 8), passing.sent(member, (member + 1) % 8));
  }
}

}  // namespace
}  // namespace tessera::collective::lane_test
