// Reductions among ranks of one machine, in memory that they share.
//
// Each rank writes its values down, and the last to come combines them and wakes the others: a rank
// sleeps once at most, where messages would wake some for nothing but passing on. That decides
// where ranks outnumber processors, or other programs keep them busy.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "node_memory.hpp"

namespace tessera::comm {

class NodeReduction {
 public:
  // Longest values that fit [bytes].
  static constexpr std::size_t capacity = 1024;

  // Of all ranks of `node`, which are on one machine. Collective.
  explicit NodeReduction(MPI_Comm node);

  // Whether there is memory for it.
  bool possible() const { return memory_.data() != nullptr; }

  // Brings the values of this rank. True for the last to come: everybody's are combined, and the
  // others may be told. Element types of the same size everywhere.
  template <class T, class Operation>
  bool come(std::span<const T> values, Operation operation) {
    copy(std::as_bytes(values), slot(rank_));
    if (header().present.fetch_add(1) + 1 != static_cast<std::uint32_t>(ranks_)) {
      return false;
    }
    T* const result = reinterpret_cast<T*>(result_of(met_));
    copy(std::as_bytes(values), result_of(met_));
    for (int rank = 0; rank < ranks_; ++rank) {
      const T* const theirs = reinterpret_cast<const T*>(slot(rank));
      for (std::size_t i = 0; rank != rank_ && i < values.size(); ++i) {
        result[i] = operation(result[i], theirs[i]);
      }
    }
    header().present.store(0);
    header().met.store(met_ + 1);
    return true;
  }
  // Whether all have come.
  bool complete() const { return header().met.load() != met_; }
  // Takes the result.
  void leave(std::span<std::byte> values) {
    if (!values.empty()) {
      std::memcpy(values.data(), result_of(met_), values.size());
    }
    ++met_;
  }

 private:
  struct Header {
    std::atomic<std::uint32_t> present;  // ranks that have come
    alignas(NodeMemory::alignment) std::atomic<std::uint32_t> met;
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

  static void copy(std::span<const std::byte> bytes, std::byte* to) {
    if (!bytes.empty()) {
      std::memcpy(to, bytes.data(), bytes.size());
    }
  }
  Header& header() const { return *reinterpret_cast<Header*>(memory_.data()); }
  // Two, as a slow rank may still read the last one. Not more: to have come to the next reduction
  // is to have left this one.
  std::byte* result_of(std::uint32_t reduction) const {
    return memory_.data() + sizeof(Header) + (reduction % 2) * capacity;
  }
  std::byte* slot(int rank) const {
    return result_of(0) + (2 + static_cast<std::size_t>(rank)) * capacity;
  }

  int rank_ = 0;
  int ranks_ = 1;
  std::uint32_t met_ = 0;  // reductions left by this rank
  NodeMemory memory_;
};

}  // namespace tessera::comm
