// The `non-stationary` dataflow: both operands move, sums stay and then go down. systolic.hpp has
// the closed form.

#include <algorithm>
#include <utility>

#include "checked.hpp"
#include "flowing_operands.hpp"
#include "stepped_by.hpp"

namespace tessera::compute {
namespace {

using workload::MatrixProduct;

// The state of all MACs by kind, each kind row by row. A MAC that valid operands reach adds their
// product to its sum; any other passes its sum on and takes what the MAC above has passed on, so
// that a sum goes down a row in two cycles. Where a sum is of travels with it, as a mark: 1 + the
// place of its row of outputs, 0 for none.
template <class T>
class DrainingArray {
 public:
  explicit DrainingArray(const MatrixShape& array)
      : rows_(array.rows),
        columns_(array.columns),
        operands_(array),
        valid_rows_(1, columns_, rows_),
        marks_entering_(1, columns_, rows_),
        sums_(rows_ * columns_),
        passed_((rows_ + 1) * columns_),
        marks_(rows_ * columns_),
        passed_marks_((rows_ + 1) * columns_) {}

  // A cycle of all MACs, in which a step of the depth of a tile begins to enter, or none.
  void step(const OperatorTile<T>* tile, std::uint64_t depth, std::uint32_t mark) {
    operands_.enter(tile, depth);
    valid_rows_.advance();
    marks_entering_.advance();
    if (tile != nullptr) {
      valid_rows_.newest(0) = static_cast<std::uint32_t>(tile->rows);
      marks_entering_.newest(0) = mark;
    }
    for (std::size_t row = rows_; row-- > 0;) {
      step_row(row);
    }
  }

  // What leaves the last row.
  const Register<T>* sums() const { return passed_.data() + rows_ * columns_; }
  const std::uint32_t* marks() const { return passed_marks_.data() + rows_ * columns_; }

 private:
  // From the last row up: what the row above passes on is still that of the cycle before.
  void step_row(std::size_t row) {
    const std::size_t at = row * columns_;
    const Lane<T>* const inputs = operands_.inputs(row);
    const Lane<T>* const weights = operands_.weights(row);
    const std::uint32_t* const valid_rows = valid_rows_.window(0, row);
    const std::uint32_t* const entering = marks_entering_.window(0, row);
    const Register<T>* const above = passed_.data() + at;
    const std::uint32_t* const marks_above = passed_marks_.data() + at;
    Register<T>* const sums = sums_.data() + at;
    Register<T>* const passed = passed_.data() + at + columns_;
    std::uint32_t* const marks = marks_.data() + at;
    std::uint32_t* const passed_marks = passed_marks_.data() + at + columns_;
    const auto number = static_cast<std::uint32_t>(row);
    for (std::size_t j = 0; j < columns_; ++j) {
      const bool valid = valid_rows[j] > number;
      const Register<T> added = sums[j] + multiplied<T>(inputs[j], weights[j]);
      passed[j] = valid ? Register<T>() : sums[j];
      sums[j] = valid ? added : above[j];
      passed_marks[j] = valid ? 0U : marks[j];
      marks[j] = valid ? entering[j] + number : marks_above[j];
    }
  }

  std::size_t rows_;
  std::size_t columns_;
  FlowingOperands<T> operands_;
  Tapes<std::uint32_t> valid_rows_;  // of the step that enters; 0: none
  Tapes<std::uint32_t> marks_entering_;
  std::vector<Register<T>> sums_;
  std::vector<Register<T>> passed_;  // below a row of zeros, as the next but one
  std::vector<std::uint32_t> marks_;
  std::vector<std::uint32_t> passed_marks_;
};

// Cycles from the first step of a tile to that of the next, which may have more rows.
std::uint64_t interval(std::uint64_t depth, std::uint64_t rows, std::uint64_t next_rows) {
  return depth + rows + 1 + excess(next_rows, rows);
}

struct Steps {
  template <class T>
  static Stepped<Sum<T>> run(const MatrixShape& shape, std::span<const Operands<T>> products) {
    Stepped<Sum<T>> result;
    const std::vector<OperatorTile<T>> tiles =
        cut(products, result.outputs, {shape.rows, shape.columns, 0});
    if (product_of({tiles.size() + 1, shape.rows}) >> 32U != 0) {
      throw ModelError("more than 2^32 rows of tiles to step through a systolic array");
    }
    Accumulators<T> accumulators(tiles, products.size());
    DrainingArray<T> array(shape);
    const auto cycle = [&](const OperatorTile<T>* tile, std::uint64_t depth, std::uint32_t mark) {
      array.step(tile, depth, mark);
      for (std::size_t column = 0; column < shape.columns; ++column) {
        const std::uint32_t place = array.marks()[column];
        if (place == 0) {
          continue;
        }
        const OperatorTile<T>& from = tiles[(place - 1) / shape.rows];
        if (column < from.columns) {
          accumulators.take(from, (place - 1) % shape.rows, column, array.sums()[column],
                            result.cycles);
        }
      }
      ++result.cycles;
    };
    for (std::size_t number = 0; number < tiles.size(); ++number) {
      const OperatorTile<T>& tile = tiles[number];
      const auto mark = static_cast<std::uint32_t>(number * shape.rows + 1);
      for (std::uint64_t depth = 0; depth < tile.depth; ++depth) {
        cycle(&tile, depth, mark);
      }
      if (number + 1 < tiles.size()) {
        const std::uint64_t apart = interval(tile.depth, tile.rows, tiles[number + 1].rows);
        for (std::uint64_t idle = apart - tile.depth; idle > 0; --idle) {
          cycle(nullptr, 0, 0);
        }
      }
    }
    while (!accumulators.all_complete()) {
      cycle(nullptr, 0, 0);
    }
    result.completions = std::move(accumulators).completions();
    return result;
  }
};

class NonStationary final : public SteppedBy<Steps> {
 public:
  std::vector<std::uint64_t> completions(const MatrixShape& array,
                                         Products products) const override {
    std::vector<std::uint64_t> result;
    std::uint64_t start = 0;  // of a product's last tile
    const MatrixProduct* before = nullptr;
    for (const MatrixProduct& product : products) {
      const auto [rows, columns, depth, count] = product;
      const std::uint64_t first_rows = std::min(rows, array.rows);
      const std::uint64_t last_rows = last_part(rows, array.rows);
      const std::uint64_t blocks = rounded_up_quotient(columns, array.columns);
      const std::uint64_t bands = rounded_up_quotient(rows, array.rows);
      if (before != nullptr) {
        start = sum_of(
            {start, interval(before->depth, last_part(before->rows, array.rows), first_rows)});
      }
      // All tiles but the last take their depth, their rows and one cycle, and pad where the rows
      // of a product end and those of the next of `count` begin.
      const std::uint64_t gap = sum_of({depth, 1});
      const std::uint64_t one = product_of({blocks, sum_of({product_of({bands, gap}), rows})});
      start = sum_of({start, product_of({count, one}),
                      product_of({count - 1, first_rows - last_rows})}) -
              (gap + last_rows);
      const std::uint64_t drained = columns_drained(columns, array.columns, start,
                                                    blocks > 1 ? start - (gap + last_rows) : 0);
      result.push_back(sum_of({drained, depth, 2 * array.rows}) - 2);
      before = &product;
    }
    return result;
  }

  // Equations (6) and (7) for the first tile, depth + columns + 2 R - 2; (6) and (8) for each
  // other, 2 rows + depth + columns + 1 - depth before - rows before. Summed over the tiles of a
  // product, differences of neighbours cancel.
  std::vector<std::int64_t> paper_completions(const MatrixShape& array,
                                              Products products) const override {
    std::vector<std::int64_t> result;
    const auto of = [](std::initializer_list<std::uint64_t> factors) {
      return static_cast<SignedWide>(product_of(factors));
    };
    SignedWide total = 0;
    SignedWide depth_before = 0;
    SignedWide rows_before = 0;
    for (const MatrixProduct& product : products) {
      const std::uint64_t blocks = rounded_up_quotient(product.columns, array.columns);
      const std::uint64_t bands = rounded_up_quotient(product.rows, array.rows);
      const SignedWide depth = product.depth;
      const SignedWide last_rows = of({last_part(product.rows, array.rows)});
      total += of({product.count, blocks, product.rows}) +
               of({product.count, bands, product.columns}) + of({product.count, blocks, bands}) +
               depth - depth_before + last_rows - rows_before;
      if (result.empty()) {
        total += 2 * of({array.rows}) - 3 - 2 * of({std::min(product.rows, array.rows)});
      }
      result.push_back(checked_sum(total));
      depth_before = depth;
      rows_before = last_rows;
    }
    return result;
  }

  MatrixShape placed(const MatrixProduct& product) const override {
    return {product.rows, product.columns};
  }
};

const Registration dataflow_nonstationary_registration(
    dataflows(),
    {"non-stationary", "inputs and weights move; sums leave downwards when complete", {}},
    [] { return std::make_unique<NonStationary>(); });

}  // namespace
}  // namespace tessera::compute
