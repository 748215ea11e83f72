#include "tessera/compute/systolic_data.hpp"

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

template Operands<std::int8_t> random_operands(const workload::MatrixProduct&, std::uint64_t, int);
template Operands<float> random_operands(const workload::MatrixProduct&, std::uint64_t, int);

}  // namespace tessera::compute
