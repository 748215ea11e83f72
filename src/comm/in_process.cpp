#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"

namespace tessera::comm {
namespace {

class InProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string description() const override { return "in-process"; }

  void reduce_min_sum(std::span<MinSum> /*values*/) override {}
  void reduce_sum(std::span<std::uint64_t> /*values*/) override {}
  void reduce_max(std::span<std::uint64_t> /*values*/) override {}

  void post_batch(int /*target*/, std::span<const std::byte> /*bytes*/) override {
    throw InternalError("a batch was posted, but there is only one rank");
  }
  void end_round() override {}
  void receive_batches(std::int64_t count, const BatchSink& /*sink*/) override {
    ensure(count == 0, "a batch is expected, but there is only one rank");
  }

  void post_async(int /*target*/, std::span<const std::byte> /*bytes*/, bool /*wakes*/) override {
    throw InternalError("a batch was posted, but there is only one rank");
  }
  bool receive_async(const BatchSink& /*sink*/) override { return false; }
  bool has_async_news() const override { return false; }
  void await_async(std::chrono::nanoseconds /*limit*/) override {}  // none will ever come

  std::unique_ptr<Communicator> first(int ranks) override {
    ensure(ranks == 1, "the first ranks are not ranks");
    return make_in_process();
  }

  std::string broadcast(const std::string& text, int root) override {
    ensure(root == 0, "the root of a broadcast is not a rank");
    return text;
  }
  std::vector<std::string> gather(const std::string& text) override { return {text}; }
  void barrier() override {}

  [[noreturn]] void abort(int code) override { throw Aborted(code); }
};

}  // namespace

std::unique_ptr<Communicator> make_in_process() {
  return std::make_unique<InProcess>();
}

}  // namespace tessera::comm
