// What the ranks of one run say to each other. The only room that knows MPI.
//
// Three implementations give identical results: one rank in this process; N ranks as threads of
// this process (for tests and the thread sanitizer); MPI.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
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
//
// Batches travel in rounds, which all ranks count alike. A rank ends a round by `reduce_min_sum`,
// in which all meet, or by `end_round`, which meets nobody; all end the same round in the same way.
// What is posted before the end of a round is received after it and before the end of the next one.
// A fast rank may already post later rounds while a slow one still receives; the rounds are never
// mixed. Every batch posted has to be received.
//
// Asynchronous batches belong to no round and stop nobody: they are posted at any time, and
// received when the receiver asks for them. Rounds, collective calls and asynchronous batches may
// be mixed freely; nothing is said about the order between a batch of a round and an asynchronous
// one.
//
// Calls throw Aborted after another rank gave up, IoError when the transport fails (network,
// memory), and InternalError on misuse, as far as it can be noticed without cost.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Ranks that can work at the same time: fewer than size() where all are on one machine that has
  // fewer processors for them.
  virtual int processors() const { return size(); }
  // "in-process", "2 threads" or "MPI (Open MPI 4.1.4), 2 ranks".
  virtual std::string description() const = 0;

  // Element-wise reductions, the same result on every rank. Same length on every rank. Sums are
  // taken modulo 2^64.
  // reduce_min_sum also ends the round of batches, like end_round; the other two do not.
  virtual void reduce_min_sum(std::span<MinSum> values) = 0;
  virtual void reduce_sum(std::span<std::uint64_t> values) = 0;
  virtual void reduce_max(std::span<std::uint64_t> values) = 0;

  // Hands a copy of a batch to the transport and returns. Not collective. `target` != rank(). A
  // batch may be empty and may exceed 2^31 bytes; it belongs to the current round.
  virtual void post_batch(int target, std::span<const std::byte> bytes) = 0;
  // Ends the round of batches without waiting for anyone. Not collective.
  virtual void end_round() = 0;
  // Receives exactly `count` batches posted to this rank in the round that it ended last, in any
  // order of arrival, and returns when all are taken; waits for those not yet posted. May be called
  // several times a round. `sink` makes no calls on this communicator. Not collective.
  virtual void receive_batches(std::int64_t count, const BatchSink& sink) = 0;

  // Hands a copy of an asynchronous batch to the transport and returns. Not collective. `target` !=
  // rank(). A batch may be empty and may exceed 2^31 bytes. Every one has to be received before the
  // communicator goes. Without `wakes`, a target that sleeps in await_async may sleep on; one that
  // is about to does not begin to.
  virtual void post_async(int target, std::span<const std::byte> bytes, bool wakes) = 0;
  void post_async(int target, std::span<const std::byte> bytes) { post_async(target, bytes, true); }
  // Hands every asynchronous batch that is here to `sink`, those of one source in the order posted,
  // without waiting; whether there was one. Batches that come in the meantime may be left for the
  // next call. `sink` makes no calls on this communicator. Not collective.
  //
  // Messages move inside calls only: a rank that has posted large batches has to call this, or wait
  // in any other call, now and then, or they do not leave.
  virtual bool receive_async(const BatchSink& sink) = 0;
  // Whether a rank of this machine has posted one since the last receive_async. Costs next to
  // nothing, and may say no of those of other machines. Not collective.
  virtual bool has_async_news() const = 0;
  // Returns when an asynchronous batch is here, at the latest after `limit` (or soon after, when
  // others keep the processor); may return early. Gives the processor away, see Session. Not
  // collective.
  virtual void await_async(std::chrono::nanoseconds limit) = 0;

  // A communicator of ranks 0 to `ranks` - 1, with the same ranks, on those; null on the others.
  // 1 <= `ranks` <= size(). Its rounds and batches are its own. It must not outlive this one, goes
  // on all its ranks at about the same time, and an abort of either ends the ranks of both. The
  // others may wait for it as long as they like in a collective call of this communicator: such a
  // wait costs next to no processor time.
  virtual std::unique_ptr<Communicator> first(int ranks) = 0;

  // Text of rank `root` on every rank.
  virtual std::string broadcast(const std::string& text, int root) = 0;
  // Text of each rank, in rank order, on rank 0; empty elsewhere.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  // Returns when every rank has called it.
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
// first exception (by rank) that is not `Aborted` is rethrown after the others were aborted; when
// all are `Aborted`, the first of those. A rank that ends while others wait for it in a collective
// call is an InternalError of those that wait, and so is waiting of all for each other.
void run_ranks_as_threads(int ranks, const std::function<void(Communicator&)>& body);

// MPI of this process. Construct once, in `main`, before the first use; the destructor finalises.
// Without a launcher's environment MPI is not started and `world()` is in-process. The variables
// looked for are OMPI_COMM_WORLD_SIZE (Open MPI's mpirun), PMIX_RANK (PMIx: srun --mpi=pmix, prun),
// PMI_RANK and PMI_SIZE (MPICH, Intel MPI, srun --mpi=pmi2), MV2_COMM_WORLD_SIZE (MVAPICH2), and
// SLURM_STEP_NUM_TASKS above 1. SLURM_PROCID says nothing: a batch script has it as well.
//
// A rank that waits spins for a fraction of a millisecond and then sleeps; a rank of the same
// machine that sends to it wakes it at once. On a machine with fewer processors than ranks it
// sleeps right away. docs/design/0019-waiting.md has the reasons.
//
// Catch errors inside its scope, report them and call world().abort(): a Session left by an
// exception cannot finalise, as the other ranks would wait for ever, and ends all with code 70.
class Session {
 public:
  // Throws ConfigError when srun started several tasks that MPI does not see as one job, and
  // InternalError or IoError when MPI cannot start.
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Communicator& world() { return *world_; }

 private:
  void finalize();

  bool started_ = false;
  std::unique_ptr<Communicator> world_;
};

// "Open MPI 4.1.4": the library this build uses.
std::string mpi_version();

}  // namespace tessera::comm
