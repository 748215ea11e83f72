// A rank whose neighbours are played by the test: what its policy posts is kept, what it receives
// is laid down before, and nobody waits. What a policy does can so be told call by call.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes::testing {

struct Batch {
  int rank = 0;  // to, or from
  std::vector<Event> events;
  bool wakes = false;
};

inline std::vector<Event> events_in(std::span<const std::byte> bytes) {
  const auto* const first = reinterpret_cast<const Event*>(bytes.data());
  return {first, first + bytes.size() / sizeof(Event)};
}

class ScriptedCommunicator final : public comm::Communicator {
 public:
  ScriptedCommunicator(int rank, int size) : rank_(rank), size_(size) {}

  std::vector<Batch> posted;  // asynchronous, in order
  std::deque<Batch> coming;   // asynchronous
  std::vector<Batch> posted_in_round;
  std::deque<Batch> coming_in_round;
  std::vector<std::int64_t> asked_for;             // batches, in each receive_batches
  std::vector<std::vector<comm::MinSum>> brought;  // into each reduction
  // What the others bring: turns what this rank brings into what all have.
  std::function<void(std::span<comm::MinSum>)> on_reduce = [](std::span<comm::MinSum>) {};
  std::function<void()> on_await = [] {};
  int awaited = 0;
  int rounds_ended = 0;
  bool news = false;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string description() const override { return "scripted"; }
  void reduce_min_sum(std::span<comm::MinSum> values) override {
    brought.emplace_back(values.begin(), values.end());
    on_reduce(values);
  }
  void reduce_sum(std::span<std::uint64_t>) override {}
  void reduce_max(std::span<std::uint64_t>) override {}
  void post_batch(int target, std::span<const std::byte> bytes) override {
    posted_in_round.push_back({target, events_in(bytes), false});
  }
  void end_round() override { ++rounds_ended; }
  void receive_batches(std::int64_t count, const comm::BatchSink& sink) override {
    asked_for.push_back(count);
    for (std::int64_t i = 0; i < count && !coming_in_round.empty(); ++i) {
      const Batch batch = coming_in_round.front();
      coming_in_round.pop_front();
      sink(batch.rank, std::as_bytes(std::span(batch.events)));
    }
  }
  void post_async(int target, std::span<const std::byte> bytes, bool wakes) override {
    posted.push_back({target, events_in(bytes), wakes});
  }
  bool receive_async(const comm::BatchSink& sink) override {
    const bool any = !coming.empty();
    for (; !coming.empty(); coming.pop_front()) {
      sink(coming.front().rank, std::as_bytes(std::span(coming.front().events)));
    }
    return any;
  }
  bool has_async_news() const override { return news; }
  void await_async(std::chrono::nanoseconds limit) override {
    EXPECT_EQ(limit, std::chrono::milliseconds(1));
    ensure(++awaited < 1000, "a scripted rank waits for what never comes");
    on_await();
  }
  std::unique_ptr<Communicator> first(int) override { return nullptr; }
  std::string broadcast(const std::string& text, int) override { return text; }
  std::vector<std::string> gather(const std::string& text) override { return {text}; }
  void barrier() override {}
  [[noreturn]] void abort(int code) override { throw comm::Aborted(code); }

 private:
  int rank_;
  int size_;
};

class ScriptedSite final : public Site {
 public:
  explicit ScriptedSite(std::size_t ranks) : outboxes_(ranks) {}

  SimTime next_at = SimTime::never();
  SimTime limit_at = SimTime::never();
  std::map<std::uint32_t, Outlook> outlooks;  // by rank
  std::vector<SimTime> wanted;                // in each question for an outlook
  std::vector<Event> arrived;

  void send(std::size_t rank, SimTime at) {
    Event event;
    event.time = at;
    event.source = EntityId(7);
    event.target = 9;
    outboxes_[rank].events.push_back(event);
    outboxes_[rank].earliest = std::min(outboxes_[rank].earliest, at);
  }

  SimTime next() const override { return next_at; }
  SimTime width() const override { return SimTime::from_ps(1000); }
  SimTime limit() const override { return limit_at; }
  std::vector<Outbox>& outboxes() override { return outboxes_; }
  void arrive(std::span<const Event> events) override {
    arrived.insert(arrived.end(), events.begin(), events.end());
  }
  Outlook outlook(std::uint32_t rank, SimTime wanted_there) override {
    wanted.push_back(wanted_there);
    return outlooks[rank];
  }
  std::string describe(const Event& event) const override {
    return "entity " + std::to_string(event.source.value());
  }

 private:
  std::vector<Outbox> outboxes_;
};

// Policies act on wall time, too: where the machine was busy and a script took longer than they
// wait, it begins anew, also where it threw.
inline void in_time(std::chrono::milliseconds limit, const std::function<void()>& script) {
  for (int tries_left = 20;; --tries_left) {
    ::testing::TestPartResultArray results;
    std::exception_ptr thrown;
    const auto began = std::chrono::steady_clock::now();
    try {
      const ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      script();
    } catch (...) {
      thrown = std::current_exception();
    }
    if (std::chrono::steady_clock::now() - began < limit || tries_left == 0) {
      for (int i = 0; i < results.size(); ++i) {
        const ::testing::TestPartResult& result = results.GetTestPartResult(i);
        if (result.failed()) {
          ADD_FAILURE_AT(result.file_name(), result.line_number()) << result.message();
        }
      }
      if (thrown) {
        std::rethrow_exception(thrown);
      }
      return;
    }
    std::this_thread::sleep_for(limit);
  }
}

}  // namespace tessera::pdes::testing
