#include "tessera/compute/systolic.hpp"

#include <utility>

#include "checked.hpp"
#include "tessera/core/error.hpp"

namespace tessera::compute {

using workload::MatrixProduct;

namespace {

template <class T>
std::vector<std::uint64_t> stepped(const Dataflow& dataflow, const MatrixShape& array,
                                   Products products, std::uint64_t seed, int limit) {
  std::vector<Operands<T>> operands;
  for (const MatrixProduct& product : products) {
    operands.push_back(random_operands<T>(product, seed++, limit));
  }
  auto result = dataflow.step(array, operands);
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

std::uint64_t systolic_cycles(const Dataflow& dataflow, const MatrixShape& array,
                              const MatrixProduct& product) {
  return dataflow.completions(array, {&product, 1}).back();
}

std::vector<std::uint64_t> stepped_completions(const Dataflow& dataflow, const MatrixShape& array,
                                               Products products, DataType type,
                                               std::uint64_t seed) {
  constexpr int most_int8 = 127;
  constexpr int few = 4;  // their sums are exact in fp32 up to a depth of 2^20
  return type == DataType::int8 ? stepped<std::int8_t>(dataflow, array, products, seed, most_int8)
                                : stepped<float>(dataflow, array, products, seed, few);
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
