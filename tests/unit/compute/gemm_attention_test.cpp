// Times of fused attention by the gemm model, by hand.

#include <gtest/gtest.h>

#include <string>

#include "gemm_device.hpp"

namespace tessera::compute::gemm_attention_test {
namespace {

using testing::Described;
using testing::described;
using testing::gemm;
using testing::of_kernel;
using testing::peak;
using testing::product_of;

// Five products where the shape has four: backward, scores are made again.
TEST(GemmAttention, WithoutARateTakesAllOfItsFlops) {
  workload::Operation attention = product_of(64, 64, 32, 2);
  attention.kernel = workload::Kernel::fused_attention;
  const std::int64_t of_shape = gemm("tiles: [16x16]").time_of(attention);
  attention.flops = Flops(attention.flops.count() / 4 * 5);
  EXPECT_EQ(gemm("tiles: [16x16]").time_of(attention), of_shape / 4 * 5);
}

// 8 heads of 64 queries and width 16 over 64 keys, scores and values: depth 128. Backward has two
// and a half times the FLOPs, and the keys among its columns.
TEST(GemmAttention, StartsEachBlockOfQueriesAnew) {
  workload::Operation forward =
      of_kernel(workload::Kernel::fused_attention, product_of(64, 16, 128, 8));
  workload::Operation backward =
      of_kernel(workload::Kernel::fused_attention, product_of(64, 128, 16, 16));
  backward.flops = Flops(forward.flops.count() / 2 * 5);
  const Described device = gemm("tiles: [16x16], attention_efficiency: 0.5, attention_fill: 16");
  const auto flops = static_cast<std::int64_t>(forward.flops.count());
  EXPECT_EQ(device.time_of(forward), 2 * flops + 2 * flops / 4);
  EXPECT_EQ(device.time_of(backward), (2 * flops + 2 * flops / 4) / 2 * 5);
  const Described tiled = gemm("tiles: [16x16]");
  EXPECT_EQ(tiled.time_of(forward), tiled.time_of(product_of(64, 16, 128, 8)));
}

// Half the width of heads passed for the keys where these are fewer.
TEST(GemmAttention, StartsByItsKeysHoweverWideHeadsAre) {
  workload::Operation attention =
      of_kernel(workload::Kernel::fused_attention, product_of(64, 128, 16, 8));
  attention.twice_keys = 16;
  const Described device = gemm("tiles: [16x16], attention_efficiency: 0.5, attention_fill: 16");
  const auto flops = static_cast<std::int64_t>(attention.flops.count());
  EXPECT_EQ(device.time_of(attention), 2 * flops + 2 * flops * 16 / 8);
}

// Heads of width 8, whose blocks of 64 queries all take as long a key.
workload::Operation attention_of(const workload::AttentionSizes& sizes) {
  workload::Operation operation =
      of_kernel(workload::Kernel::fused_attention, product_of(16, 8, 128, 4));
  operation.attention = sizes;
  return operation;
}

TEST(GemmAttention, OfABatchGoesInWavesOfBlocks) {
  const std::string keys =
      "tiles: [16x16], attention_efficiency: 0.5, attention_rows: 64, attention_fill: 3";
  const Described device = gemm(keys + ", attention_skip: 1");
  const auto of_key = gemm("tiles: [16x16], attention_efficiency: 0.5, attention_rows: 64")
                          .time_of(attention_of({4, 2, 0, 0, 1, 1, 1, 1, 1, 1}));
  ASSERT_GT(of_key, 0);
  // 4 heads of a prompt of one block over 10 keys: one wave.
  EXPECT_EQ(device.time_of(attention_of({4, 2, 0, 0, 1, 1, 10, 1, 10, 1})), (3 + 10) * of_key);
  // Two blocks over 10 and 12 keys, in two waves of the same prompt: 11 in the mean.
  EXPECT_EQ(device.time_of(attention_of({4, 2, 0, 0, 1, 2, 22, 2, 11, 2})), (6 + 22) * of_key);
  // Beside it a sequence that generates over 100 keys, in a grid of two blocks, one of them empty.
  EXPECT_EQ(device.time_of(attention_of({4, 2, 1, 100, 1, 2, 22, 2, 11, 2})),
            (9 + 1 + 122) * of_key);
  // Alone, heads that share keys are one block: of two blocks on four units keys are cut in two.
  EXPECT_EQ(device.time_of(attention_of({4, 2, 1, 100, 0, 0, 0, 0, 0, 0})), (3 + 50) * of_key);
  EXPECT_TRUE(device.model->joins_sequences());
  EXPECT_FALSE(gemm("tiles: [16x16], attention_efficiency: 0.5").model->joins_sequences());
  EXPECT_THROW(gemm("tiles: [16x16], attention_rows: 64"), ConfigError);
  EXPECT_THROW(gemm("tiles: [16x16], attention_efficiency: 0.5, attention_skip: 1"), ConfigError);
}

// 100 keys of 32 B of a head of keys, which two heads share, beside a prompt of 22. Where they are
// more than the cache, and a head has 1.22 blocks as long as theirs, taken as one, on four units,
// the second head reads them again in one of four cases, of both heads of keys.
TEST(GemmAttention, ReadsKeysAgainThatTheCacheDoesNotKeep) {
  const auto time_of = [](const std::string& sram, std::uint64_t prompts) {
    workload::Operation operation =
        attention_of(prompts > 0 ? workload::AttentionSizes{4, 2, 1, 100, 1, 2, 22, 2, 11, 2}
                                 : workload::AttentionSizes{4, 2, 1, 100, 0, 0, 0, 0, 0, 0});
    operation.bytes = Bytes(1'000'000);  // more than arithmetic
    return described(peak + ", operands: dram, sram: " + sram,
                     "model: gemm, units: 4, tiles: [16x16], attention_efficiency: 0.5, "
                     "attention_rows: 64",
                     "at: each, bandwidth: 250 GB/s, latency: 100 ns")
        .time_of(operation);
  };
  EXPECT_EQ(time_of("3199 B", 1) - time_of("3200 B", 1), 2 * 3200 / 4 * 4);
  EXPECT_EQ(time_of("3199 B", 0), time_of("3200 B", 0));
}

}  // namespace
}  // namespace tessera::compute::gemm_attention_test
