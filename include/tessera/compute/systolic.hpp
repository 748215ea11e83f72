// Systolic arrays: cycles of matrix products on a grid of multiply-accumulate units (MACs), in
// closed form and stepped cycle by cycle with data.
//
// A product is X (rows x depth) times W (depth x columns), an array has R rows of C MACs. How
// operands go through it is a dataflow:
//
// - `tpu` (Sinha, Lam: "Cycle-level simulation of Tensor Processing Unit", TSSA; Jouppi et al.,
//   ISCA'17): weights stay. They flood the array by diagonals, one ahead of the inputs, into second
//   registers, so that tiles follow each other without a gap; sums go down into accumulators, where
//   tiles of the depth add up. A tile of depth <= R and columns <= C whose first row enters at
//   cycle s is complete at s + rows + columns + R - 2. Tiles of a larger product take `rows` cycles
//   each: those of one block of columns one after the other, the depth in the inner loop.
// - `non-stationary` (the same paper, NSSA): inputs go right and weights down, sums stay until the
//   depth is through and then go down two cycles a row. A tile of rows <= R and columns <= C is
//   complete at s + depth + columns + 2 R - 2; the next starts depth + rows + 1 after it.
// - `ws`, `is`, `os` (SCALE-Sim; Samajdar et al., ISPASS'20): weights, inputs or outputs lie on the
//   array, in folds that never overlap. A fold takes 2 R + C + rows - 2 cycles (ws: R to load, then
//   the stream until it has left the last MAC), 2 R + C + columns - 2 (is), or R + C + depth - 2
//   (os: outputs are read where they lie, without a cycle). SCALE-Sim's `total_cycles` is the index
//   of the last cycle, one less.
//
// Products in sequence. The set-up of `tpu` pads a product by max(0, rows - depth of the tile
// before), as the paper's public code does (it compares the rows of an input with the columns of
// the one before; equation (5) compares columns with columns); that of `non-stationary` by
// max(0, rows - rows before), which it needs: sums of the product before pass the added rows. Tiles
// of one product, and its `count`, are not padded in `tpu`.
//
// A processing element can do k MACs of a data type in a cycle (machine/macs_per_pe.hpp): each
// product then takes the cycles of its `folded` one, whose depth is a k-th, whatever the dataflow.
//
// Left out: what feeds the array and takes its outputs is never the limit; accumulators are as many
// as the outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/compute/matrix_shape.hpp"
#include "tessera/compute/systolic_data.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::compute {

using Products = std::span<const workload::MatrixProduct>;

// All take products of at least one multiply-add and arrays of at least one MAC, and throw
// ModelError where cycles leave 64 bits.
class Dataflow {
 public:
  virtual ~Dataflow() = default;

  // Cycles until each of `products`, which follow each other into an idle array, is complete. O(1)
  // a product.
  virtual std::vector<std::uint64_t> completions(const MatrixShape& array,
                                                 Products products) const = 0;

  // The same by equations (2) to (8) of the paper; empty for dataflows it has none for. Tiles count
  // as products. For a first product they are exact where rows = depth (`tpu`) or always
  // (`non-stationary`), for another of its shape where rows = columns or depth = columns. (3) and
  // (5) can give too few cycles, and (4) none at all.
  virtual std::vector<std::int64_t> paper_completions(const MatrixShape&, Products) const {
    return {};
  }

  // The sides of a product that lie on the array, along its rows and columns.
  virtual MatrixShape placed(const workload::MatrixProduct& product) const = 0;

  // Every MAC in every cycle. int8 is summed in int32, which wraps; fp32 in fp32.
  virtual Stepped<std::int32_t> step(const MatrixShape& array,
                                     std::span<const Operands<std::int8_t>> products) const = 0;
  virtual Stepped<float> step(const MatrixShape& array,
                              std::span<const Operands<float>> products) const = 0;
};

// Dataflows by name.
using DataflowMaker = std::function<std::unique_ptr<Dataflow>()>;
Registry<DataflowMaker>& dataflows();

// As an array takes it whose processing elements do so many MACs a cycle.
workload::MatrixProduct folded(const workload::MatrixProduct& product, std::uint64_t macs_per_pe);

// Of one product alone.
std::uint64_t systolic_cycles(const Dataflow& dataflow, const MatrixShape& array,
                              const workload::MatrixProduct& product);

// Steps `products` with random whole numbers, int8 or, for any other type, fp32, checks the outputs
// by their column sums, and gives the completions. Each of several MACs of a processing element is
// stepped with its own elements of the depth, and their sums are added. Throws InternalError for a
// wrong output.
std::vector<std::uint64_t> stepped_completions(const Dataflow& dataflow, const MatrixShape& array,
                                               Products products, DataType type, std::uint64_t seed,
                                               std::uint64_t macs_per_pe = 1);

// Times that the operand lying on the array is changed.
std::uint64_t folds(const Dataflow& dataflow, const MatrixShape& array,
                    const workload::MatrixProduct& product);

// Multiply-adds over all that the MACs could do in `cycles`.
double utilisation(const MatrixShape& array, const workload::MatrixProduct& product,
                   std::uint64_t cycles);

// Share of MACs that hold an operand, in the mean of all folds (SCALE-Sim's mapping efficiency).
double mapping_efficiency(const Dataflow& dataflow, const MatrixShape& array,
                          const workload::MatrixProduct& product);

}  // namespace tessera::compute
