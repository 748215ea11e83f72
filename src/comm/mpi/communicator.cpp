#include "mpi/communicator.hpp"

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bells.hpp"
#include "mpi/support.hpp"
#include "mpi/transport.hpp"
#include "node_reduction.hpp"
#include "reduction.hpp"
#include "scheduling.hpp"
#include "tessera/core/error.hpp"

namespace tessera::comm {
namespace {

// Batches carry the number of their round, modulo this, as their tag. Few would do: ranks that
// exchange batches in every round, or meet at its end, are one round apart at most. Many more keep
// a batch that was never received, a defect, from passing for one of a later round.
constexpr std::uint64_t round_tags = 16384;
// MPI grants tags up to 32767.
constexpr int gather_tag = static_cast<int>(round_tags);
constexpr int reduction_tag = gather_tag + 1;
constexpr int broadcast_tag = gather_tag + 2;
constexpr int async_tag = 0;

int tag_of_round(std::uint64_t round) {
  return static_cast<int>(round % round_tags);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm ranks, std::shared_ptr<Bells> bells)
      : transport_(ranks, std::move(bells)) {
    if (transport_.near() && size() > 1) {
      reduction_ = std::make_unique<NodeReduction>(transport_.communicator());
    }
  }

  int rank() const override { return transport_.rank(); }
  int size() const override { return transport_.size(); }
  int processors() const override { return transport_.processors(); }
  std::string description() const override {
    return "MPI (" + mpi_version() + "), " + std::to_string(size()) +
           (size() == 1 ? " rank" : " ranks");
  }

  void reduce_min_sum(std::span<MinSum> values) override {
    all_reduce(values, min_sum);
    end_round();
  }
  void reduce_sum(std::span<std::uint64_t> values) override { all_reduce(values, std::plus<>()); }
  void reduce_max(std::span<std::uint64_t> values) override {
    all_reduce(values, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  }

  void post_batch(int target, std::span<const std::byte> bytes) override {
    ensure_target(target);
    transport_.post(Lane::rounds, target, tag_of_round(round_), bytes);
    to_ring_.push_back(target);
  }
  void end_round() override {
    ++round_;
    if (!to_ring_.empty()) {
      transport_.progress();
    }
    transport_.reap();
    // Not earlier: nobody can wait for a batch of a round that this rank has not ended.
    for (const int target : to_ring_) {
      transport_.ring(target);
    }
    to_ring_.clear();
  }
  void receive_batches(std::int64_t count, const BatchSink& sink) override {
    ensure(count >= 0, "the number of batches is negative");
    ensure(round_ > 0 || count == 0, "no round of batches has ended yet");
    for (std::int64_t i = 0; i < count; ++i) {
      transport_.receive(Lane::rounds, MPI_ANY_SOURCE, tag_of_round(round_ - 1), sink);
    }
  }

  void post_async(int target, std::span<const std::byte> bytes, bool wakes) override {
    ensure_target(target);
    transport_.post(Lane::async, target, async_tag, bytes);
    if (wakes) {
      transport_.ring(target);
    } else {
      transport_.leave_word(target);
    }
  }
  bool receive_async(const BatchSink& sink) override {
    transport_.reap();
    return transport_.take_all(Lane::async, async_tag, sink);
  }
  bool has_async_news() const override { return transport_.has_news(); }
  void await_async(std::chrono::nanoseconds limit) override {
    transport_.await(Lane::async, async_tag, limit);
  }

  std::unique_ptr<Communicator> first(int ranks) override;

  std::string broadcast(const std::string& text, int root) override;
  std::vector<std::string> gather(const std::string& text) override;
  void barrier() override { reduce_sum({}); }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);  // should the library return, against the standard
  }

 private:
  void ensure_target(int target) const {
    ensure(target >= 0 && target < size() && target != rank(),
           "the target of a batch is not another rank");
  }

  template <class T, class Operation>
  void all_reduce(std::span<T> values, Operation operation) {
    if (reduction_ && reduction_->possible() && values.size_bytes() <= NodeReduction::capacity) {
      meet(values, operation);
    } else {
      reduce_by_messages(values, operation);
    }
  }
  template <class T, class Operation>
  void meet(std::span<T> values, Operation operation);
  template <class T, class Operation>
  void reduce_by_messages(std::span<T> values, Operation operation);

  MpiTransport transport_;
  std::unique_ptr<NodeReduction> reduction_;  // if all ranks are on one machine
  std::uint64_t round_ = 0;                   // rounds ended so far
  std::vector<int> to_ring_;                  // those who got batches in this round
  std::vector<std::byte> others_;             // values of a reduction, from another rank
};

template <class T, class Operation>
void MpiCommunicator::meet(std::span<T> values, Operation operation) {
  if (reduction_->come(std::span<const T>(values), operation)) {
    for (int other = 0; other < size(); ++other) {
      if (other != rank()) {
        transport_.ring(other);
      }
    }
  } else {
    constexpr std::uint32_t tests_to_progress = 64;
    std::uint32_t tests = 0;
    transport_.wait_until([this, &tests] {
      transport_.reap();
      if (++tests % tests_to_progress == 0) {
        transport_.progress();
      }
      return reduction_->complete();
    });
  }
  reduction_->leave(std::as_writable_bytes(values));
}

// Recursive doubling: after k steps each rank has the result of 2^k. Of a number of ranks that is
// no power of two, as many as are too many hand their values to a neighbour before, and get the
// result from it afterwards. The operations are exact, so that the order makes no difference.
template <class T, class Operation>
void MpiCommunicator::reduce_by_messages(std::span<T> values, Operation operation) {
  const std::span<std::byte> ours = std::as_writable_bytes(values);
  others_.resize(ours.size());
  const auto combine = [&] {
    const std::span<const T> theirs(reinterpret_cast<const T*>(others_.data()), values.size());
    std::ranges::transform(theirs, values, values.begin(), operation);
  };
  const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size())));
  const int pairs = size() - power;
  const bool in_pair = rank() < 2 * pairs;
  if (in_pair && rank() % 2 == 0) {
    transport_.send(rank() + 1, reduction_tag, ours);
    transport_.receive_into(rank() + 1, reduction_tag, ours);
    return;
  }
  if (in_pair) {
    transport_.receive_into(rank() - 1, reduction_tag, others_);
    combine();
  }
  const int place = in_pair ? rank() / 2 : rank() - pairs;
  for (int distance = 1; distance < power; distance *= 2) {
    const int other = place ^ distance;
    transport_.exchange(other < pairs ? 2 * other + 1 : other + pairs, reduction_tag, ours,
                        others_);
    combine();
  }
  if (in_pair) {
    transport_.send(rank() - 1, reduction_tag, ours);
  }
}

// A binomial tree: who has the text sends it to the rank half of the ranks away, then a quarter, …
std::string MpiCommunicator::broadcast(const std::string& text, int root) {
  ensure(root >= 0 && root < size(), "the root of a broadcast is not a rank");
  const int place = (rank() - root + size()) % size();
  const auto rank_at = [&](int other) { return (other + root) % size(); };
  const auto ranks = static_cast<unsigned>(size());
  unsigned reach = std::bit_ceil(ranks);  // ranks that hear of it through this one
  std::string result = text;
  if (place > 0) {
    reach = static_cast<unsigned>(place) & -static_cast<unsigned>(place);
    transport_.receive(
        Lane::rounds, rank_at(place - static_cast<int>(reach)), broadcast_tag,
        [&result](int, std::span<const std::byte> bytes) { result = text_of(bytes); });
  }
  for (unsigned distance = reach / 2; distance > 0; distance /= 2) {
    const int other = place + static_cast<int>(distance);
    if (other < size()) {
      transport_.send(rank_at(other), broadcast_tag, bytes_of(result));
    }
  }
  return result;
}

std::vector<std::string> MpiCommunicator::gather(const std::string& text) {
  if (rank() != 0) {
    transport_.send(0, gather_tag, bytes_of(text));
    return {};
  }
  std::vector<std::string> texts{text};
  for (int source = 1; source < size(); ++source) {
    transport_.receive(
        Lane::rounds, source, gather_tag,
        [&texts](int, std::span<const std::byte> bytes) { texts.push_back(text_of(bytes)); });
  }
  return texts;
}

std::unique_ptr<Communicator> MpiCommunicator::first(int ranks) {
  ensure(ranks >= 1 && ranks <= size(), "the first ranks are not ranks");
  barrier();
  const YieldingMpi yielding;
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(
      MPI_Comm_split(transport_.communicator(), rank() < ranks ? 0 : MPI_UNDEFINED, rank(), &part),
      "MPI_Comm_split");
  if (part == MPI_COMM_NULL) {
    return nullptr;
  }
  auto result = std::make_unique<MpiCommunicator>(part, transport_.bells());
  check_mpi(MPI_Comm_free(&part), "MPI_Comm_free");
  return result;
}

}  // namespace

std::unique_ptr<Communicator> make_mpi() {
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, std::make_shared<Bells>(MPI_COMM_WORLD));
}

}  // namespace tessera::comm
