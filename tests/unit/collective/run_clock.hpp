// Runs of a collective at all its members, with a clock and a network of the test. What a run says
// it waits for is held against what makes it send.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tessera/collective/run.hpp"

namespace tessera::collective::test {

// What the runs have around them.
struct RunWorld {
  std::uint32_t members = 0;
  std::function<std::unique_ptr<CollectiveRun>(std::uint32_t member)> run;
  // The member that differs from another in one coordinate.
  std::function<std::uint32_t(std::uint32_t member, std::uint32_t dimension,
                              std::uint32_t coordinate)>
      member_at;
  std::function<SimTime(std::uint32_t dimension, Bytes bytes)> message_time;
  // Beyond that, of a message, and before a member begins [ps]; may be empty.
  std::function<std::int64_t()> delay;
};

class RunClock {
 public:
  explicit RunClock(RunWorld world) : world_(std::move(world)) {
    for (std::uint32_t member = 0; member < world_.members; ++member) {
      runs_.push_back(world_.run(member));
      ends_.emplace_back();
    }
  }

  // Until nothing is left to happen.
  void run(std::size_t most_events = 10'000'000) {
    for (std::uint32_t member = 0; member < world_.members; ++member) {
      schedule(delay(), [this, member] { act(member, [](auto& r, auto& a) { r.begin(a); }); });
    }
    go_on(most_events);
  }
  void go_on(std::size_t most_events) {
    while (!events_.empty() && most_events-- > 0) {
      const auto first = events_.begin();
      now_ = first->first.first;
      const auto action = std::move(first->second);
      events_.erase(first);
      action();
    }
  }

  bool all_over() const {
    return std::all_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->is_over(); });
  }
  const std::vector<std::int64_t>& ends() const { return ends_; }  // [members, ps]
  // Messages that came and were never taken.
  std::size_t kept() const { return early_.size(); }
  // Times that something came to a member that knew what it waits for.
  std::uint64_t known() const { return known_; }
  // Bytes sent between two members.
  std::uint64_t sent(std::uint32_t from, std::uint32_t to) const {
    const auto found = sent_.find({from, to});
    return found == sent_.end() ? 0 : found->second;
  }

  // Replaces every run by one made of what it saves.
  void save_and_restore() {
    for (std::uint32_t member = 0; member < world_.members; ++member) {
      const std::vector<std::uint32_t> state = runs_[member]->save();
      runs_[member] = world_.run(member);
      runs_[member]->restore(state);
      EXPECT_EQ(runs_[member]->save(), state);
    }
  }

 private:
  class Actions final : public RunActions {
   public:
    Actions(RunClock& clock, std::uint32_t member) : clock_(clock), member_(member) {}
    void send(std::uint32_t dimension, std::uint32_t coordinate, const StepName& name,
              Bytes bytes) override {
      RunClock& clock = clock_;
      const std::uint32_t to = clock.world_.member_at(member_, dimension, coordinate);
      clock.sent_[{member_, to}] += bytes.count();
      ++clock.messages_;
      const std::int64_t time = clock.world_.message_time(dimension, bytes).ps() + clock.delay();
      clock.schedule(time, [&clock, to, name] {
        bool taken = false;
        clock.act_awaited(to, name,
                          [&](auto& run, auto& actions) { taken = run.arrived(name, actions); });
        if (!taken) {
          EXPECT_TRUE(clock.early_.insert({to, name}).second) << "two messages of one name";
        }
      });
    }
    bool take_early(const StepName& name) override {
      return clock_.early_.erase({member_, name}) > 0;
    }
    void wait(SimTime time, const StepName& name) override {
      RunClock& clock = clock_;
      clock.schedule(time.ps(), [&clock, member = member_, name] {
        clock.act_awaited(member, name,
                          [&](auto& run, auto& actions) { run.elapsed(name, actions); });
      });
    }

   private:
    RunClock& clock_;
    std::uint32_t member_;
  };

  std::int64_t delay() const { return world_.delay ? world_.delay() : 0; }
  void schedule(std::int64_t delay, std::function<void()> action) {
    events_.emplace(std::pair{now_ + delay, number_++}, std::move(action));
  }
  template <class Act>
  void act(std::uint32_t member, const Act& action) {
    Actions actions(*this, member);
    action(*runs_[member], actions);
    ends_[member] = now_;
  }

  // What comes neither makes a member send nor ends its part, unless the member waits for it.
  template <class Act>
  void act_awaited(std::uint32_t member, const StepName& name, const Act& action) {
    std::set<StepName> awaited;
    const bool is_known = runs_[member]->visit_awaited(
        [&](const CollectiveRun::Awaited& one) { awaited.insert(one.name); });
    const std::uint64_t before = messages_;
    const bool was_over = runs_[member]->is_over();
    act(member, action);
    if (is_known && !awaited.contains(name)) {
      EXPECT_EQ(messages_, before) << "member " << member << " sends unawaited";
      EXPECT_EQ(runs_[member]->is_over(), was_over) << "member " << member << " ends unawaited";
    }
    known_ += is_known ? 1 : 0;
  }

  RunWorld world_;
  std::vector<std::unique_ptr<CollectiveRun>> runs_;
  std::vector<std::int64_t> ends_;
  std::int64_t now_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t known_ = 0;  // times that a member knew what it waits for
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> events_;
  std::set<std::pair<std::uint32_t, StepName>> early_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sent_;
};

}  // namespace tessera::collective::test
