#include "node_memory.hpp"

#include <cstring>
#include <exception>
#include <memory>

#include "mpi/support.hpp"

namespace tessera::comm {

NodeMemory::NodeMemory(MPI_Comm node, std::size_t bytes) : exceptions_(std::uncaught_exceptions()) {
  int ranks = 0;
  check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
  if (ranks > 1) {
    allocate(node, bytes);
  }
}

// On the way of an exception the others do not come.
NodeMemory::~NodeMemory() {
  if (window_ != MPI_WIN_NULL && !mpi_is_finalized() && std::uncaught_exceptions() == exceptions_) {
    MPI_Win_free(&window_);
  }
}

void NodeMemory::allocate(MPI_Comm node, std::size_t bytes) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
  // All of it by the first rank, with room to align.
  std::size_t room = bytes + alignment;
  void* memory = nullptr;
  int got = MPI_Win_allocate_shared(rank == 0 ? static_cast<MPI_Aint>(room) : 0, 1, MPI_INFO_NULL,
                                    node, static_cast<void*>(&memory), &window_) == MPI_SUCCESS
                ? 1
                : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  if (got == 0) {
    return;
  }
  MPI_Aint size = 0;
  int unit = 0;
  check_mpi(MPI_Win_shared_query(window_, 0, &size, &unit, static_cast<void*>(&memory)),
            "MPI_Win_shared_query");
  // Pages begin at multiples of the alignment, so that this is the same place for all.
  data_ = static_cast<std::byte*>(std::align(alignment, bytes, memory, room));
  if (rank == 0) {
    std::memset(data_, 0, bytes);
  }
  check_mpi(MPI_Barrier(node), "MPI_Barrier");
}

}  // namespace tessera::comm
