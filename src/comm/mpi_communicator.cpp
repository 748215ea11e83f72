#include "mpi_communicator.hpp"

#include <mpi.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "exit_code.hpp"
#include "mpi_support.hpp"
#include "pending_sends.hpp"
#include "reduction.hpp"
#include "tessera/core/error.hpp"
#include "waiting.hpp"

namespace tessera::comm {
namespace {

// Batches carry the number of their round, modulo this, as their tag. Few would do: ranks that
// exchange batches in every round, or meet at its end, are one round apart at most. Many more keep
// a batch that was never received, a defect, from passing for one of a later round.
constexpr std::uint64_t round_tags = 16384;
constexpr int gather_tag = static_cast<int>(round_tags);  // MPI grants tags up to 32767

int tag_of_round(std::uint64_t round) {
  return static_cast<int>(round % round_tags);
}

static_assert(sizeof(MinSum) == 2 * sizeof(std::int64_t), "MinSum is sent as two 64-bit integers");

extern "C" void combine_min_sum(void* in, void* in_out, int* length, MPI_Datatype* /*datatype*/) {
  const auto* theirs = static_cast<const MinSum*>(in);
  auto* ours = static_cast<MinSum*>(in_out);
  for (int i = 0; i < *length; ++i) {
    ours[i] = min_sum(theirs[i], ours[i]);
  }
}

template <class T>
int count_of(std::span<T> values) {
  ensure(values.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
         "a reduction has too many elements");
  return static_cast<int>(values.size());
}

// All collectives are the non-blocking ones, so that waiting is ours to shape (see Backoff): the
// blocking ones of most MPI libraries spin.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(world_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(world_, &size_), "MPI_Comm_size");
    check_mpi(MPI_Type_contiguous(2, MPI_INT64_T, &min_sum_type_), "MPI_Type_contiguous");
    check_mpi(MPI_Type_commit(&min_sum_type_), "MPI_Type_commit");
    const int commutative = 1;
    check_mpi(MPI_Op_create(combine_min_sum, commutative, &min_sum_operation_), "MPI_Op_create");
    crowded_ = node_is_crowded(world_);
  }
  // Waits until the last batches are taken. Errors have nobody left to go to.
  ~MpiCommunicator() override {
    if (mpi_is_finalized()) {
      return;
    }
    try {
      for (Backoff backoff(crowded_); !sends_.empty(); backoff.pause()) {
        sends_.reap();
      }
    } catch (const std::exception&) {
      MPI_Abort(MPI_COMM_WORLD, internal_exit_code);
    }
    MPI_Op_free(&min_sum_operation_);
    MPI_Type_free(&min_sum_type_);
    MPI_Comm_free(&world_);
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string description() const override {
    return "MPI (" + mpi_version() + "), " + std::to_string(size_) +
           (size_ == 1 ? " rank" : " ranks");
  }

  void reduce_min_sum(std::span<MinSum> values) override {
    all_reduce(values, min_sum_type_, min_sum_operation_);
    end_round();
  }
  void reduce_sum(std::span<std::uint64_t> values) override {
    all_reduce(values, MPI_UINT64_T, MPI_SUM);
  }
  void reduce_max(std::span<std::uint64_t> values) override {
    all_reduce(values, MPI_UINT64_T, MPI_MAX);
  }

  void post_batch(int target, std::span<const std::byte> bytes) override {
    ensure(target >= 0 && target < size_ && target != rank_,
           "the target of a batch is not another rank");
    sends_.post(world_, target, tag_of_round(round_), bytes);
  }
  void end_round() override {
    ++round_;
    sends_.reap();
  }
  void receive_batches(std::int64_t count, const BatchSink& sink) override {
    ensure(count >= 0, "the number of batches is negative");
    ensure(round_ > 0 || count == 0, "no round of batches has ended yet");
    for (std::int64_t i = 0; i < count; ++i) {
      receive_batch(tag_of_round(round_ - 1), sink);
    }
  }

  std::string broadcast(const std::string& text, int root) override {
    ensure(root >= 0 && root < size_, "the root of a broadcast is not a rank");
    std::string result = rank_ == root ? text : std::string();
    std::uint64_t length = result.size();
    broadcast_bytes(&length, sizeof length, root);
    result.resize(length);
    broadcast_bytes(result.data(), result.size(), root);
    return result;
  }
  // Lengths first, then each text as a message of its own: the displacements of MPI_Gatherv are
  // ints.
  std::vector<std::string> gather(const std::string& text) override;
  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(world_, &request), "MPI_Ibarrier");
    wait(request);
  }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);  // should the library return, against the standard
  }

 private:
  void wait(MPI_Request& request) const {
    Backoff backoff(crowded_);
    for (;;) {
      int done = 0;
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done != 0) {
        return;
      }
      backoff.pause();
    }
  }

  template <class T>
  void all_reduce(std::span<T> values, MPI_Datatype datatype, MPI_Op operation) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(MPI_IN_PLACE, values.data(), count_of(values), datatype, operation,
                             world_, &request),
              "MPI_Iallreduce");
    wait(request);
  }

  void broadcast_bytes(void* data, std::size_t size, int root) {
    const ByteLayout layout(size);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibcast(data, layout.count(), layout.datatype(), root, world_, &request),
              "MPI_Ibcast");
    wait(request);
  }

  // Takes a message out of MPI's queue only when it is known to be there, and its size with it.
  void receive_batch(int tag, const BatchSink& sink) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    Backoff backoff(crowded_);
    for (;;) {
      int found = 0;
      check_mpi(MPI_Improbe(MPI_ANY_SOURCE, tag, world_, &found, &message, &status), "MPI_Improbe");
      if (found != 0) {
        break;
      }
      backoff.pause();
    }
    const std::size_t size = size_of_message(status);
    if (size > capacity_) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(size);
      capacity_ = size;
    }
    const ByteLayout layout(size);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Imrecv(buffer_.get(), layout.count(), layout.datatype(), &message, &request),
              "MPI_Imrecv");
    wait(request);
    sink(status.MPI_SOURCE, {buffer_.get(), size});
  }

  MPI_Comm world_ = MPI_COMM_NULL;  // our own copy: tags and errors are not shared with others
  MPI_Datatype min_sum_type_ = MPI_DATATYPE_NULL;
  MPI_Op min_sum_operation_ = MPI_OP_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool crowded_ = false;
  std::uint64_t round_ = 0;  // rounds ended so far
  PendingSends sends_;
  std::unique_ptr<std::byte[]> buffer_;  // of the batch being received; kept for the next
  std::size_t capacity_ = 0;
};

std::vector<std::string> MpiCommunicator::gather(const std::string& text) {
  std::uint64_t length = text.size();
  std::vector<std::uint64_t> lengths(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Igather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, 0, world_, &request),
      "MPI_Igather");
  wait(request);
  if (rank_ != 0) {
    const ByteLayout layout(text.size());
    check_mpi(
        MPI_Isend(text.data(), layout.count(), layout.datatype(), 0, gather_tag, world_, &request),
        "MPI_Isend");
    wait(request);
    return {};
  }
  std::vector<std::string> texts{text};
  texts.resize(lengths.size());
  for (std::size_t source = 1; source < texts.size(); ++source) {
    std::string& theirs = texts[source];
    theirs.resize(lengths[source]);
    const ByteLayout layout(theirs.size());
    check_mpi(MPI_Irecv(theirs.data(), layout.count(), layout.datatype(), static_cast<int>(source),
                        gather_tag, world_, &request),
              "MPI_Irecv");
    wait(request);
  }
  return texts;
}

}  // namespace

std::unique_ptr<Communicator> make_mpi() {
  return std::make_unique<MpiCommunicator>();
}

}  // namespace tessera::comm
