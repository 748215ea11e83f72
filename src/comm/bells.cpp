#include "bells.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <numeric>

#include "mpi/support.hpp"

namespace tessera::comm {
namespace {

// The word as the kernel sees it; shared between processes, hence not the private operations.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit,
                 nullptr, 0);
}

timespec timespec_of(std::chrono::nanoseconds span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((span - seconds).count())};
}

int size_of(MPI_Comm communicator) {
  int size = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  return size;
}

// Rank numbers in `all` of the ranks of `node`.
std::vector<int> numbers_in(MPI_Comm all, MPI_Comm node) {
  MPI_Group all_group = MPI_GROUP_NULL;
  MPI_Group node_group = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(all, &all_group), "MPI_Comm_group");
  check_mpi(MPI_Comm_group(node, &node_group), "MPI_Comm_group");
  const int ranks = size_of(node);
  std::vector<int> here(static_cast<std::size_t>(ranks));
  std::iota(here.begin(), here.end(), 0);
  std::vector<int> numbers(here.size());
  check_mpi(MPI_Group_translate_ranks(node_group, ranks, here.data(), all_group, numbers.data()),
            "MPI_Group_translate_ranks");
  MPI_Group_free(&node_group);
  MPI_Group_free(&all_group);
  return numbers;
}

}  // namespace

Bells::Bells(MPI_Comm ranks) : bells_(static_cast<std::size_t>(size_of(ranks))) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  check_mpi(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  memory_ =
      std::make_unique<NodeMemory>(node, sizeof(Bell) * static_cast<std::size_t>(size_of(node)));
  if (memory_->data() != nullptr) {
    hang_up(ranks, node);
  }
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
}

// Zeros are bells that nobody has rung.
void Bells::hang_up(MPI_Comm all, MPI_Comm node) {
  const std::vector<int> numbers = numbers_in(all, node);
  auto* const first = reinterpret_cast<Bell*>(memory_->data());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    bells_[static_cast<std::size_t>(numbers[i])] = first + i;
  }
  int rank = 0;
  check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
  mine_ = first + rank;
}

void Bells::sleep(std::uint32_t heard, std::chrono::nanoseconds limit) {
  const timespec span = timespec_of(limit);
  mine_->asleep.store(1);
  futex(mine_->rings, FUTEX_WAIT, heard, &span);
  mine_->asleep.store(0);
}

void Bells::wake(Bell& bell) {
  futex(bell.rings, FUTEX_WAKE, 1, nullptr);
}

bool Bells::near(int ranks) const {
  return std::all_of(bells_.begin(), bells_.begin() + ranks,
                     [](const Bell* bell) { return bell != nullptr; });
}

}  // namespace tessera::comm
