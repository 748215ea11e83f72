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
  return {Fraction(),
          Bandwidth::bytes_per_second(4 * byte_in_a_picosecond),
          SimTime::from_ps(10),
          Bandwidth(),
          0,
          Bytes()};
}

std::int64_t time(const VectorKernel& kernel, const workload::Operation& operation) {
  return time_of(kernel, operation, device).ps();
}

TEST(VectorKernels, TheCacheHoldsHalfOfItsSize) {
  EXPECT_EQ(time(kernel(), vector_work(0, 0)), 10);
  EXPECT_EQ(time(kernel(), vector_work(0, 400)), 10 + 100);
  EXPECT_EQ(time(kernel(), vector_work(0, 500)), 10 + 125);
  EXPECT_EQ(time(kernel(), vector_work(0, 600)), 10 + 125 + 100);
  EXPECT_EQ(time(kernel(), vector_work(0, 2000)), 10 + 125 + 1500);
  VectorDevice bare = device;
  bare.cache = Bytes();
  EXPECT_EQ(time_of(kernel(), vector_work(0, 400), bare).ps(), 10 + 400);
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

// Four units have room for two blocks each, and a row takes 100 ps: eight rows are a wave.
constexpr VectorDevice units_of_blocks{device.peak, device.memory, device.cache, 4, 2048};

VectorKernel in_blocks() {
  VectorKernel by_rows = kernel();
  by_rows.row_bandwidth = Bandwidth::bytes_per_second(byte_in_a_picosecond);
  by_rows.block_threads = 1024;
  return by_rows;
}

workload::Operation rows_of(std::uint64_t rows, std::uint64_t row) {
  workload::Operation operation = vector_work(0, rows * row);
  operation.row = Bytes(row);
  return operation;
}

TEST(VectorKernels, BlocksGoInWaves) {
  VectorDevice cached = units_of_blocks;
  cached.cache = Bytes(1'000'000);
  VectorKernel fast = in_blocks();
  fast.cache_bandwidth = Bandwidth::bytes_per_second(1000 * byte_in_a_picosecond);
  for (std::uint64_t rows = 1; rows <= 40; ++rows) {
    const auto waves = static_cast<std::int64_t>((rows + 7) / 8);
    EXPECT_EQ(time_of(fast, rows_of(rows, 100), cached).ps(), 10 + 100 * waves) << rows;
  }
}

// What the last wave lacks is added to traffic that takes longer than blocks.
TEST(VectorKernels, UnitsWaitInTheLastWave) {
  VectorKernel streams = in_blocks();
  streams.cache_bandwidth = Bandwidth();
  const auto of = [&](std::uint64_t rows) {
    return time_of(streams, rows_of(rows, 100), units_of_blocks).ps();
  };
  EXPECT_EQ(of(8), 10 + 800);
  EXPECT_EQ(of(9), 10 + 900 + 88);  // seven of eight rows are not there
  EXPECT_EQ(of(12), 10 + 1200 + 50);
  EXPECT_EQ(of(16), 10 + 1600);
  std::int64_t last = 0;
  for (std::uint64_t rows = 1; rows <= 100; ++rows) {
    EXPECT_GE(of(rows), last) << rows;
    last = of(rows);
  }
}

TEST(VectorKernels, BlocksOfShortRowsAreSmaller) {
  VectorKernel kernel = in_blocks();
  kernel.cache_bandwidth = Bandwidth::bytes_per_second(1000 * byte_in_a_picosecond);
  VectorDevice wide = units_of_blocks;
  wide.cache = Bytes(1'000'000'000);
  const auto of = [&](std::uint64_t rows, std::uint64_t row) {
    return time_of(kernel, rows_of(rows, row), wide).ps() - 10;
  };
  kernel.thread_bytes = Bytes(10);
  EXPECT_EQ(of(8, 20'000), 20'000);  // blocks of 1024 threads, two a unit
  EXPECT_EQ(of(9, 20'000), 40'000);
  EXPECT_EQ(of(16, 5120), 5120);  // of 512, four
  EXPECT_EQ(of(17, 5120), 10'240);
  kernel.block_threads = 4096;
  kernel.thread_bytes = Bytes();
  EXPECT_EQ(of(4, 5120), 5120);  // one at least
  EXPECT_EQ(of(5, 5120), 10'240);
}

TEST(VectorKernels, WithoutThreadsAllRowsGoSideBySide) {
  VectorKernel kernel = in_blocks();
  VectorDevice plain = units_of_blocks;
  plain.unit_threads = 0;
  EXPECT_EQ(time_of(kernel, rows_of(20, 20), plain).ps(), 10 + 100);
  kernel.block_threads = 0;
  EXPECT_EQ(time_of(kernel, rows_of(20, 20), units_of_blocks).ps(), 10 + 100);
}

// Up to four rows take 100 ps each, however wide they are; more are copied as everything is.
TEST(VectorKernels, FewRowsGoOneAfterTheOther) {
  VectorKernel in_turn = kernel();
  in_turn.serial_rows = 4;
  in_turn.row_time = SimTime::from_ps(100);
  for (std::uint64_t rows = 1; rows <= 4; ++rows) {
    const auto turns = static_cast<std::int64_t>(rows);
    EXPECT_EQ(time(in_turn, rows_of(rows, 20)), 10 + 100 * turns) << rows;
    EXPECT_EQ(time(in_turn, rows_of(rows, 80)), 10 + 100 * turns) << rows;
  }
  EXPECT_EQ(time(in_turn, rows_of(5, 80)), 10 + 100);
  EXPECT_EQ(time(in_turn, vector_work(0, 80)), 10 + 20) << "no rows known";
  EXPECT_EQ(time(in_turn, rows_of(2, 1000)), 10 + 125 + 1500) << "the memory may be longer";
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

// Look-ups are as all else without a class, so far as nothing else is stated.
TEST(VectorKernels, LookUpsAreAClass) {
  const std::string usual =
      "model: gemm, units: 4, tiles: [16x16], vector_launch_overhead: 5 ps, "
      "vector_memory_efficiency: 0.5, norm_launch_overhead: 9 ps";
  const auto of = [&](const std::string& more, const workload::Operation& rows) {
    workload::Operation operation = rows;
    operation.kernel = workload::Kernel::lookup;
    return described("peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 1 TB/s", usual + more)
        .time_of(operation);
  };
  EXPECT_EQ(of("", rows_of(10, 100)), 5 + 2000);
  EXPECT_EQ(of(", lookup_launch_overhead: 2 ps", rows_of(10, 100)), 2 + 2000);
  EXPECT_EQ(of(", lookup_memory_efficiency: 0.25", rows_of(10, 100)), 5 + 4000);
  const std::string in_turn = ", lookup_serial_rows: 10, lookup_row_time: 300 ps";
  EXPECT_EQ(of(in_turn, rows_of(10, 100)), 5 + 3000);
  EXPECT_EQ(of(in_turn, rows_of(11, 100)), 5 + 2200);
}

// Rotary positions have blocks as activations do, norms as all else.
TEST(VectorKernels, ClassesHaveBlocksOfTheirOwn) {
  using workload::Kernel;
  const Described gemm = described(
      "peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 1 TB/s",
      "model: gemm, units: 4, tiles: [16x16], unit_threads: 2048, vector_row_bandwidth: 1 TB/s, "
      "vector_block_threads: 1024, activation_block_threads: 512, rotary_thread_bytes: 1 B");
  const auto of = [&](Kernel kernel) {
    workload::Operation operation = rows_of(9, 100);
    operation.kernel = kernel;
    return gemm.time_of(operation);
  };
  EXPECT_EQ(of(Kernel::norm), 900 + 88);        // of waves of 8
  EXPECT_EQ(of(Kernel::activation), 900 + 44);  // of 16
  EXPECT_EQ(of(Kernel::rotary), 900 + 89);      // of 80, with blocks of 100 threads
}

}  // namespace
}  // namespace tessera::compute::vector_kernels_test
