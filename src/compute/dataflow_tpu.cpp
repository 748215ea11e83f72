// The `tpu` dataflow: weights stay, tiles follow each other without a gap. systolic.hpp has the
// closed form.

#include <algorithm>
#include <utility>

#include "checked.hpp"
#include "stationary_array.hpp"
#include "stepped_by.hpp"

namespace tessera::compute {
namespace {

using workload::MatrixProduct;

// Weights on their way into the MACs: each tile's by diagonals, behind the tile before.
template <class T>
class WeightFifo {
 public:
  explicit WeightFifo(const MatrixShape& array)
      : array_(array), second_(array.rows * array.columns) {}

  // The first inputs of a tile enter in this cycle.
  void begin(const OperatorTile<T>& tile) {
    floods_.push_back({&tile, 0});
    fill_second(floods_.back());
  }

  // MACs that the first inputs of a tile reach take their second register; those of the next
  // diagonal get theirs filled.
  void cycle(StationaryArray<T>& array) {
    for (const Flood& flood : floods_) {
      on_diagonal(flood.diagonal, [&](std::size_t row, std::size_t column) {
        array.weight(row, column) = second_[row * array_.columns + column];
      });
    }
    for (Flood& flood : floods_) {
      ++flood.diagonal;
      fill_second(flood);
    }
    std::erase_if(floods_, [&](const Flood& flood) {
      return flood.diagonal > array_.rows + array_.columns - 2;
    });
  }

 private:
  struct Flood {
    const OperatorTile<T>* tile;
    std::uint64_t diagonal;
  };

  template <class Visit>
  void on_diagonal(std::uint64_t diagonal, const Visit& visit) {
    const std::uint64_t first = excess(diagonal + 1, array_.columns);
    const std::uint64_t end = std::min(diagonal + 1, array_.rows);
    for (std::uint64_t row = first; row < end; ++row) {
      visit(row, diagonal - row);
    }
  }

  void fill_second(const Flood& flood) {
    const OperatorTile<T>& tile = *flood.tile;
    on_diagonal(flood.diagonal, [&](std::size_t row, std::size_t column) {
      second_[row * array_.columns + column] = row < tile.depth && column < tile.columns
                                                   ? tile.weights[row * tile.output_stride + column]
                                                   : Lane<T>();
    });
  }

  MatrixShape array_;
  std::vector<Lane<T>> second_;  // registers of the MACs: [rows, columns]
  std::vector<Flood> floods_;    // oldest first
};

struct TpuSteps {
  template <class T>
  static Stepped<Sum<T>> run(const MatrixShape& shape, std::span<const Operands<T>> products) {
    Stepped<Sum<T>> result;
    const std::vector<OperatorTile<T>> tiles =
        cut(products, result.outputs, {0, shape.columns, shape.rows});
    Accumulators<T> accumulators(tiles, products.size());
    StationaryArray<T> array(shape);
    WeightFifo<T> weights(shape);
    const auto cycle = [&](const OperatorTile<T>* tile, std::uint64_t row) {
      weights.cycle(array);
      array.step(tile, row, accumulators);
    };
    const OperatorTile<T>* before = nullptr;
    for (const OperatorTile<T>& tile : tiles) {
      if (tile.begins_product && before != nullptr) {
        for (std::uint64_t idle = excess(tile.rows, before->depth); idle > 0; --idle) {
          cycle(nullptr, 0);
        }
      }
      before = &tile;
      weights.begin(tile);
      for (std::uint64_t row = 0; row < tile.rows; ++row) {
        cycle(&tile, row);
      }
    }
    while (!accumulators.all_complete()) {
      cycle(nullptr, 0);
    }
    result.cycles = array.cycle();
    result.completions = std::move(accumulators).completions();
    return result;
  }
};

class Tpu final : public SteppedBy<TpuSteps> {
 public:
  std::vector<std::uint64_t> completions(const MatrixShape& array,
                                         Products products) const override {
    std::vector<std::uint64_t> result;
    std::uint64_t issued = 0;
    const MatrixProduct* before = nullptr;
    for (const MatrixProduct& product : products) {
      const std::uint64_t pad =
          before == nullptr ? 0 : excess(product.rows, last_part(before->depth, array.rows));
      const std::uint64_t blocks = rounded_up_quotient(product.columns, array.columns);
      const std::uint64_t parts = rounded_up_quotient(product.depth, array.rows);
      issued = sum_of({issued, pad, product_of({product.count, blocks, parts, product.rows})});
      const std::uint64_t drained =
          columns_drained(product.columns, array.columns, issued, issued - parts * product.rows);
      result.push_back(sum_of({drained, array.rows}) - 2);
      before = &product;
    }
    return result;
  }

  // Equations (2) and (3) for the first tile, depth + columns + R - 2; (2), (4) and (5) for each
  // other, rows + columns - rows before.
  std::vector<std::int64_t> paper_completions(const MatrixShape& array,
                                              Products products) const override {
    std::vector<std::int64_t> result;
    SignedWide total = 0;
    SignedWide rows_before = 0;
    for (const MatrixProduct& product : products) {
      const SignedWide rows = product.rows;
      total += result.empty()
                   ? static_cast<SignedWide>(std::min(product.depth, array.rows) + array.rows) - 2
                   : rows - rows_before;
      total += product_of(
          {product.count, rounded_up_quotient(product.depth, array.rows), product.columns});
      result.push_back(checked_sum(total));
      rows_before = rows;
    }
    return result;
  }

  MatrixShape placed(const MatrixProduct& product) const override {
    return {product.depth, product.columns};
  }
};

const Registration dataflow_tpu_registration(
    dataflows(), {"tpu", "weights are stationary and are replaced without a gap, as in a TPU", {}},
    [] { return std::make_unique<Tpu>(); });

}  // namespace
}  // namespace tessera::compute
