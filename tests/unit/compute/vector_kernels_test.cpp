// Kernels without a product, by hand: a byte takes a picosecond in the memory and a quarter of one
// in a cache of a thousand bytes.
#include "vector_kernels.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "describing.hpp"

namespace tessera::compute::vector_kernels_test {
namespace {

using testing::Described;
using testing::described;
using testing::vector_work;

constexpr std::uint64_t byte_in_a_picosecond = 1'000'000'000'000;
constexpr VectorDevice device{FlopRate::flops_per_second(byte_in_a_picosecond),
                              Bandwidth::bytes_per_second(byte_in_a_picosecond), Bytes(1000)};

VectorKernel kernel() {
  return {Fraction(), Bandwidth::bytes_per_second(4 * byte_in_a_picosecond), SimTime::from_ps(10),
          Bandwidth()};
}

std::int64_t time(const VectorKernel& kernel, const workload::Operation& operation) {
  return time_of(kernel, operation, device).ps();
}

TEST(VectorKernels, TheCacheHoldsHalfOfItsSizeAndNothingOfMuchMore) {
  EXPECT_EQ(cached_bytes(Bytes(0), Bytes(1000)), Bytes(0));
  EXPECT_EQ(cached_bytes(Bytes(500), Bytes(1000)), Bytes(500));
  EXPECT_EQ(cached_bytes(Bytes(1000), Bytes(1000)), Bytes(500));
  EXPECT_EQ(cached_bytes(Bytes(1400), Bytes(1000)), Bytes(140));
  EXPECT_EQ(cached_bytes(Bytes(1500), Bytes(1000)), Bytes(0));
  EXPECT_EQ(cached_bytes(Bytes(400), Bytes(0)), Bytes(0));
}

TEST(VectorKernels, WhatIsCachedGoesAtItsRate) {
  EXPECT_EQ(time(kernel(), vector_work(0, 400)), 10 + 100);
  EXPECT_EQ(time(kernel(), vector_work(0, 1400)), 10 + 35 + 1260);
  EXPECT_EQ(time(kernel(), vector_work(0, 2000)), 10 + 2000);
}

TEST(VectorKernels, MoreBytesNeverTakeLess) {
  std::int64_t last = 0;
  for (std::uint64_t bytes = 0; bytes <= 2000; ++bytes) {
    const std::int64_t now = time(kernel(), vector_work(0, bytes));
    EXPECT_GE(now, last) << bytes;
    last = now;
  }
}

TEST(VectorKernels, ACacheIsNoSlowerThanTheMemory) {
  VectorKernel slow = kernel();
  slow.cache_bandwidth = Bandwidth::bytes_per_second(byte_in_a_picosecond / 2);
  EXPECT_EQ(time(slow, vector_work(0, 400)), 10 + 400);
}

TEST(VectorKernels, ARowTakesAsLongAsItsUnit) {
  VectorKernel by_rows = kernel();
  by_rows.row_bandwidth = Bandwidth::bytes_per_second(byte_in_a_picosecond / 2);
  workload::Operation operation = vector_work(0, 400);
  EXPECT_EQ(time(by_rows, operation), 10 + 100);  // no row known
  operation.row = Bytes(40);
  EXPECT_EQ(time(by_rows, operation), 10 + 100);
  operation.row = Bytes(200);
  EXPECT_EQ(time(by_rows, operation), 10 + 400);
}

TEST(VectorKernels, ArithmeticMayBeLonger) {
  EXPECT_EQ(time(kernel(), vector_work(700, 400)), 10 + 700);
}

// A class takes what it does not state from all, rotary positions from activations, and these from
// products.
TEST(VectorKernels, ClassesStateWhatDiffers) {
  using workload::Kernel;
  const Described gemm = described(
      "peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 1 TB/s",
      "model: gemm, units: 4, tiles: [16x16], launch_overhead: 7 ps, vector_launch_overhead: 5 ps, "
      "activation_launch_overhead: 3 ps, activation_memory_efficiency: 0.5, kernel_gap: 100 ps");
  const auto of = [&](Kernel kernel) {
    workload::Operation operation = vector_work(0, 1000);
    operation.kernel = kernel;
    return gemm.time_of(operation);
  };
  EXPECT_EQ(of(Kernel::plain), 105 + 1000);
  EXPECT_EQ(of(Kernel::norm), 105 + 1000);
  EXPECT_EQ(of(Kernel::activation), 103 + 2000);
  EXPECT_EQ(of(Kernel::rotary), 103 + 2000);
  EXPECT_EQ(gemm.time_of(vector_work(0, 0)), 0);  // nothing to launch
}

}  // namespace
}  // namespace tessera::compute::vector_kernels_test
