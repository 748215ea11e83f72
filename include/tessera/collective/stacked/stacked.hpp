// A collective over the dimensions of a stack: chunks that go through one dimension after the
// other.
//
// M. Cho et al., "BlueConnect", SysML 2019: an all-reduce is a reduce-scatter in each dimension up
// and an all-gather in each down, so that a dimension carries only what the ones before have left.
// Which dimension comes first may change from chunk to chunk, so that all are busy: S. Rashidi et
// al., "Themis", ISCA 2022, doi:10.1145/3470496.3527382.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"

namespace tessera::collective {

// How an all-reduce is made of phases.
enum class Decomposition : std::uint8_t {
  bandwidth_aware,  // reduce-scatter up, all-gather down
  baseline,         // an all-reduce in each dimension
};

// Which dimension comes when.
enum class DimensionOrder : std::uint8_t {
  ascending,
  round_robin,  // turned by one with each chunk
  themis,       // by the load that chunks before have given each dimension, the least first
};

struct StackedDimension {
  std::uint32_t size = 1;
  Bandwidth bandwidth;  // of one NPU into the dimension; for Themis
  // Chunks that come to the dimension go to one after the other of so many queues. Those of the
  // second half count members the other way round, where the algorithm can: rings then use both
  // directions (ASTRA-sim 2.0's queues a dimension).
  std::uint32_t queues = 1;
};

class Conventions;
const Conventions& own_conventions();

struct StackedOptions {
  std::uint32_t chunks = 1;
  Decomposition decomposition = Decomposition::bandwidth_aware;
  DimensionOrder order = DimensionOrder::ascending;
  const Conventions* conventions = &own_conventions();  // conventions.hpp; never nullptr
};

// A collective among those that differ in one dimension only.
struct Phase {
  std::uint32_t dimension = 0;
  Kind kind = Kind::all_reduce;
  // The first so many dimensions of the chunk's order have cut the vector before.
  std::uint32_t cuts = 0;
  // Only NPUs take part that are at the root's coordinate in the first (last, `from_behind`) so
  // many dimensions of the order; with kinds that have a root.
  std::uint32_t with_root = 0;
  std::uint32_t queue = 0;  // of the dimension
  friend bool operator==(const Phase&, const Phase&) = default;
};

struct ChunkPlan {
  std::vector<std::uint32_t> order;  // of dimensions
  std::vector<Phase> phases;
};

// Chunks in the order in which they begin. Dimensions of one NPU have no phases. Deterministic: all
// NPUs make the same plan. Broadcast, reduce, gather and scatter go dimension by dimension, outward
// from the root in descending, inward in ascending order.
std::vector<ChunkPlan> plan_chunks(Kind kind, Bytes bytes,
                                   std::span<const StackedDimension> dimensions,
                                   const StackedOptions& options);

// The vector of a phase, in the sense of Algorithm, at the NPU with these coordinates. `chunk` are
// the bytes of the chunk's vector: for an all-gather, the result.
Bytes phase_bytes(const ChunkPlan& plan, const Phase& phase, Bytes chunk,
                  std::span<const StackedDimension> dimensions,
                  std::span<const std::uint32_t> coordinates);

}  // namespace tessera::collective
