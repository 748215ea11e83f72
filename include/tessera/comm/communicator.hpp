// What the ranks of one run say to each other. The only room that knows MPI.
//
// Three implementations give identical results: one rank in this process; N ranks as threads of
// this process (for tests and the thread sanitizer); MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/core/time.hpp"

namespace tessera::comm {

// One element of the window reduction: the minimum of `earliest` and the sum of `count` over all
// ranks. One array of these carries next event times, expected batches, flags and counters, so
// that a window costs one reduction.
struct MinSum {
  SimTime earliest = SimTime::never();
  std::int64_t count = 0;
};

// Takes one batch that arrived: the sending rank and the bytes, valid during the call.
using BatchSink = std::function<void(int source, std::span<const std::byte> bytes)>;

// A group of ranks. All calls but `abort` are collective unless said otherwise, and are made by
// every rank in the same order. Each rank uses its communicator from one thread.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // "in-process", "2 threads" or "MPI (Open MPI 4.1.4), 2 ranks".
  virtual std::string description() const = 0;

  // Element-wise reduction, the same result on every rank. Same length on every rank.
  virtual void reduce_min_sum(std::span<MinSum> values) = 0;
  virtual void reduce_sum(std::span<std::uint64_t> values) = 0;
  virtual void reduce_max(std::span<std::uint64_t> values) = 0;

  // Hands a batch to the transport and returns; the bytes are copied or kept. Not collective.
  // `target` != rank(). A batch posted before a reduction can be received after it.
  virtual void post_batch(int target, std::vector<std::byte> bytes) = 0;
  // Receives exactly `count` batches posted to this rank, in any order of arrival, and returns when
  // all are taken. Not collective.
  virtual void receive_batches(std::int64_t count, const BatchSink& sink) = 0;

  // Text of rank `root` on every rank.
  virtual std::string broadcast(const std::string& text, int root) = 0;
  // Text of each rank, in rank order, on rank 0; empty elsewhere.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  virtual void barrier() = 0;

  // Ends all ranks at once with `code`. With threads: makes every blocked or later call of any rank
  // throw `Aborted`; with MPI: MPI_Abort. In-process: throws `Aborted`.
  [[noreturn]] virtual void abort(int code) = 0;
};

// Another rank gave up; carries its exit code.
class Aborted : public std::exception {
 public:
  explicit Aborted(int code) : code_(code) {}
  int code() const { return code_; }
  const char* what() const noexcept override { return "another rank ended the run"; }

 private:
  int code_;
};

// The single rank of a run without company.
std::unique_ptr<Communicator> make_in_process();

// Runs `body` once on each of `ranks` threads, each with its communicator, and waits for all. The
// first exception (by rank) that is not `Aborted` is rethrown after the others were aborted.
void run_ranks_as_threads(int ranks, const std::function<void(Communicator&)>& body);

// MPI of this process. Construct once, in `main`, before the first use; the destructor finalises.
// Without a launcher's environment (mpirun, srun) MPI is not started and `world()` is in-process.
// On a machine with fewer processors than ranks, waiting ranks sleep instead of spinning.
class Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Communicator& world() { return *world_; }

 private:
  bool started_ = false;
  std::unique_ptr<Communicator> world_;
};

// "Open MPI 4.1.4": the library this build uses.
std::string mpi_version();

}  // namespace tessera::comm
