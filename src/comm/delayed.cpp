#include "tessera/comm/delayed.hpp"

#include <thread>

#include "tessera/core/random.hpp"

namespace tessera::comm {
namespace {

class Delayed final : public Communicator {
 public:
  Delayed(Communicator& communicator, std::uint64_t seed, std::chrono::microseconds longest)
      : communicator_(communicator),
        random_(seed, EntityId(static_cast<std::uint32_t>(communicator.rank())), 0),
        longest_us_(static_cast<std::uint64_t>(longest.count())) {}

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
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
  void pause() {
    const std::uint64_t lot = random_.next_below(64);
    if (lot == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_.next_below(longest_us_ + 1)));
    } else if (lot == 1) {
      std::this_thread::yield();
    }
  }

  Communicator& communicator_;
  RandomStream random_;
  std::uint64_t longest_us_;
};

}  // namespace

std::unique_ptr<Communicator> make_delayed(Communicator& communicator, std::uint64_t seed,
                                           std::chrono::microseconds longest) {
  return std::make_unique<Delayed>(communicator, seed, longest);
}

}  // namespace tessera::comm
