#include "tessera/compute/systolic.hpp"

#include "checked.hpp"

namespace tessera::compute {

using workload::MatrixProduct;

Registry<DataflowMaker>& dataflows() {
  static Registry<DataflowMaker> registry("dataflow");
  return registry;
}

std::uint64_t systolic_cycles(const Dataflow& dataflow, const MatrixShape& array,
                              const MatrixProduct& product) {
  return dataflow.completions(array, {&product, 1}).back();
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
