#include "tessera/compute/systolic.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "checked.hpp"
#include "tessera/core/error.hpp"

namespace tessera::compute {

using workload::MatrixProduct;

namespace {

// What MAC `which` of each processing element multiplies: every macs-th element of the depth, zeros
// behind its end.
template <class T>
Operands<T> share_of_mac(const Operands<T>& all, std::uint64_t macs, std::uint64_t which) {
  const auto [rows, columns, depth, count] = all.shape;
  Operands<T> share{folded(all.shape, macs), {}, {}};
  const std::uint64_t steps = share.shape.depth;
  share.inputs.assign(count * rows * steps, T());
  share.weights.assign(count * steps * columns, T());
  for (std::uint64_t at = which; at < depth; at += macs) {
    for (std::uint64_t row = 0; row < count * rows; ++row) {
      share.inputs[row * steps + at / macs] = all.inputs[row * depth + at];
    }
    for (std::uint64_t number = 0; number < count; ++number) {
      std::copy_n(
          all.weights.begin() + static_cast<std::ptrdiff_t>((number * depth + at) * columns),
          columns,
          share.weights.begin() +
              static_cast<std::ptrdiff_t>((number * steps + at / macs) * columns));
    }
  }
  return share;
}

// Sums of the MACs of a processing element; int32 wraps.
template <class Sum>
void add_outputs(std::vector<Sum>& to, const std::vector<Sum>& more) {
  using Unsigned = std::conditional_t<std::is_same_v<Sum, float>, float, std::uint32_t>;
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<Sum>(static_cast<Unsigned>(to[i]) + static_cast<Unsigned>(more[i]));
  }
}

template <class T>
auto stepped_by_macs(const Dataflow& dataflow, const MatrixShape& array,
                     const std::vector<Operands<T>>& operands, std::uint64_t macs) {
  decltype(dataflow.step(array, operands)) result;
  for (std::uint64_t which = 0; which < macs; ++which) {
    std::vector<Operands<T>> shares;
    for (const Operands<T>& one : operands) {
      shares.push_back(share_of_mac(one, macs, which));
    }
    auto more = dataflow.step(array, shares);
    if (which == 0) {
      result = std::move(more);
      continue;
    }
    ensure(more.completions == result.completions, "all MACs of a processing element keep step");
    for (std::size_t i = 0; i < operands.size(); ++i) {
      add_outputs(result.outputs[i], more.outputs[i]);
    }
  }
  return result;
}

template <class T>
std::vector<std::uint64_t> stepped(const Dataflow& dataflow, const MatrixShape& array,
                                   Products products, std::uint64_t seed, int limit,
                                   std::uint64_t macs) {
  std::vector<Operands<T>> operands;
  for (const MatrixProduct& product : products) {
    operands.push_back(random_operands<T>(product, seed++, limit));
  }
  auto result =
      macs == 1 ? dataflow.step(array, operands) : stepped_by_macs(dataflow, array, operands, macs);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    ensure(column_sums_agree(operands[i], result.outputs[i]), "a systolic array multiplies right");
  }
  return std::move(result.completions);
}

}  // namespace

Registry<DataflowMaker>& dataflows() {
  static Registry<DataflowMaker> registry("dataflow");
  return registry;
}

MatrixProduct folded(const MatrixProduct& product, std::uint64_t macs_per_pe) {
  return {product.rows, product.columns, rounded_up_quotient(product.depth, macs_per_pe),
          product.count};
}

std::uint64_t systolic_cycles(const Dataflow& dataflow, const MatrixShape& array,
                              const MatrixProduct& product) {
  return dataflow.completions(array, {&product, 1}).back();
}

std::vector<std::uint64_t> stepped_completions(const Dataflow& dataflow, const MatrixShape& array,
                                               Products products, DataType type, std::uint64_t seed,
                                               std::uint64_t macs_per_pe) {
  constexpr int most_int8 = 127;
  constexpr int few = 4;  // their sums are exact in fp32 up to a depth of 2^20
  return type == DataType::int8
             ? stepped<std::int8_t>(dataflow, array, products, seed, most_int8, macs_per_pe)
             : stepped<float>(dataflow, array, products, seed, few, macs_per_pe);
}

std::uint64_t folds(const Dataflow& dataflow, const MatrixShape& array,
                    const MatrixProduct& product) {
  const MatrixShape placed = dataflow.placed(product);
  return product_of({product.count, rounded_up_quotient(placed.rows, array.rows),
                     rounded_up_quotient(placed.columns, array.columns)});
}

double utilisation(const MatrixShape& array, const MatrixProduct& product, std::uint64_t cycles) {
  const auto macs = static_cast<double>(product_of({product.rows, product.columns}));
  return macs * static_cast<double>(product_of({product.depth, product.count})) /
         static_cast<double>(cycles) / static_cast<double>(product_of({array.rows, array.columns}));
}

double mapping_efficiency(const Dataflow& dataflow, const MatrixShape& array,
                          const MatrixProduct& product) {
  const MatrixShape placed = dataflow.placed(product);
  const auto held = static_cast<double>(product_of({placed.rows, placed.columns, product.count}));
  const std::uint64_t places = product_of({array.rows, array.columns});
  return held / static_cast<double>(folds(dataflow, array, product)) / static_cast<double>(places);
}

}  // namespace tessera::compute
