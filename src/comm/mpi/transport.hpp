// Messages between the ranks of an MPI job, and waiting for them.
//
// Everything is sent from rank to rank here, what collective calls need included, as then it is
// known whom to wake: inside a collective call of MPI a rank would pass on what others sleep for,
// and nobody would know.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bells.hpp"
#include "pending_sends.hpp"
#include "tessera/comm/communicator.hpp"
#include "waiting.hpp"

namespace tessera::comm {

// Messages of the two never meet, whatever their tags.
enum class Lane { rounds, async };

class MpiTransport {
 public:
  // Over copies of `ranks`, of which `bells` knows at least as many, in the same order. Collective.
  MpiTransport(MPI_Comm ranks, std::shared_ptr<Bells> bells);
  // Waits until the last messages are taken.
  ~MpiTransport();
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool near() const { return surroundings_.near; }
  // As Communicator::processors.
  int processors() const { return surroundings_.near ? std::min(size_, processors_) : size_; }
  MPI_Comm communicator() const { return communicator_of(Lane::rounds); }
  const std::shared_ptr<Bells>& bells() const { return bells_; }

  // Starts to send a copy of `bytes`. Whoever waits for it has to be rung for after that.
  void post(Lane lane, int target, int tag, std::span<const std::byte> bytes) {
    sends_.post(communicator_of(lane), target, tag, bytes);
    if (++posted_ % posts_to_progress == 0) {
      progress();
    }
  }
  void ring(int target) { bells_->ring(target); }
  // For what need not wake those that sleep.
  void leave_word(int target) { bells_->leave_word(target); }
  // Lets MPI work: it gets back what it lent for messages that were taken, and without that runs
  // short of it, so that messages stay behind.
  void progress();
  // Forgets messages that were sent.
  void reap() { sends_.reap(); }

  // Takes a message, if one is here. `source` may be MPI_ANY_SOURCE.
  bool take(Lane lane, int source, int tag, const BatchSink& sink);
  // Takes all messages of this tag that are here; whether there was one. Where nobody has rung
  // since the last call, most calls do not ask MPI: some nanoseconds. Of one lane and tag only.
  bool take_all(Lane lane, int tag, const BatchSink& sink);
  // Whether somebody has rung since the last call of take_all.
  bool has_news() const { return bells_->heard() != heard_; }
  // Waits for a message and takes it.
  void receive(Lane lane, int source, int tag, const BatchSink& sink);
  // Waits for a message until `limit` is over, or somebody has rung since the last take_all.
  void await(Lane lane, int tag, std::chrono::nanoseconds limit);

  // Waits until `test` holds, which somebody rings for who makes it so, or MPI does.
  template <class Test>
  void wait_until(const Test& test, bool hurried = false) {
    for (Wait wait(*bells_, surroundings_); !test(); pause(wait, no_limit, hurried)) {
    }
  }

  // In the lane of rounds, and back when the bytes are free to be used again; `in` is as long as
  // what `source` sends. exchange() does both with one rank.
  void send(int target, int tag, std::span<const std::byte> bytes);
  void receive_into(int source, int tag, std::span<std::byte> in);
  void exchange(int other, int tag, std::span<const std::byte> out, std::span<std::byte> in);

 private:
  // No sleep lasts as long.
  static constexpr std::chrono::nanoseconds no_limit = std::chrono::seconds(1);
  static constexpr std::uint32_t posts_to_progress = 16;

  MPI_Comm communicator_of(Lane lane) const { return lane == Lane::rounds ? rounds_ : async_; }
  void pause(Wait& wait, std::chrono::nanoseconds limit, bool hurried);
  void wait_for(MPI_Request& request, bool hurried = false);
  void take_found(MPI_Message& message, const MPI_Status& status, const BatchSink& sink);
  void wait_for_large(MPI_Request& request, int source);
  MPI_Request start_send(int target, int tag, std::span<const std::byte> bytes);
  MPI_Request start_receive(int source, int tag, std::span<std::byte> in);

  MPI_Comm rounds_ = MPI_COMM_NULL;
  MPI_Comm async_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::shared_ptr<Bells> bells_;
  int exceptions_;      // under way when this was made
  int processors_ = 1;  // of this machine
  Surroundings surroundings_;
  std::uint32_t heard_ = 0;    // by take_all
  std::uint32_t skipped_ = 0;  // calls of it
  std::uint32_t posted_ = 0;
  PendingSends sends_;
  std::unique_ptr<std::byte[]> buffer_;  // of the message being received; kept for the next
  std::size_t capacity_ = 0;
};

}  // namespace tessera::comm
