// Kernels without a matrix product on a GPU, by class: what each takes to begin and to end, the
// rate at which it goes through its bytes, in the memory and in the cache before it, and the blocks
// of threads that go through its rows.
//
// Method: a block of threads goes through a row (token), and takes row / row rate. A unit has room
// for unit_threads / threads of a block of them at a time, one at least; so many on all units are a
// wave. With w waves, of which the last is seldom full,
//
//   time = launch_overhead
//          + max(FLOPs / peak, held / cache rate + others / memory rate, w * block time)
//          + (ceil(w) - w) * block time
//
// so that what the last wave lacks is time in which units wait. Without threads of blocks all rows
// go side by side, and the time is the longest of arithmetic, traffic and a row.
//
// Few rows of a look-up go one after the other, and take rows * row_time in place of
// w * block time, however wide they are: PyTorch's index_select has a kernel for up to 16 of them
// whose threads share out the elements of a row and load one row after the other
// (aten/src/ATen/native/cuda/Indexing.cu).
//
// A chain of kernels finds in the cache what those before it left there, so far as that is half of
// it: caches of GPUs are two halves, and of what lies in the far half a unit keeps a copy in its
// own. Of more bytes than that, half of the cache is held all the same. Deviation: replacement
// goes by nothing else, what a product leaves in the cache counts as any other kernel's, and where
// an allocator puts buffers does not count (results/operators.md, part vectors).
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::compute {

struct VectorKernel {
  Fraction memory_efficiency;  // of the memory's bandwidth
  Bandwidth cache_bandwidth;   // of what the cache holds; less than the memory's: as the memory
  SimTime launch_overhead;
  Bandwidth row_bandwidth;  // of one row, by the one block that goes through it; 0: never the limit
  std::uint64_t block_threads = 0;  // of a block, at most; 0: all rows side by side
  Bytes thread_bytes;  // of a row, that each of them moves at least; 0: rows fill all blocks
  std::uint64_t serial_rows = 0;       // rows that go one after the other where no more are there
  SimTime row_time = SimTime::zero();  // of each of these
};

// What kernels find on a tile.
struct VectorMemory {
  Bandwidth whole;  // of the memory; a kernel reaches its share of it
  Bandwidth left;   // that any reaches at least, beside collectives in the background; 0: its share
  Bytes cache;      // before it; 0: none
};

class VectorKernels {
 public:
  // What a class does not state is as of all, which is as of products where they do not state it.
  static VectorKernels read(config::Section& section, Fraction memory_efficiency,
                            SimTime launch_overhead);

  const VectorKernel& of(workload::Kernel kernel) const;
  std::uint64_t unit_threads() const { return unit_threads_; }
  // Notes keys of the section it was read from that change nothing on such tiles; whether
  // operations say what belongs to a row (Operation::row).
  void note_without_effect(config::Section& section, const std::vector<VectorMemory>& memories,
                           bool has_rows) const;
  // The largest share of the memory that any of them reaches.
  Fraction most() const;

 private:
  std::vector<const VectorKernel*> all() const;
  void note_rows(config::Section& section, bool has_rows) const;

  std::uint64_t unit_threads_ = 0;
  VectorKernel plain_;
  VectorKernel norm_;
  VectorKernel activation_;
  VectorKernel rotary_;
  VectorKernel sum_;
  VectorKernel lookup_;
};

// What a kernel without a product runs on.
struct VectorDevice {
  FlopRate peak;
  Bandwidth memory;  // that the kernel reaches
  Bytes cache;
  std::uint64_t units = 1;
  std::uint64_t unit_threads = 0;  // that a unit has room for; 0: all rows side by side
};

SimTime time_of(const VectorKernel& kernel, const workload::Operation& operation,
                const VectorDevice& device);

std::vector<ParameterInfo> vector_parameters();

}  // namespace tessera::compute
