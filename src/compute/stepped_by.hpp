// What dataflows share that step an array by a template.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/compute/systolic.hpp"

namespace tessera::compute {

// `Steps::run<T>(array, products)` steps int8_t and float.
template <class Steps>
class SteppedBy : public Dataflow {
 public:
  Stepped<std::int32_t> step(const MatrixShape& array,
                             std::span<const Operands<std::int8_t>> products) const final {
    return Steps::run(array, products);
  }
  Stepped<float> step(const MatrixShape& array,
                      std::span<const Operands<float>> products) const final {
    return Steps::run(array, products);
  }
};

}  // namespace tessera::compute
