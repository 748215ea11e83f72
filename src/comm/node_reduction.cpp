#include "node_reduction.hpp"

#include <new>

#include "mpi/support.hpp"

namespace tessera::comm {
namespace {

int rank_in(MPI_Comm node) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
  return rank;
}

int ranks_of(MPI_Comm node) {
  int ranks = 0;
  check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
  return ranks;
}

}  // namespace

// Zeros are counters at their beginning.
NodeReduction::NodeReduction(MPI_Comm node)
    : rank_(rank_in(node)),
      ranks_(ranks_of(node)),
      memory_(node, sizeof(Header) + (2 + static_cast<std::size_t>(ranks_)) * capacity) {}

}  // namespace tessera::comm
