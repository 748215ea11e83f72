// The checks of communicator_checks.hpp over MPI, and those that only MPI needs. Runs under mpirun.
//
//   mpi_check RANKS           all checks; prints "ok NAME" for each, on rank 0
//   mpi_check in-process      started alone, the world is in-process
//   mpi_check abort           the last rank ends all with code 7 while the others wait
//   mpi_check abort-part      the last of three ranks ends all with code 7, others in a part of two
//   mpi_check unwind-part     an exception leaves the session and a part, in which others wait: 70
//   mpi_check unwind          an exception leaves the session of the last rank: all end with 70
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "bells.hpp"
#include "communicator_checks.hpp"
#include "mpi/support.hpp"

namespace tessera::comm {
namespace {

void describes_itself(Communicator& comm, int ranks) {
  checks::check(comm.size() == ranks, "number of ranks");
  checks::check(comm.description() == "MPI (" + mpi_version() + "), " + std::to_string(ranks) +
                                          (ranks == 1 ? " rank" : " ranks"),
                "description: " + comm.description());
}

void turns_errors_into_exceptions() {
  using checks::check_throws;
  check_mpi(MPI_SUCCESS, "MPI_Test");
  check_throws<InternalError>([] { check_mpi(MPI_ERR_TRUNCATE, "MPI_Imrecv"); }, "misuse");
  check_throws<IoError>([] { check_mpi(MPI_ERR_OTHER, "MPI_Isend"); }, "a failed transport");
  try {
    check_mpi(MPI_ERR_TAG, "MPI_Isend");
  } catch (const InternalError& error) {
    checks::check(std::string_view(error.what()).find("MPI_Isend: ") != std::string_view::npos,
                  "name of the function in: " + std::string(error.what()));
  }
}

void lays_out_bytes() {
  constexpr std::size_t gib = std::size_t{1} << 30;
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, ByteLayout::largest_plain,
                                 ByteLayout::largest_plain + 1, 3 * gib, 5 * gib + 7}) {
    const ByteLayout layout(size);
    MPI_Count one = 0;
    MPI_Count lower_bound = 0;
    MPI_Count extent = 0;
    check_mpi(MPI_Type_size_x(layout.datatype(), &one), "MPI_Type_size_x");
    check_mpi(MPI_Type_get_true_extent_x(layout.datatype(), &lower_bound, &extent),
              "MPI_Type_get_true_extent_x");
    const auto bytes = static_cast<MPI_Count>(size);
    checks::check(one * layout.count() == bytes, "size of a layout");
    checks::check(extent == one && lower_bound == 0, "a layout without gaps");
  }
}

// Nothing but a ring ends these sleeps in time.
void wakes_sleepers(Communicator& comm) {
  Bells bells(MPI_COMM_WORLD);
  if (!bells.near(comm.size())) {
    return;
  }
  std::uint32_t heard = 0;
  for (int lap = 0; lap < 50 && comm.size() > 1; ++lap) {
    if (comm.rank() == 0) {
      bells.ring(1);
    }
    while (bells.heard() == heard) {
      bells.sleep(heard, std::chrono::hours(1));
    }
    checks::check(bells.heard() == ++heard, "one ring a lap");
    if (comm.rank() != 0) {
      bells.ring((comm.rank() + 1) % comm.size());
    }
  }
  comm.barrier();
}

int check_all(Communicator& comm, int ranks) {
  const auto report = [&comm](const char* name) {
    if (comm.rank() == 0) {
      std::printf("ok %s\n", name);
      std::fflush(stdout);
    }
  };
  describes_itself(comm, ranks);
  report("describes_itself");
  turns_errors_into_exceptions();
  report("turns_errors_into_exceptions");
  lays_out_bytes();
  report("lays_out_bytes");
  wakes_sleepers(comm);
  report("wakes_sleepers");
  for (const checks::Check& check : checks::all()) {
    check.body(comm);
    comm.barrier();
    report(check.name);
  }
  return EXIT_SUCCESS;
}

int check_in_process(Communicator& comm) {
  checks::check(comm.description() == "in-process", "description: " + comm.description());
  int initialized = 0;
  MPI_Initialized(&initialized);
  checks::check(initialized == 0, "MPI was started");
  std::puts("ok in-process");
  return EXIT_SUCCESS;
}

[[noreturn]] void wait_for_ever(Communicator& comm) {
  for (;;) {
    comm.barrier();
  }
}

[[noreturn]] void wait_in_part(Communicator& comm, bool throws) {
  const std::unique_ptr<Communicator> part = comm.first(comm.size() - 1);
  if (throws && comm.rank() == 0) {
    part->post_async(1, std::vector<std::byte>(10'000'000));
    throw std::runtime_error("out of a part");
  }
  if (!throws && !part) {
    comm.abort(7);
  }
  if (part && comm.rank() == 0) {
    for (;;) {
      part->await_async(std::chrono::seconds(1));
    }
  }
  wait_for_ever(part ? *part : comm);
}

int run(Communicator& comm, std::string_view what) {
  const bool last = comm.rank() == comm.size() - 1;
  if (what == "in-process") {
    return check_in_process(comm);
  }
  if (what == "abort") {
    if (last) {
      comm.abort(7);
    }
    wait_for_ever(comm);
  }
  if (what == "abort-part") {
    wait_in_part(comm, false);
  }
  return check_all(comm, std::stoi(std::string(what)));
}

}  // namespace
}  // namespace tessera::comm

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "1";
  try {
    tessera::comm::Session session(argc, argv);
    tessera::comm::Communicator& comm = session.world();
    if (what == "unwind-part") {
      tessera::comm::wait_in_part(comm, true);
    }
    if (what == "unwind") {
      if (comm.rank() == comm.size() - 1) {
        throw std::runtime_error("out of the session");
      }
      tessera::comm::wait_for_ever(comm);
    }
    try {
      return tessera::comm::run(comm, what);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", comm.rank(), error.what());
      comm.abort(EXIT_FAILURE);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return EXIT_FAILURE;
}
