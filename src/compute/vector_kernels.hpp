// Kernels without a matrix product on a GPU, by class: what each takes to begin and to end, and the
// rate at which it goes through its bytes, in the memory and in the cache before it.
//
// Method: time = launch_overhead + max(FLOPs / peak, cached / cache rate + others / memory rate,
// row / row rate): a block of threads goes through a row (token), all rows side by side.
// A chain of kernels finds in the cache what those before it left there: of a kernel that moves W
// bytes, with a cache of C bytes, all where W is C / 2 at most, none from 1.5 C on, and between the
// two a share that falls in a straight line. The two bounds are ours, of seven pairs that
// were tried those that fit A100 and H100 best (results/operators.md, part vectors); caches of GPUs
// are two halves, and of what lies in the far half a unit keeps a copy in its own. Deviation:
// replacement goes by nothing else, and what a product leaves in the cache counts as any other
// kernel's.
#pragma once

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
  Bandwidth row_bandwidth;  // of one row, by the one unit that goes through it; 0: never the limit
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
  // Notes rates of the section it was read from that are never the limit on such tiles; whether
  // operations say what belongs to a row (Operation::row).
  void note_without_effect(config::Section& section, const std::vector<VectorMemory>& memories,
                           bool has_rows) const;
  // The largest share of the memory that any of them reaches.
  Fraction most() const;

 private:
  std::vector<const VectorKernel*> all() const;

  VectorKernel plain_;
  VectorKernel norm_;
  VectorKernel activation_;
  VectorKernel rotary_;
  VectorKernel sum_;
};

// What a kernel without a product runs on.
struct VectorDevice {
  FlopRate peak;
  Bandwidth memory;  // that the kernel reaches
  Bytes cache;
};

SimTime time_of(const VectorKernel& kernel, const workload::Operation& operation,
                const VectorDevice& device);

// Of `bytes` that a kernel moves, those that a cache of that size holds.
Bytes cached_bytes(Bytes bytes, Bytes cache);

std::vector<ParameterInfo> vector_parameters();

}  // namespace tessera::compute
