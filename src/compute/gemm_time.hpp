// Time of a matrix product from its shape.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/compute/matrix_shape.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/macs_per_pe.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::compute {

// How a device cuts products over its units.
struct MatrixDevice {
  std::uint64_t units = 1;
  std::vector<MatrixShape> tiles;    // of the output, of which the fastest serves; or
  std::optional<MatrixShape> array;  // depth by columns of the weights that a systolic array holds
  machine::MacsPerPe macs_per_pe;    // of that array
  std::uint64_t tile_depth = 1;      // depth of a step of a tile's main loop
  std::uint64_t fill = 0;            // depth's worth of time before a tile's first step
  std::uint64_t max_split = 1;       // parts that the depth of a tile may be cut in
  Bandwidth cache_bandwidth;         // of all units together, for the tiles' inputs; 0: no limit
};

// What an operation can count on.
struct MatrixRates {
  FlopRate arithmetic;  // of all units together, > 0
  Bandwidth memory;     // of the memory its operands are in; 0: no limit
};

// Time of the longer of arithmetic and memory traffic [ps], rounded up.
//
// Tiles (NVIDIA, "Matrix multiplication background user's guide", DU-09799, sections 2.1 and 3): an
// output of rows x columns is cut into tiles, each worked on by one unit; tiles of all `count`
// products run in waves of `units`, and the last wave takes as long as a full one. A tile of R x C
// takes as long as 2 R C (depth + fill) FLOPs at one unit's share of the rate, the depth rounded up
// to whole steps, or as its (R + C) (depth + fill) input elements at a unit's share of the cache
// bandwidth. With s parts of the depth there are s times as many blocks, and afterwards s partial
// outputs of four bytes an element go to memory and back (split-K). Of the tiles and s = 1, 2, 4, …
// up to max_split the fastest counts.
//
// Arrays (weight stationary; SCALE-Sim, Samajdar et al., ISPASS'20): depth x columns of weights are
// cut into folds of the array's size, each of which takes rows + 2 R + C - 2 cycles of R C
// multiply-adds: to load the weights, pass the inputs and drain. Folds run in waves of `units`.
// With k MACs a processing element (machine/macs_per_pe.hpp) folds are of k R C weights and cycles
// of k R C multiply-adds.
//
// Throws ModelError for products whose work leaves 64 bits.
SimTime matrix_time(const MatrixDevice& device, const MatrixRates& rates,
                    const workload::Operation& operation);

// Whether rows of weights and of outputs are whole multiples of 16 bytes, as kernels of libraries
// want them that read and write whole vectors (NVIDIA, DU-09799, section 2.2). Of a product's three
// sizes the rows are tokens, which are never neighbours in memory; columns and depth may be.
bool is_aligned(const workload::Operation& operation);

// Time of scores, softmax and values in one kernel [ps], rounded up: the longer of its memory
// traffic and its FLOPs at `rate`, which long sequences reach. A block of queries that sees K keys
// takes as long as K + fill of them: where only half of the keys are seen (causal) the start weighs
// twice. The form follows measured kernels (Shah et al., FlashAttention-3, arXiv:2407.08608,
// figures 5 and 6: FlashAttention-2 on H100 makes 309 to 370 TFLOP/s over 512 to 16k keys, causal
// 191 to 335).
SimTime attention_time(FlopRate rate, std::uint64_t fill, Bandwidth memory,
                       const workload::Operation& operation);

// How kernels of fused attention cut the queries of a batch.
struct AttentionBlocks {
  std::uint64_t rows = 0;  // queries of a block; 0: not known
  std::uint64_t fill = 0;  // keys' worth of time before a block's first key
  std::uint64_t skip = 0;  // and of a block of the grid that has no query
};
struct AttentionDevice {
  std::uint64_t units = 1;
  FlopRate rate;     // of all units together, that long sequences reach
  Bandwidth memory;  // 0: no limit
  SimTime launch;
  Bytes cache;  // that all units share; 0: anything fits
};

// The same of sequences that differ (operation.attention), as FlashAttention-2 takes them (T. Dao,
// arXiv:2307.08691, section 3.3; its varlen kernel). Each unit works on one block at a time, of
// `rows` queries of one head, over all keys that they see.
//   prompts, alone or beside sequences that generate: one grid of heads, sequences and as many
//     blocks as the longest prompt has; what generates takes a block a head, which has one query.
//     Blocks begin in waves of `units`. Arithmetic takes as long as the keys of all blocks, shared
//     out evenly, or as the waves that the blocks with most keys need.
//   generating alone: heads that share keys are rows of one block. Keys are cut among units where
//     there are fewer blocks than these, and a second kernel adds up, always: measured times of two
//     short sequences and more have it (results/operators.md, part attention).
// In a grid of prompts the blocks of a head, those of all sequences, come before those of the next
// head. Keys and values that heads share stay in the cache for all of these where those of the
// sequences that generate fit it. Else they are read once for heads whose blocks of a sequence run
// in one wave, and again where the next head's is in the next wave, as what is gone over in the
// same order again and again is never there: of all pairs of heads that follow each other a share
// of the blocks of a head, each counted by its time, in the units. In the operation's type. Starts
// (`fill`, `skip`) come before the longer of arithmetic and memory traffic.
SimTime attention_time(const AttentionDevice& device, const AttentionBlocks& blocks,
                       const workload::Operation& operation);

}  // namespace tessera::compute
