#include "mpi/transport.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "exit_code.hpp"
#include "mpi/support.hpp"

namespace tessera::comm {
namespace {

using std::chrono::nanoseconds;

// From this size on MPI may need calls of both sides to move a message: more than any library sends
// in one piece would do as well, but late; less costs a ring for nothing.
constexpr std::size_t large_message = 4000;

// Where MPI was short of room, a message leaves some time after the ring.
constexpr std::uint32_t most_skipped = 8;

MPI_Comm copy_of(MPI_Comm ranks) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(ranks, &copy), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm ranks, std::shared_ptr<Bells> bells)
    : rounds_(copy_of(ranks)),
      async_(copy_of(ranks)),
      bells_(std::move(bells)),
      exceptions_(std::uncaught_exceptions()) {
  check_mpi(MPI_Comm_rank(rounds_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(rounds_, &size_), "MPI_Comm_size");
  const NodeShare node = share_of_node(rounds_);
  processors_ = node.processors;
  surroundings_ = {node.ranks > node.processors, bells_->near(size_)};
}

// Errors have nobody left to go to. On the way of an exception all ranks will be ended, and others
// do not take what is left any more.
MpiTransport::~MpiTransport() {
  if (mpi_is_finalized() || std::uncaught_exceptions() != exceptions_) {
    return;
  }
  try {
    wait_until(
        [this] {
          sends_.reap();
          return sends_.empty();
        },
        true);
  } catch (const std::exception&) {
    MPI_Abort(MPI_COMM_WORLD, internal_exit_code);
  }
  MPI_Comm_free(&async_);
  MPI_Comm_free(&rounds_);
}

void MpiTransport::pause(Wait& wait, nanoseconds limit, bool hurried) {
  if (!wait.spins()) {
    sends_.reap();
    progress();
    wait.sleep(limit, hurried || !sends_.empty());
  }
}

// Batches of another communicator, a part of this one perhaps, may be on their way as well.
void MpiTransport::progress() {
  int found = 0;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, async_, &found, MPI_STATUS_IGNORE),
            "MPI_Iprobe");
}

void MpiTransport::wait_for(MPI_Request& request, bool hurried) {
  wait_until(
      [&request] {
        int done = 0;
        check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        return done != 0;
      },
      hurried);
}

// The sender may be asleep, and has to call MPI as well.
void MpiTransport::wait_for_large(MPI_Request& request, int source) {
  wait_until(
      [this, &request, source] {
        int done = 0;
        check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        ring(source);
        return done != 0;
      },
      true);
}

bool MpiTransport::take(Lane lane, int source, int tag, const BatchSink& sink) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(MPI_Improbe(source, tag, communicator_of(lane), &found, &message, &status),
            "MPI_Improbe");
  if (found == 0) {
    return false;
  }
  take_found(message, status, sink);
  return true;
}

bool MpiTransport::take_all(Lane lane, int tag, const BatchSink& sink) {
  const std::uint32_t heard = bells_->heard();
  if (surroundings_.near && heard == heard_ && ++skipped_ < most_skipped) {
    return false;
  }
  heard_ = heard;
  skipped_ = 0;
  bool any = false;
  // A probe that finds nothing may have taken in what the next one finds.
  for (std::uint32_t misses = 0; misses < tests_of_news;) {
    if (take(lane, MPI_ANY_SOURCE, tag, sink)) {
      any = true;
      misses = 0;
    } else {
      ++misses;
    }
  }
  return any;
}

void MpiTransport::receive(Lane lane, int source, int tag, const BatchSink& sink) {
  wait_until([&] { return take(lane, source, tag, sink); });
}

void MpiTransport::await(Lane lane, int tag, nanoseconds limit) {
  if (has_news()) {
    return;
  }
  Wait wait(*bells_, surroundings_);
  for (;;) {
    int found = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, communicator_of(lane), &found, MPI_STATUS_IGNORE),
              "MPI_Iprobe");
    if (found != 0 || wait.waited() >= limit) {
      return;
    }
    pause(wait, limit - wait.waited(), false);
  }
}

// A message leaves MPI's queue only when it is known to be there, and its size with it.
void MpiTransport::take_found(MPI_Message& message, const MPI_Status& status,
                              const BatchSink& sink) {
  const std::size_t size = size_of_message(status);
  if (size > capacity_) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(size);
    capacity_ = size;
  }
  const ByteLayout layout(size);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Imrecv(buffer_.get(), layout.count(), layout.datatype(), &message, &request),
            "MPI_Imrecv");
  if (size < large_message) {
    wait_for(request);
  } else {
    wait_for_large(request, status.MPI_SOURCE);
  }
  sink(status.MPI_SOURCE, {buffer_.get(), size});
}

MPI_Request MpiTransport::start_send(int target, int tag, std::span<const std::byte> bytes) {
  const ByteLayout layout(bytes.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Isend(bytes.data(), layout.count(), layout.datatype(), target, tag, rounds_, &request),
      "MPI_Isend");
  ring(target);
  return request;
}

MPI_Request MpiTransport::start_receive(int source, int tag, std::span<std::byte> in) {
  const ByteLayout layout(in.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(in.data(), layout.count(), layout.datatype(), source, tag, rounds_, &request),
            "MPI_Irecv");
  return request;
}

void MpiTransport::send(int target, int tag, std::span<const std::byte> bytes) {
  MPI_Request request = start_send(target, tag, bytes);
  wait_for(request, true);
}

void MpiTransport::receive_into(int source, int tag, std::span<std::byte> in) {
  MPI_Request request = start_receive(source, tag, in);
  wait_for(request);
  if (in.size() >= large_message) {
    ring(source);
  }
}

void MpiTransport::exchange(int other, int tag, std::span<const std::byte> out,
                            std::span<std::byte> in) {
  std::array requests{start_send(other, tag, out), start_receive(other, tag, in)};
  wait_until(
      [&requests] {
        int done = 0;
        check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                              MPI_STATUSES_IGNORE),
                  "MPI_Testall");
        return done != 0;
      },
      in.size() >= large_message);
  if (in.size() >= large_message) {
    ring(other);
  }
}

}  // namespace tessera::comm
