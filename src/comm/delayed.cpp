#include "tessera/comm/delayed.hpp"

#include <algorithm>
#include <deque>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/core/random.hpp"

namespace tessera::comm {
namespace {

// May be a clock's idea of "for ever" otherwise.
constexpr std::chrono::nanoseconds longest_delay_wait = std::chrono::seconds(1);

class Delayed final : public Communicator {
 public:
  Delayed(Communicator& communicator, std::uint64_t seed, std::chrono::microseconds longest)
      : communicator_(communicator),
        random_(seed, EntityId(static_cast<std::uint32_t>(communicator.rank())), 0),
        seed_(seed),
        longest_us_(static_cast<std::uint64_t>(longest.count())),
        held_(static_cast<std::size_t>(communicator.size())) {}

  Delayed(std::unique_ptr<Communicator> communicator, std::uint64_t seed,
          std::chrono::microseconds longest)
      : Delayed(*communicator, seed, longest) {
    owned_ = std::move(communicator);
  }

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  int processors() const override { return communicator_.processors(); }
  std::string description() const override {
    return communicator_.description() + ", delayed at random";
  }

  void reduce_min_sum(std::span<MinSum> values) override {
    pause();
    communicator_.reduce_min_sum(values);
  }
  void reduce_sum(std::span<std::uint64_t> values) override {
    pause();
    communicator_.reduce_sum(values);
  }
  void reduce_max(std::span<std::uint64_t> values) override {
    pause();
    communicator_.reduce_max(values);
  }
  void post_batch(int target, std::span<const std::byte> bytes) override {
    pause();
    communicator_.post_batch(target, bytes);
  }
  void end_round() override {
    pause();
    communicator_.end_round();
  }
  void receive_batches(std::int64_t count, const BatchSink& sink) override {
    pause();
    communicator_.receive_batches(count, sink);
  }
  void post_async(int target, std::span<const std::byte> bytes, bool wakes) override {
    pause();
    communicator_.post_async(target, bytes, wakes);
  }
  bool receive_async(const BatchSink& sink) override {
    pause();
    collect();
    bool any = false;
    const Clock::time_point now = Clock::now();
    for (std::size_t source = 0; source < held_.size(); ++source) {
      for (auto& held = held_[source]; !held.empty() && held.front().due <= now; any = true) {
        const Held batch = std::move(held.front());
        held.pop_front();
        sink(static_cast<int>(source), batch.bytes);
      }
    }
    return any;
  }
  bool has_async_news() const override { return communicator_.has_async_news(); }
  void await_async(std::chrono::nanoseconds limit) override {
    pause();
    collect();
    const Clock::time_point now = Clock::now();
    Clock::time_point until = now + std::min(limit, longest_delay_wait);
    for (const std::deque<Held>& held : held_) {
      if (!held.empty()) {
        until = std::min(until, held.front().due);
      }
    }
    if (until > now) {
      communicator_.await_async(until - now);
    }
  }
  std::unique_ptr<Communicator> first(int ranks) override {
    pause();
    std::unique_ptr<Communicator> part = communicator_.first(ranks);
    return part ? std::make_unique<Delayed>(std::move(part), seed_ + 1,
                                            std::chrono::microseconds(longest_us_))
                : nullptr;
  }
  std::string broadcast(const std::string& text, int root) override {
    pause();
    return communicator_.broadcast(text, root);
  }
  std::vector<std::string> gather(const std::string& text) override {
    pause();
    return communicator_.gather(text);
  }
  void barrier() override {
    pause();
    communicator_.barrier();
  }
  [[noreturn]] void abort(int code) override {
    communicator_.abort(code);
    throw Aborted(code);  // not reached; compilers forget [[noreturn]] of virtual calls
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    Clock::time_point due;
    std::vector<std::byte> bytes;
  };

  // Takes what has come, and draws when it may be seen.
  void collect() {
    const Clock::time_point now = Clock::now();
    communicator_.receive_async([&](int source, std::span<const std::byte> bytes) {
      const std::uint64_t late =
          random_.next_below(4) == 0 ? random_.next_below(longest_us_ + 1) : 0;
      held_[static_cast<std::size_t>(source)].push_back(
          {now + std::chrono::microseconds(late), {bytes.begin(), bytes.end()}});
    });
  }

  void pause() {
    const std::uint64_t lot = random_.next_below(64);
    if (lot == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_.next_below(longest_us_ + 1)));
    } else if (lot == 1) {
      std::this_thread::yield();
    }
  }

  std::unique_ptr<Communicator> owned_;  // or somebody else's
  Communicator& communicator_;
  RandomStream random_;
  std::uint64_t seed_;
  std::uint64_t longest_us_;
  std::vector<std::deque<Held>> held_;  // asynchronous batches, by source
};

}  // namespace

std::unique_ptr<Communicator> make_delayed(Communicator& communicator, std::uint64_t seed,
                                           std::chrono::microseconds longest) {
  return std::make_unique<Delayed>(communicator, seed, longest);
}

}  // namespace tessera::comm
