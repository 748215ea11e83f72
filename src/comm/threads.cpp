#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "exit_code.hpp"
#include "reduction.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "thread_group.hpp"

namespace tessera::comm {
namespace {

using Offers = std::span<const ThreadGroup::Offer>;

template <class T>
T& object_of(const ThreadGroup::Offer& offer) {
  return *static_cast<T*>(offer.data);
}

// await_async may return early; a clock may not be able to tell of "for ever".
constexpr std::chrono::nanoseconds longest_wait = std::chrono::seconds(1);

class ThreadRank final : public Communicator {
 public:
  ThreadRank(std::shared_ptr<ThreadGroup> group, int rank)
      : group_(std::move(group)), rank_(rank), exceptions_(std::uncaught_exceptions()) {}
  // On the way of an exception out of the body, all will be stopped with its code.
  ~ThreadRank() override {
    if (std::uncaught_exceptions() == exceptions_) {
      group_->leave();
    }
  }
  ThreadRank(const ThreadRank&) = delete;
  ThreadRank& operator=(const ThreadRank&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  std::string description() const override {
    return std::to_string(size()) + (size() == 1 ? " thread" : " threads");
  }

  void reduce_min_sum(std::span<MinSum> values) override {
    leave_round();
    reduce(Collective::reduce_min_sum, values, min_sum);
    ++round_;
    all_here_ = true;
  }
  void reduce_sum(std::span<std::uint64_t> values) override {
    reduce(Collective::reduce_sum, values, [](std::uint64_t a, std::uint64_t b) { return a + b; });
  }
  void reduce_max(std::span<std::uint64_t> values) override {
    reduce(Collective::reduce_max, values,
           [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  }

  void post_batch(int target, std::span<const std::byte> bytes) override {
    ensure_target(target);
    group_->post(target, {rank_, round_, {bytes.begin(), bytes.end()}});
  }
  void end_round() override {
    leave_round();
    ++round_;
    all_here_ = false;
  }
  void receive_batches(std::int64_t count, const BatchSink& sink) override {
    ensure(count >= 0, "the number of batches is negative");
    ensure(round_ > 0 || count == 0, "no round of batches has ended yet");
    for (std::int64_t i = 0; i < count; ++i) {
      const Batch batch = group_->take(rank_, round_ - 1, all_here_);
      sink(batch.source, batch.bytes);
    }
  }

  void post_async(int target, std::span<const std::byte> bytes, bool wakes) override {
    ensure_target(target);
    group_->post_async(target, {rank_, 0, {bytes.begin(), bytes.end()}}, wakes);
  }
  bool receive_async(const BatchSink& sink) override {
    const std::vector<Batch> batches = group_->take_async(rank_);
    for (const Batch& batch : batches) {
      sink(batch.source, batch.bytes);
    }
    return !batches.empty();
  }
  bool has_async_news() const override { return group_->has_async(rank_); }
  void await_async(std::chrono::nanoseconds limit) override {
    group_->await_async(rank_, std::min(limit, longest_wait));
  }

  std::unique_ptr<Communicator> first(int ranks) override {
    ensure(ranks >= 1 && ranks <= size(), "the first ranks are not ranks");
    std::shared_ptr<ThreadGroup> part;
    const auto length = static_cast<std::size_t>(ranks);
    group_->meet(rank_, {Collective::first, length, &part, round_}, [&](Offers offers) {
      const std::shared_ptr<ThreadGroup> made = group_->make_part(ranks);
      for (const ThreadGroup::Offer& offer : offers.first(length)) {
        object_of<std::shared_ptr<ThreadGroup>>(offer) = made;
      }
    });
    return part ? std::make_unique<ThreadRank>(std::move(part), rank_) : nullptr;
  }

  std::string broadcast(const std::string& text, int root) override {
    ensure(root >= 0 && root < size(), "the root of a broadcast is not a rank");
    std::string result = text;
    const auto from = static_cast<std::size_t>(root);
    group_->meet(rank_, {Collective::broadcast, from, &result, round_}, [from](Offers offers) {
      const auto& source = object_of<std::string>(offers[from]);
      for (std::size_t i = 0; i < offers.size(); ++i) {
        if (i != from) {
          object_of<std::string>(offers[i]) = source;
        }
      }
    });
    return result;
  }
  std::vector<std::string> gather(const std::string& text) override {
    std::vector<std::string> texts{text};
    group_->meet(rank_, {Collective::gather, 1, &texts, round_}, [](Offers offers) {
      auto& all = object_of<std::vector<std::string>>(offers.front());
      for (const ThreadGroup::Offer& offer : offers.subspan(1)) {
        auto& theirs = object_of<std::vector<std::string>>(offer);
        all.push_back(std::move(theirs.front()));
        theirs.clear();
      }
    });
    return texts;
  }
  void barrier() override {
    group_->meet(rank_, {Collective::barrier, 0, nullptr, round_}, [](Offers) {});
  }

  [[noreturn]] void abort(int code) override {
    group_->stop(code);
    throw Aborted(code);
  }

 private:
  void ensure_target(int target) const {
    ensure(target >= 0 && target < size() && target != rank_,
           "the target of a batch is not another rank");
  }

  // What came in the round before has been received.
  void leave_round() {
    if (round_ > 0) {
      group_->expect_all_taken(rank_, round_ - 1);
    }
  }

  // Combines into the values of rank 0 and copies those to the others.
  template <class T, class Operation>
  void reduce(Collective collective, std::span<T> values, Operation operation) {
    group_->meet(rank_, {collective, values.size(), values.data(), round_},
                 [operation](Offers offers) {
                   const auto values_of = [](const ThreadGroup::Offer& offer) {
                     return std::span<T>(static_cast<T*>(offer.data), offer.length);
                   };
                   const std::span<T> result = values_of(offers.front());
                   for (const ThreadGroup::Offer& offer : offers.subspan(1)) {
                     std::ranges::transform(result, values_of(offer), result.begin(), operation);
                   }
                   for (const ThreadGroup::Offer& offer : offers.subspan(1)) {
                     std::ranges::copy(result, values_of(offer).begin());
                   }
                 });
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  int exceptions_;           // under way when this was made
  std::uint64_t round_ = 0;  // rounds ended so far
  bool all_here_ = false;    // the last one by a reduction
};

// How a rank ended: at most one of the two is set.
struct Outcome {
  std::exception_ptr error;
  std::exception_ptr aborted;
};

Outcome run_rank(const std::shared_ptr<ThreadGroup>& group, int rank,
                 const std::function<void(Communicator&)>& body) {
  Outcome outcome;
  ThreadRank communicator(group, rank);
  try {
    body(communicator);
  } catch (const Aborted& aborted) {
    outcome.aborted = std::current_exception();
    group->stop(aborted.code());
  } catch (const Error& error) {
    outcome.error = std::current_exception();
    group->stop(error.exit_code());
  } catch (...) {
    outcome.error = std::current_exception();
    group->stop(internal_exit_code);
  }
  return outcome;
}

void rethrow_first(const std::vector<Outcome>& outcomes, std::exception_ptr Outcome::*which) {
  for (const Outcome& outcome : outcomes) {
    if (outcome.*which) {
      std::rethrow_exception(outcome.*which);
    }
  }
}

}  // namespace

void run_ranks_as_threads(int ranks, const std::function<void(Communicator&)>& body) {
  ensure(ranks > 0, "a run needs at least one rank");
  const auto group = std::make_shared<ThreadGroup>(ranks);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    threads.reserve(outcomes.size());
    try {
      for (int rank = 0; rank < ranks; ++rank) {
        Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
        threads.emplace_back(
            [&group, &body, &outcome, rank] { outcome = run_rank(group, rank, body); });
      }
    } catch (...) {
      // No more threads to be had: those that run must not wait for the missing ones.
      group->stop(internal_exit_code);
      throw;
    }
  }
  rethrow_first(outcomes, &Outcome::error);
  rethrow_first(outcomes, &Outcome::aborted);
}

}  // namespace tessera::comm
