// Memory that the ranks of one machine share.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace tessera::comm {

class NodeMemory {
 public:
  // `bytes` for all ranks of `node` together, which are on one machine; the same number on all. The
  // contents are zero. Collective.
  NodeMemory(MPI_Comm node, std::size_t bytes);
  ~NodeMemory();  // collective, unless an exception is on its way
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  // Begins a cache line, and two of them; null when there is no memory to share.
  std::byte* data() const { return data_; }

  static constexpr std::size_t alignment = 128;

 private:
  void allocate(MPI_Comm node, std::size_t bytes);

  int exceptions_;  // under way when this was made
  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* data_ = nullptr;
};

}  // namespace tessera::comm
