// A communicator that counts the reductions made over it; everything else passes through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"

namespace tessera::bench {

class CountingCommunicator final : public comm::Communicator {
 public:
  // `inner` must outlive this.
  explicit CountingCommunicator(comm::Communicator& inner) : inner_(inner) {}
  // Of any kind.
  std::uint64_t reductions() const { return reductions_; }

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string description() const override { return inner_.description(); }
  void reduce_min_sum(std::span<comm::MinSum> values) override {
    ++reductions_;
    inner_.reduce_min_sum(values);
  }
  void reduce_sum(std::span<std::uint64_t> values) override {
    ++reductions_;
    inner_.reduce_sum(values);
  }
  void reduce_max(std::span<std::uint64_t> values) override {
    ++reductions_;
    inner_.reduce_max(values);
  }
  void post_batch(int target, std::span<const std::byte> bytes) override {
    inner_.post_batch(target, bytes);
  }
  void end_round() override { inner_.end_round(); }
  void receive_batches(std::int64_t count, const comm::BatchSink& sink) override {
    inner_.receive_batches(count, sink);
  }
  bool has_async_news() const override { return inner_.has_async_news(); }
  void post_async(int target, std::span<const std::byte> bytes, bool wakes) override {
    inner_.post_async(target, bytes, wakes);
  }
  bool receive_async(const comm::BatchSink& sink) override { return inner_.receive_async(sink); }
  void await_async(std::chrono::nanoseconds limit) override { inner_.await_async(limit); }
  // Reductions over the result are not counted.
  std::unique_ptr<comm::Communicator> first(int ranks) override { return inner_.first(ranks); }
  std::string broadcast(const std::string& text, int root) override {
    return inner_.broadcast(text, root);
  }
  std::vector<std::string> gather(const std::string& text) override { return inner_.gather(text); }
  void barrier() override { inner_.barrier(); }
  [[noreturn]] void abort(int code) override {
    inner_.abort(code);
    throw comm::Aborted(code);  // not reached; compilers forget [[noreturn]] of virtual calls
  }

 private:
  comm::Communicator& inner_;
  std::uint64_t reductions_ = 0;
};

}  // namespace tessera::bench
