// Messages on their way out, with the bytes that MPI still reads.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace tessera::comm {

class PendingSends {
 public:
  // Starts to send `bytes` and keeps them until they are sent.
  void post(MPI_Comm communicator, int target, int tag, std::vector<std::byte> bytes);
  // Forgets what has been sent. O(messages pending).
  void reap();
  bool empty() const { return requests_.empty(); }

 private:
  // Reaping at every post would cost the square of a round's messages.
  static constexpr std::size_t smallest_reap = 64;

  std::vector<MPI_Request> requests_;
  std::vector<std::vector<std::byte>> buffers_;  // of the request at the same index
  std::vector<int> completed_;                   // room for MPI_Testsome
  std::size_t reap_at_ = smallest_reap;
};

}  // namespace tessera::comm
