#include "gemm_time.hpp"

#include <algorithm>

#include "checked.hpp"
#include "operation_time.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/workload/whole_product.hpp"

namespace tessera::compute {
namespace {

using workload::MatrixProduct;

constexpr std::uint64_t accumulator_bytes = 4;
constexpr std::uint64_t vector_bytes = 16;

// A wave keeps every unit, busy or idle, for `unit_flops`.
SimTime wave_time(std::uint64_t waves, std::uint64_t units, std::uint64_t unit_flops,
                  FlopRate rate) {
  return execution_time(Flops(product_of({waves, units, unit_flops})), rate);
}

SimTime tiled_time(const MatrixDevice& device, const MatrixRates& rates,
                   const workload::Operation& operation, const MatrixShape& tile,
                   std::uint64_t split) {
  const MatrixProduct product = workload::whole_product(operation);
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
  const MatrixProduct product = workload::whole_product(operation);
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

bool is_aligned(const workload::Operation& operation) {
  // Of sizes alone, so that none of them can leave 64 bits.
  const std::uint64_t elements = vector_bytes / element_size(operation.data_type).count();
  return operation.product.columns % elements == 0 && operation.product.depth % elements == 0;
}

SimTime attention_time(FlopRate rate, std::uint64_t fill, Bandwidth memory,
                       const workload::Operation& operation) {
  const std::uint64_t of_shape = std::max(operation.product.depth, operation.product.columns);
  const std::uint64_t twice = operation.twice_keys > 0 ? operation.twice_keys : of_shape;
  const std::uint64_t keys = std::max<std::uint64_t>(twice / 2, 1);
  const SimTime full = execution_time(operation.flops, rate);
  const SimTime start =
      execution_time(Flops(product_of({operation.flops.count() / keys, fill})), rate);
  return std::max(full + start, traffic_time(operation.bytes, memory));
}

namespace {

// Of a batch with prompts, whose blocks of a head go over `keys`.
Bytes attention_bytes(const AttentionDevice& device, const workload::Operation& operation,
                      std::uint64_t keys) {
  const workload::AttentionSizes& sizes = *operation.attention;
  const Bytes of_key = element_size(operation.data_type) * (2 * operation.product.columns);
  const Bytes of_head = of_key * sizes.generating_keys;
  if (device.cache == Bytes() || of_head <= device.cache) {
    return operation.bytes;
  }
  const std::uint64_t blocks = product_of({keys, sizes.generating}) / sizes.generating_keys;
  const std::uint64_t apart = std::min(blocks, device.units);
  const std::uint64_t following = sizes.heads - sizes.kv_heads;
  return operation.bytes + Bytes(product_of({of_head.count(), following, apart}) / device.units);
}

}  // namespace

SimTime attention_time(const AttentionDevice& device, const AttentionBlocks& blocks,
                       const workload::Operation& operation) {
  const workload::AttentionSizes& sizes = *operation.attention;
  const std::uint64_t units = device.units;
  // Of so many blocks' keys, on all units together.
  const auto time_of = [&](std::uint64_t keys) {
    const std::uint64_t of_key = 4 * blocks.rows * operation.product.columns;
    return execution_time(Flops(product_of({keys, of_key})), device.rate);
  };
  const SimTime traffic = traffic_time(operation.bytes, device.memory);
  if (sizes.prompts == 0) {
    const std::uint64_t of_sequence = product_of(
        {sizes.kv_heads, rounded_up_quotient(sizes.heads / sizes.kv_heads, blocks.rows)});
    const std::uint64_t count = product_of({sizes.generating, of_sequence});
    const std::uint64_t places = product_of({rounded_up_quotient(count, units), units});
    return device.launch + time_of(product_of({places, blocks.fill})) +
           std::max(time_of(product_of({sizes.generating_keys, of_sequence})), traffic);
  }
  // Sizes are of blocks of block_rows.
  const auto of_rows = [&](std::uint64_t count) {
    return rounded_up_quotient(product_of({count, workload::AttentionSizes::block_rows}),
                               blocks.rows);
  };
  const std::uint64_t prompt_blocks = std::max(of_rows(sizes.blocks), sizes.prompts);
  const std::uint64_t count = product_of({sizes.heads, sum_of({prompt_blocks, sizes.generating})});
  const std::uint64_t keys_of_head = sum_of({of_rows(sizes.block_keys), sizes.generating_keys});
  const std::uint64_t keys = product_of({sizes.heads, keys_of_head});
  const std::uint64_t grid =
      product_of({sizes.heads, sizes.prompts + sizes.generating, of_rows(sizes.most_blocks)});
  std::uint64_t longest_keys = sizes.longest_keys;
  std::uint64_t longest_blocks = of_rows(sizes.longest_blocks);
  const std::uint64_t generating_keys =
      sizes.generating > 0 ? sizes.generating_keys / sizes.generating : 0;
  if (generating_keys > longest_keys) {
    longest_keys = generating_keys;
    longest_blocks = sizes.generating;
  }
  const auto waves = [&](std::uint64_t some) { return rounded_up_quotient(some, units); };
  const std::uint64_t in_waves =
      product_of({waves(product_of({sizes.heads, longest_blocks})), units, longest_keys});
  const std::uint64_t empty = grid - std::min(grid, count);
  return time_of(sum_of(
             {product_of({waves(count), units, blocks.fill}), product_of({empty, blocks.skip})})) +
         std::max(time_of(std::max(keys, in_waves)),
                  traffic_time(attention_bytes(device, operation, keys_of_head), device.memory));
}

}  // namespace tessera::compute
