// The dataflows `ws`, `is` and `os` of SCALE-Sim: an operand lies on the array, in folds that never
// overlap. systolic.hpp has the closed forms.

#include <algorithm>
#include <utility>

#include "checked.hpp"
#include "flowing_operands.hpp"
#include "stationary_array.hpp"
#include "stepped_by.hpp"

namespace tessera::compute {
namespace {

using workload::MatrixProduct;

// Xᵀ and Wᵀ change places: their product is the transpose.
MatrixProduct transposed(const MatrixProduct& product) {
  return {product.columns, product.rows, product.depth, product.count};
}

// `count` matrices of rows x columns.
template <class T>
std::vector<T> transposed(const std::vector<T>& from, std::uint64_t count, std::uint64_t rows,
                          std::uint64_t columns) {
  std::vector<T> to(from.size());
  for (std::uint64_t matrix = 0; matrix < count; ++matrix) {
    const std::uint64_t offset = matrix * rows * columns;
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t column = 0; column < columns; ++column) {
        to[offset + column * rows + row] = from[offset + row * columns + column];
      }
    }
  }
  return to;
}

template <class T>
Stepped<Sum<T>> stepped_weight_stationary(const MatrixShape& shape,
                                          std::span<const Operands<T>> products) {
  Stepped<Sum<T>> result;
  const std::vector<OperatorTile<T>> tiles =
      cut(products, result.outputs, {0, shape.columns, shape.rows});
  StationaryArray<T> array(shape);
  Accumulators<T> accumulators(tiles, products.size());
  result.completions.resize(products.size());
  for (const OperatorTile<T>& tile : tiles) {
    for (std::uint64_t row = shape.rows; row-- > 0;) {
      array.load(tile, row);
    }
    for (std::uint64_t row = 0; row < tile.rows; ++row) {
      array.step(&tile, row, accumulators);
    }
    for (std::uint64_t left = shape.rows + shape.columns - 2; left > 0; --left) {
      array.step(nullptr, 0, accumulators);
    }
    result.completions[tile.product] = array.cycle();
  }
  result.cycles = array.cycle();
  return result;
}

template <class T>
Stepped<Sum<T>> stepped_input_stationary(const MatrixShape& shape,
                                         std::span<const Operands<T>> products) {
  std::vector<Operands<T>> turned;
  for (const Operands<T>& product : products) {
    const auto [rows, columns, depth, count] = product.shape;
    turned.push_back({transposed(product.shape), transposed(product.weights, count, depth, columns),
                      transposed(product.inputs, count, rows, depth)});
  }
  Stepped<Sum<T>> result = stepped_weight_stationary(shape, std::span<const Operands<T>>(turned));
  for (std::size_t number = 0; number < products.size(); ++number) {
    const MatrixProduct& product = products[number].shape;
    result.outputs[number] =
        transposed(result.outputs[number], product.count, product.columns, product.rows);
  }
  return result;
}

template <class T>
void multiply_staying(const MatrixShape& shape, const FlowingOperands<T>& operands,
                      std::vector<Register<T>>& sums) {
  for (std::size_t row = 0; row < shape.rows; ++row) {
    Register<T>* const sum = sums.data() + row * shape.columns;
    const Lane<T>* const inputs = operands.inputs(row);
    const Lane<T>* const weights = operands.weights(row);
    for (std::size_t column = 0; column < shape.columns; ++column) {
      sum[column] += multiplied<T>(inputs[column], weights[column]);
    }
  }
}

template <class T>
Stepped<Sum<T>> stepped_output_stationary(const MatrixShape& shape,
                                          std::span<const Operands<T>> products) {
  Stepped<Sum<T>> result;
  const std::vector<OperatorTile<T>> tiles =
      cut(products, result.outputs, {shape.rows, shape.columns, 0});
  result.completions.resize(products.size());
  FlowingOperands<T> operands(shape);
  std::vector<Register<T>> sums(shape.rows * shape.columns);
  for (const OperatorTile<T>& tile : tiles) {
    std::fill(sums.begin(), sums.end(), Register<T>());
    const std::uint64_t cycles = tile.depth + shape.rows + shape.columns - 2;
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
      operands.enter(cycle < tile.depth ? &tile : nullptr, cycle);
      multiply_staying(shape, operands, sums);
    }
    for (std::uint64_t row = 0; row < tile.rows; ++row) {
      for (std::uint64_t column = 0; column < tile.columns; ++column) {
        add<T>(tile.outputs[row * tile.output_stride + column], sums[row * shape.columns + column]);
      }
    }
    result.cycles += cycles;
    result.completions[tile.product] = result.cycles;
  }
  return result;
}

struct WeightStationary {
  static constexpr std::uint64_t loads = 1;  // of the rows of the array, before a fold
  static MatrixShape placed(const MatrixProduct& product) {
    return {product.depth, product.columns};
  }
  static std::uint64_t streamed(const MatrixProduct& product) { return product.rows; }
  static auto run(const MatrixShape& array, const auto& products) {
    return stepped_weight_stationary(array, products);
  }
};

struct InputStationary {
  static constexpr std::uint64_t loads = 1;
  static MatrixShape placed(const MatrixProduct& product) { return {product.depth, product.rows}; }
  static std::uint64_t streamed(const MatrixProduct& product) { return product.columns; }
  static auto run(const MatrixShape& array, const auto& products) {
    return stepped_input_stationary(array, products);
  }
};

struct OutputStationary {
  static constexpr std::uint64_t loads = 0;
  static MatrixShape placed(const MatrixProduct& product) {
    return {product.rows, product.columns};
  }
  static std::uint64_t streamed(const MatrixProduct& product) { return product.depth; }
  static auto run(const MatrixShape& array, const auto& products) {
    return stepped_output_stationary(array, products);
  }
};

template <class Form>
class Folded final : public SteppedBy<Form> {
 public:
  std::vector<std::uint64_t> completions(const MatrixShape& array,
                                         Products products) const override {
    std::vector<std::uint64_t> result;
    std::uint64_t total = 0;
    for (const MatrixProduct& product : products) {
      const std::uint64_t fold =
          sum_of({(1 + Form::loads) * array.rows, array.columns, Form::streamed(product)}) - 2;
      total = sum_of({total, product_of({folds(*this, array, product), fold})});
      result.push_back(total);
    }
    return result;
  }

  MatrixShape placed(const MatrixProduct& product) const override { return Form::placed(product); }
};

template <class Form>
Registration registered(const char* name, const char* help) {
  return {dataflows(), {name, help, {}}, [] { return std::make_unique<Folded<Form>>(); }};
}

const Registration weight_stationary = registered<WeightStationary>(
    "ws", "weight stationary: weights are loaded, then inputs stream (SCALE-Sim)");
const Registration input_stationary = registered<InputStationary>(
    "is", "input stationary: inputs are loaded, then weights stream (SCALE-Sim)");
const Registration output_stationary =
    registered<OutputStationary>("os", "output stationary: both operands stream (SCALE-Sim)");

}  // namespace
}  // namespace tessera::compute
