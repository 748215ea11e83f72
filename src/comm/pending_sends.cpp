#include "pending_sends.hpp"

#include <algorithm>
#include <utility>

#include "mpi/support.hpp"

namespace tessera::comm {

std::vector<std::byte> PendingSends::copy_of(std::span<const std::byte> bytes) {
  std::vector<std::byte> buffer;
  if (!spares_.empty()) {
    buffer = std::move(spares_.back());
    spares_.pop_back();
  }
  buffer.assign(bytes.begin(), bytes.end());
  return buffer;
}

void PendingSends::recycle(std::vector<std::byte>& buffer) {
  if (spares_.size() < most_spares && buffer.capacity() <= largest_spare) {
    spares_.push_back(std::move(buffer));
  }
}

void PendingSends::post(MPI_Comm communicator, int target, int tag,
                        std::span<const std::byte> bytes) {
  if (requests_.size() >= reap_at_) {
    reap();
    reap_at_ = std::max(smallest_reap, 2 * requests_.size());
  }
  // Both are in place before the start: from then on nothing may throw, or MPI would read a buffer
  // that is gone.
  buffers_.push_back(copy_of(bytes));
  requests_.push_back(MPI_REQUEST_NULL);
  const std::vector<std::byte>& kept = buffers_.back();
  const ByteLayout layout(kept.size());
  check_mpi(MPI_Isend(kept.data(), layout.count(), layout.datatype(), target, tag, communicator,
                      &requests_.back()),
            "MPI_Isend");
}

void PendingSends::reap() {
  if (requests_.empty()) {
    return;
  }
  completed_.resize(requests_.size());
  int number = 0;
  check_mpi(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &number,
                         completed_.data(), MPI_STATUSES_IGNORE),
            "MPI_Testsome");
  if (number == 0) {
    return;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) {
      recycle(buffers_[i]);
    } else {
      requests_[kept] = requests_[i];
      std::swap(buffers_[kept], buffers_[i]);
      ++kept;
    }
  }
  requests_.resize(kept);
  buffers_.resize(kept);
}

}  // namespace tessera::comm
