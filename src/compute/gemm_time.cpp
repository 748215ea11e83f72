#include "gemm_time.hpp"

#include <algorithm>

#include "checked.hpp"
#include "operation_time.hpp"
#include "tessera/core/data_type.hpp"

namespace tessera::compute {
namespace {

using workload::MatrixProduct;

constexpr std::uint64_t accumulator_bytes = 4;

// A wave keeps every unit, busy or idle, for `unit_flops`.
SimTime wave_time(std::uint64_t waves, std::uint64_t units, std::uint64_t unit_flops,
                  FlopRate rate) {
  return execution_time(Flops(product_of({waves, units, unit_flops})), rate);
}

SimTime tiled_time(const MatrixDevice& device, const MatrixRates& rates,
                   const workload::Operation& operation, const MatrixShape& tile,
                   std::uint64_t split) {
  const MatrixProduct& product = operation.product;
  const std::uint64_t steps = rounded_up_quotient(product.depth, device.tile_depth);
  const std::uint64_t part_steps = rounded_up_quotient(steps, split);
  const std::uint64_t parts = rounded_up_quotient(steps, part_steps);
  const std::uint64_t depth = part_steps * device.tile_depth + device.fill;
  const std::uint64_t blocks =
      product_of({product.count, parts, rounded_up_quotient(product.rows, tile.rows),
                  rounded_up_quotient(product.columns, tile.columns)});
  const std::uint64_t waves = rounded_up_quotient(blocks, device.units);
  const std::uint64_t unit_flops = product_of({2, tile.rows, tile.columns, depth});
  SimTime time = wave_time(waves, device.units, unit_flops, rates.arithmetic);
  const std::uint64_t element = element_size(operation.data_type).count();
  if (device.cache_bandwidth > Bandwidth()) {
    const std::uint64_t inputs =
        product_of({waves, device.units, tile.rows + tile.columns, depth, element});
    time = std::max(time, traffic_time(Bytes(inputs), device.cache_bandwidth));
  }
  time = std::max(time, traffic_time(operation.bytes, rates.memory));
  if (parts > 1) {
    const std::uint64_t partial_outputs =
        product_of({2, parts, product.count, product.rows, product.columns, accumulator_bytes});
    time += traffic_time(Bytes(partial_outputs), rates.memory);
  }
  return time;
}

SimTime systolic_time(const MatrixDevice& device, const MatrixRates& rates,
                      const workload::Operation& operation) {
  const MatrixProduct& product = operation.product;
  const MatrixShape& array = *device.array;
  const std::uint64_t depth = device.macs_per_pe.folded(product.depth, operation.data_type);
  const std::uint64_t macs = device.macs_per_pe.of(operation.data_type);
  const std::uint64_t folds = product_of({product.count, rounded_up_quotient(depth, array.rows),
                                          rounded_up_quotient(product.columns, array.columns)});
  const std::uint64_t cycles = sum_of({product.rows, 2 * array.rows, array.columns}) - 2;
  const SimTime arithmetic =
      wave_time(rounded_up_quotient(folds, device.units), device.units,
                product_of({2, array.rows, array.columns, macs, cycles}), rates.arithmetic);
  return std::max(arithmetic, traffic_time(operation.bytes, rates.memory));
}

}  // namespace

SimTime matrix_time(const MatrixDevice& device, const MatrixRates& rates,
                    const workload::Operation& operation) {
  const MatrixProduct& product = operation.product;
  if (std::min({product.rows, product.columns, product.depth, product.count}) == 0) {
    return traffic_time(operation.bytes, rates.memory);
  }
  if (device.array) {
    return systolic_time(device, rates, operation);
  }
  SimTime fastest = SimTime::never();
  for (const MatrixShape& tile : device.tiles) {
    for (std::uint64_t split = 1; split <= device.max_split; split *= 2) {
      fastest = std::min(fastest, tiled_time(device, rates, operation, tile, split));
    }
  }
  return fastest;
}

SimTime attention_time(FlopRate rate, std::uint64_t fill, Bandwidth memory,
                       const workload::Operation& operation) {
  // Two products over the keys in one: the depth forward, the columns backward.
  const std::uint64_t keys =
      std::max<std::uint64_t>(std::max(operation.product.depth, operation.product.columns) / 2, 1);
  const SimTime full = execution_time(operation.flops, rate);
  const SimTime start =
      execution_time(Flops(product_of({operation.flops.count() / keys, fill})), rate);
  return std::max(full + start, traffic_time(operation.bytes, memory));
}

}  // namespace tessera::compute
