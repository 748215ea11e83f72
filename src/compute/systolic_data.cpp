#include "tessera/compute/systolic_data.hpp"

#include <algorithm>

#include "checked.hpp"
#include "tessera/core/random.hpp"

namespace tessera::compute {
namespace {

template <class T>
std::vector<T> random_values(std::uint64_t count, RandomStream random, int limit) {
  std::vector<T> values(count);
  for (T& value : values) {
    const auto drawn = static_cast<int>(random.next_below(2 * static_cast<unsigned>(limit) + 1));
    value = static_cast<T>(drawn - limit);
  }
  return values;
}

template <class T>
std::uint32_t modulo(T value) {
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
}

}  // namespace

template <class T>
Operands<T> random_operands(const workload::MatrixProduct& shape, std::uint64_t seed, int limit) {
  const EntityId nobody(0);
  return {shape,
          random_values<T>(product_of({shape.count, shape.rows, shape.depth}),
                           RandomStream(seed, nobody, 0), limit),
          random_values<T>(product_of({shape.count, shape.depth, shape.columns}),
                           RandomStream(seed, nobody, 1), limit)};
}

template <class T, class Sum>
bool column_sums_agree(const Operands<T>& operands, const std::vector<Sum>& outputs) {
  const auto [rows, columns, depth, count] = operands.shape;
  for (std::uint64_t which = 0; which < count; ++which) {
    std::vector<std::uint32_t> difference(columns);
    for (std::uint64_t row = which * rows; row < (which + 1) * rows; ++row) {
      for (std::uint64_t column = 0; column < columns; ++column) {
        difference[column] += modulo(outputs[row * columns + column]);
      }
    }
    std::vector<std::uint32_t> inputs(depth);
    for (std::uint64_t row = which * rows; row < (which + 1) * rows; ++row) {
      for (std::uint64_t at = 0; at < depth; ++at) {
        inputs[at] += modulo(operands.inputs[row * depth + at]);
      }
    }
    for (std::uint64_t at = 0; at < depth; ++at) {
      const T* const weights = operands.weights.data() + (which * depth + at) * columns;
      for (std::uint64_t column = 0; column < columns; ++column) {
        difference[column] -= inputs[at] * modulo(weights[column]);
      }
    }
    if (std::any_of(difference.begin(), difference.end(), [](auto sum) { return sum != 0; })) {
      return false;
    }
  }
  return true;
}

template Operands<std::int8_t> random_operands(const workload::MatrixProduct&, std::uint64_t, int);
template Operands<float> random_operands(const workload::MatrixProduct&, std::uint64_t, int);
template bool column_sums_agree(const Operands<std::int8_t>&, const std::vector<std::int32_t>&);
template bool column_sums_agree(const Operands<float>&, const std::vector<float>&);

}  // namespace tessera::compute
