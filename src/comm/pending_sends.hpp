// Messages on their way out, with the bytes that MPI still reads.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::comm {

class PendingSends {
 public:
  // Starts to send a copy of `bytes`.
  void post(MPI_Comm communicator, int target, int tag, std::span<const std::byte> bytes);
  // Forgets what has been sent. O(messages pending).
  void reap();
  bool empty() const { return requests_.empty(); }

 private:
  // Reaping at every post would cost the square of a round's messages.
  static constexpr std::size_t smallest_reap = 64;
  // What is kept for the next sends.
  static constexpr std::size_t most_spares = 64;
  static constexpr std::size_t largest_spare = std::size_t{1} << 20;

  std::vector<std::byte> copy_of(std::span<const std::byte> bytes);
  void recycle(std::vector<std::byte>& buffer);

  std::vector<MPI_Request> requests_;
  std::vector<std::vector<std::byte>> buffers_;  // of the request at the same index
  std::vector<std::vector<std::byte>> spares_;   // buffers to be used again
  std::vector<int> completed_;                   // room for MPI_Testsome
  std::size_t reap_at_ = smallest_reap;
};

}  // namespace tessera::comm
