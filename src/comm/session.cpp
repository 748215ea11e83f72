#include <mpi.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "exit_code.hpp"
#include "mpi/communicator.hpp"
#include "mpi/support.hpp"
#include "scheduling.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/address_space.hpp"
#include "tessera/core/error.hpp"

namespace tessera::comm {
namespace {

constexpr std::array launcher_variables{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE",
                                        "MV2_COMM_WORLD_SIZE"};

// Tasks of the srun this process is part of; 1 outside one.
int tasks_of_slurm_step() {
  const char* value = std::getenv("SLURM_STEP_NUM_TASKS");
  int tasks = 1;
  if (value != nullptr) {
    const std::string_view text(value);
    std::from_chars(text.data(), text.data() + text.size(), tasks);
  }
  return tasks;
}

bool launched_in_parallel() {
  for (const char* name : launcher_variables) {
    if (std::getenv(name) != nullptr) {
      return true;
    }
  }
  return tasks_of_slurm_step() > 1;
}

bool mpi_is_initialized() {
  int initialized = 0;
  check_mpi(MPI_Initialized(&initialized), "MPI_Initialized");
  return initialized != 0;
}

// MPI crashes or leaves parts out when it finds too few.
void require_addresses() {
  constexpr std::uint64_t needed = std::uint64_t{208} << 20U;
  if (!has_addresses(needed)) {
    throw ConfigError("the process may have addresses for " +
                      std::to_string(address_space_limit() >> 20U) +
                      " MiB (ulimit -v), too few for MPI, which needs " +
                      std::to_string(needed >> 20U) + " MiB more than the program itself");
  }
}

// Those who are done wait here for the others, asleep: MPI would spin for them when it ends. Errors
// have nobody left to go to.
void meet_at_the_end(Communicator& world) {
  try {
    world.barrier();
  } catch (const std::exception&) {
    MPI_Abort(MPI_COMM_WORLD, internal_exit_code);
  }
}

}  // namespace

Session::Session(int& argc, char**& argv) {
  if (!launched_in_parallel()) {
    world_ = make_in_process();
    return;
  }
  if (!mpi_is_initialized()) {
    require_addresses();
    prepare_mpi_yields();
    int provided = MPI_THREAD_SINGLE;
    check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    started_ = true;
  }
  ask_for_short_slices();
  world_ = make_mpi();
  set_mpi_yields(false);
  // Otherwise each task would run the whole simulation and write over the files of the others.
  if (world_->size() == 1 && tasks_of_slurm_step() > 1) {
    finalize();
    throw ConfigError(
        "srun started several tasks, but MPI sees one rank in each; use srun --mpi=pmix (or pmi2), "
        "or mpirun");
  }
}

Session::~Session() {
  if (started_ && std::uncaught_exceptions() > 0 && !mpi_is_finalized()) {
    MPI_Abort(MPI_COMM_WORLD, internal_exit_code);
  }
  finalize();
}

void Session::finalize() {
  if (world_ && !mpi_is_finalized()) {
    meet_at_the_end(*world_);
    set_mpi_yields(true);
  }
  world_.reset();
  if (started_ && !mpi_is_finalized()) {
    MPI_Finalize();
  }
}

std::string mpi_version() {
  // "Open MPI v4.1.4, package: Debian OpenMPI, …" or "MPICH Version:\t4.0.2\nMPICH Release …".
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> buffer{};
  int length = 0;
  check_mpi(MPI_Get_library_version(buffer.data(), &length), "MPI_Get_library_version");
  std::string_view text(buffer.data(), static_cast<std::size_t>(length));
  text = text.substr(0, text.find_first_of(",\n"));
  const std::size_t number = text.find_first_of("0123456789");
  if (number == std::string_view::npos) {
    return std::string(text);
  }
  std::string_view name = text.substr(0, number);
  for (const std::string_view ending : {"\t", "Version:", "v", " "}) {
    if (name.ends_with(ending)) {
      name.remove_suffix(ending.size());
    }
  }
  return std::string(name) + " " + std::string(text.substr(number));
}

}  // namespace tessera::comm
