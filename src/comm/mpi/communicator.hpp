// The communicator over all ranks of an MPI job.
#pragma once

#include <memory>

#include "tessera/comm/communicator.hpp"

namespace tessera::comm {

// MPI is initialised, and stays so for the life of the result. Collective over MPI_COMM_WORLD.
std::unique_ptr<Communicator> make_mpi();

}  // namespace tessera::comm
