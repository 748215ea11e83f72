// Times of the gemm model, by hand; those of fused attention are in gemm_attention_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gemm_device.hpp"

namespace tessera::compute::gemm_test {
namespace {

using testing::Described;
using testing::described;
using ::testing::ElementsAre;
using testing::fast_memory;
using testing::gemm;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::of_kernel;
using testing::peak;
using testing::product_of;
using testing::vector_work;

// Of what has the bandwidth of a memory and a cache before it, with work that has rows or none.
std::vector<std::string> notes_of(const std::string& keys, bool has_rows) {
  config::Diagnostics diagnostics;
  const std::string text =
      "topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}\n"
      "tile: {" +
      peak +
      ", sram: 1 MB, operands: dram}\n"
      "dram: {at: each, bandwidth: 1 TB/s, latency: 1 ns}\n"
      "compute: {model: gemm, tiles: [16x16], units: 4, " +
      keys + "}\n";
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  const auto machine = machine::read_machine(section);
  const auto model = read_compute_by_type(section, *machine);
  note_keys_without_effect(section, *machine, *model,
                           {.has_rows = has_rows,
                            .has_programs = true,
                            .has_closed_collectives = true,
                            .has_background = true,
                            .has_fused_attention = true});
  section.finish();
  diagnostics.throw_if_any();
  return diagnostics.notes();
}

// A class without a rate of its own has that of the one before it, for which both count.
TEST(Gemm, SaysWhichRatesOfVectorWorkAreNeverTheLimit) {
  const std::string as_fast = " has no effect with a memory that is as fast";
  const auto caches = [&](const std::string& keys) { return notes_of(keys, true); };
  EXPECT_THAT(caches("vector_cache_bandwidth: 1.01 TB/s"), IsEmpty());
  EXPECT_THAT(caches("vector_cache_bandwidth: 1 TB/s"),
              ElementsAre("compute.vector_cache_bandwidth" + as_fast));
  EXPECT_THAT(caches("vector_cache_bandwidth: 1 TB/s, memory_efficiency: 0.5"), IsEmpty());
  EXPECT_THAT(caches("vector_cache_bandwidth: 1 TB/s, sum_memory_efficiency: 0.5"), IsEmpty());
  EXPECT_THAT(caches("vector_cache_bandwidth: 2 TB/s, norm_cache_bandwidth: 0 B/s"), IsEmpty());
  EXPECT_THAT(caches("norm_cache_bandwidth: 500 GB/s, sum_cache_bandwidth: 2 TB/s"),
              ElementsAre("compute.norm_cache_bandwidth" + as_fast));
  EXPECT_THAT(caches("activation_cache_bandwidth: 1 TB/s, rotary_memory_efficiency: 0.5"),
              IsEmpty());
  // What a collective in the background takes leaves a tenth at least.
  const std::string beside = ", collective_units: 1, collective_accesses: 2";
  EXPECT_THAT(caches("vector_cache_bandwidth: 200 GB/s" + beside), IsEmpty());
  EXPECT_THAT(caches("vector_cache_bandwidth: 100 GB/s" + beside),
              ElementsAre("compute.vector_cache_bandwidth" + as_fast));

  const std::string unknown = " has no effect with kernels whose rows are not known";
  EXPECT_THAT(notes_of("vector_row_bandwidth: 1 GB/s", true), IsEmpty());
  EXPECT_THAT(notes_of("sum_row_bandwidth: 1 GB/s", true),
              ElementsAre("compute.sum_row_bandwidth" + unknown));
  const std::string own =
      ", norm_row_bandwidth: 2 GB/s, activation_row_bandwidth: 2 GB/s, lookup_row_bandwidth: 2 "
      "GB/s";
  EXPECT_THAT(notes_of("vector_row_bandwidth: 1 GB/s" + own, true),
              ElementsAre("compute.vector_row_bandwidth" + unknown));
  EXPECT_THAT(notes_of("vector_row_bandwidth: 1 GB/s" + own, false), ::testing::SizeIs(4));
  EXPECT_THAT(notes_of("attention_efficiency: 0.5, attention_rows: 64", true), IsEmpty());
}

TEST(Gemm, SaysWhichBlocksOfRowsHaveNoEffect) {
  const std::string rate = "norm_row_bandwidth: 1 GB/s";
  const std::string blocks = rate + ", norm_block_threads: 256, norm_thread_bytes: 8 B";
  EXPECT_THAT(notes_of(blocks + ", unit_threads: 1536", true), IsEmpty());
  const std::string none = " has no effect with unit_threads: 0";
  EXPECT_THAT(notes_of(blocks, true),
              ElementsAre("compute.norm_block_threads" + none, "compute.norm_thread_bytes" + none));
  const std::string unknown =
      " has no effect with kernels without a rate and blocks of rows that are known";
  EXPECT_THAT(notes_of(rate + ", unit_threads: 1536", true),
              ElementsAre("compute.unit_threads" + unknown));
  EXPECT_THAT(notes_of(rate + ", sum_block_threads: 128, unit_threads: 1536", true),
              ElementsAre("compute.sum_block_threads" + unknown, "compute.unit_threads" + unknown));
  EXPECT_THAT(notes_of(rate + ", norm_thread_bytes: 8 B, unit_threads: 1536", true),
              ElementsAre("compute.norm_thread_bytes" + unknown, "compute.unit_threads" + unknown));
  EXPECT_THAT(notes_of(blocks + ", unit_threads: 1536", false), ::testing::SizeIs(4));
}

// A wave of 16 x 16 tiles of depth 10 takes 4 * 2 * 16 * 16 * 10 ps.
constexpr std::int64_t wave_ps = 20'480;

TEST(Gemm, StepsByAWaveAtMultiplesOfTheUnits) {
  const Described device = gemm("tiles: [16x16]");
  for (std::uint64_t tiles = 1; tiles <= 13; ++tiles) {
    const auto waves = static_cast<std::int64_t>((tiles + 3) / 4);
    EXPECT_EQ(device.time_of(product_of(16 * tiles, 16, 10)), waves * wave_ps) << tiles;
    EXPECT_EQ(device.time_of(product_of(16, 16 * tiles, 10)), waves * wave_ps) << tiles;
    EXPECT_EQ(device.time_of(product_of(16, 16, 10, tiles)), waves * wave_ps) << tiles;
  }
}

TEST(Gemm, ComputesTheLastTileOfASideInFull) {
  const Described device = gemm("tiles: [16x16]");
  EXPECT_EQ(device.time_of(product_of(1, 1, 10)), wave_ps);
  EXPECT_EQ(device.time_of(product_of(64, 16, 10)), wave_ps);
  EXPECT_EQ(device.time_of(product_of(65, 16, 10)), 2 * wave_ps);
  EXPECT_EQ(device.time_of(product_of(33, 17, 10)), 2 * wave_ps);  // 3 x 2 tiles
}

TEST(Gemm, ReachesThePeakWithFullWaves) {
  const Described device = gemm("tiles: [16x16]");
  EXPECT_EQ(device.time_of(product_of(256, 256, 100)), 2 * 256 * 256 * 100);
}

TEST(Gemm, RoundsTheDepthToStepsAndFillsEveryTile) {
  const Described device = gemm("tiles: [16x16], tile_depth: 8, fill: 24");
  EXPECT_EQ(device.time_of(product_of(64, 16, 8)), 2 * 64 * 16 * (8 + 24));
  EXPECT_EQ(device.time_of(product_of(64, 16, 9)), 2 * 64 * 16 * (16 + 24));
  EXPECT_EQ(device.time_of(product_of(128, 16, 16)), 2 * (2 * 64 * 16 * (16 + 24)));
}

TEST(Gemm, IsBoundByMemoryAtSmallDepths) {
  const Described device = gemm("tiles: [16x16]", fast_memory);
  EXPECT_EQ(device.time_of(product_of(64, 16, 1, 1, 2500)), 2500);  // arithmetic: 2048
  EXPECT_EQ(device.time_of(product_of(64, 16, 2, 1, 2500)), 4096);
  const Described half = gemm("tiles: [16x16], memory_efficiency: 0.5", fast_memory);
  EXPECT_EQ(half.time_of(product_of(64, 16, 2, 1, 2500)), 5000);
}

TEST(Gemm, HasAShareOfTheMemoryOfItsOwnForWorkWithoutProducts) {
  const Described one = gemm("tiles: [16x16], memory_efficiency: 0.5", fast_memory);
  EXPECT_EQ(one.time_of(vector_work(1, 2500)), 5000);
  const Described two =
      gemm("tiles: [16x16], memory_efficiency: 0.5, vector_memory_efficiency: 0.25", fast_memory);
  EXPECT_EQ(two.time_of(vector_work(1, 2500)), 10'000);
  EXPECT_EQ(two.time_of(product_of(64, 16, 2, 1, 2500)), 5000);
  workload::Operation adding = product_of(64, 16, 2, 1, 2500);
  adding.added = Bytes(1000);
  EXPECT_EQ(two.time_of(adding), 5000 + 2000) << "sums of gradients stream like products";
}

TEST(Gemm, LeavesTheHostOutOfTheTimeOfTheDevice) {
  const Described device = gemm("tiles: [16x16], issue: 3 us", fast_memory);
  EXPECT_EQ(device.time_of(vector_work(1, 2500)), 2500);
}

TEST(Gemm, TakesOperandsFromDramWhereTheyAre) {
  const Described device =
      described(fast_memory + ", operands: dram", "model: gemm, tiles: [16x16]",
                "at: each, bandwidth: 250 GB/s, latency: 100 ns");
  EXPECT_EQ(device.time_of(product_of(16, 16, 1, 1, 2500)), 10'000);
  EXPECT_EQ(device.time_of(vector_work(1, 2500)), 10'000);
}

TEST(Gemm, ReachesItsShareOfThePeak) {
  const Described device = gemm("tiles: [16x16], matrix_efficiency: 80 %");
  EXPECT_EQ(device.time_of(product_of(64, 16, 10)), wave_ps * 10 / 8);
  EXPECT_EQ(device.time_of(vector_work(1000, 0)), 1000);  // products alone
}

TEST(Gemm, LaunchesEveryOperationThatHasWork) {
  const Described device = gemm("tiles: [16x16], launch_overhead: 2 us", fast_memory);
  EXPECT_EQ(device.time_of(product_of(64, 16, 10)), 2'000'000 + wave_ps);
  EXPECT_EQ(device.time_of(vector_work(10, 700)), 2'000'000 + 700);
  EXPECT_EQ(device.time_of(vector_work(0, 0)), 0);
}

// A sum with what is kept is a pass of its own.
TEST(Gemm, AddsItsOutputAfterwards) {
  const Described device = gemm("tiles: [16x16]", fast_memory);
  workload::Operation product = product_of(64, 16, 10);
  const std::int64_t alone = device.time_of(product);
  product.added = Bytes(1000);
  EXPECT_EQ(device.time_of(product), alone + 1000);
}

// 32 x 32 outputs: one large tile leaves three units idle. 64 x 64: four large tiles keep all busy
// and read half of what sixteen small ones do, 5120 B instead of 10 240 at 10 GB/s.
TEST(Gemm, TakesTheFastestTile) {
  const Described free_cache = gemm("tiles: [32x32, 16x16]");
  EXPECT_EQ(free_cache.time_of(product_of(32, 32, 10)), wave_ps);
  EXPECT_EQ(gemm("tiles: [32x32]").time_of(product_of(32, 32, 10)), 4 * wave_ps);
  const std::string cache = ", cache_bandwidth: 10 GB/s";
  EXPECT_EQ(gemm("tiles: [16x16]" + cache).time_of(product_of(64, 64, 10)), 1'024'000);
  EXPECT_EQ(gemm("tiles: [16x16, 32x32]" + cache).time_of(product_of(64, 64, 10)), 512'000);
  EXPECT_EQ(
      gemm("tiles: [16x16, 32x32]" + cache).time_of(product_of(64, 64, 10, 1, 0, DataType::fp32)),
      1'024'000);  // twice the bytes
}

// One tile of depth 400 takes 819 200 ps on one of four units. In s parts it takes an s-th, and
// 2 * s * 16 * 16 * 4 B of partial outputs move.
TEST(Gemm, SplitsTheDepthOfFewTiles) {
  const workload::Operation deep = product_of(16, 16, 400);
  EXPECT_EQ(gemm("tiles: [16x16]", fast_memory).time_of(deep), 819'200);
  EXPECT_EQ(gemm("tiles: [16x16], max_split: 2", fast_memory).time_of(deep), 409'600 + 4096);
  EXPECT_EQ(gemm("tiles: [16x16], max_split: 4", fast_memory).time_of(deep), 204'800 + 8192);
  EXPECT_EQ(gemm("tiles: [16x16], max_split: 64", fast_memory).time_of(deep), 204'800 + 8192);
  // Not where moving the parts costs more than it saves, nor where all units are busy.
  const std::string slow_memory = peak + ", sram_bandwidth: 10 GB/s";
  EXPECT_EQ(gemm("tiles: [16x16], max_split: 4", slow_memory).time_of(deep), 819'200);
  EXPECT_EQ(gemm("tiles: [16x16], max_split: 4", fast_memory).time_of(product_of(64, 16, 400)),
            819'200);
  // Five steps in four parts are three parts of two steps at most.
  EXPECT_EQ(gemm("tiles: [16x16], max_split: 4, tile_depth: 80", fast_memory).time_of(deep),
            2 * 4 * 256 * 160 + 2 * 3 * 256 * 4);
}

// Cycles of SCALE-Sim v3 (weight stationary, one more than its index of the last), at 1 GHz.
TEST(Gemm, CountsTheCyclesOfASystolicArray) {
  struct Case {
    std::uint64_t side, rows, columns, depth;
    std::int64_t cycles;
  };
  const std::vector<Case> cases{
      {8, 16, 16, 16, 152},      {8, 128, 64, 32, 4800},    {8, 100, 37, 75, 6100},
      {8, 1, 64, 64, 1472},      {8, 33, 17, 9, 330},       {32, 64, 64, 64, 632},
      {32, 300, 100, 50, 3152},  {32, 31, 33, 65, 750},     {32, 512, 64, 256, 9696},
      {32, 25, 64, 1728, 12852}, {128, 128, 128, 128, 510}, {128, 256, 256, 256, 2552}};
  for (const Case& one : cases) {
    const std::string side = std::to_string(one.side);
    const Described core =
        described("peak: {fp16: " + std::to_string(2 * one.side * one.side) + " GFLOP/s}",
                  "model: gemm, array: [" + side + ", " + side + "]");
    EXPECT_EQ(core.time_of(product_of(one.rows, one.columns, one.depth)), 1000 * one.cycles)
        << side << ": " << one.rows << ' ' << one.columns << ' ' << one.depth;
  }
}

// Of an array with two MACs a processing element the peak is at half the clock.
TEST(Gemm, FoldsTheDepthWithMoreMacsAProcessingElement) {
  const Described core = described("peak: {fp16: 128 GFLOP/s, int8: 256 GFLOP/s}",
                                   "model: gemm, array: [8, 8], macs_per_pe: {int8: 2}");
  EXPECT_EQ(core.time_of(product_of(16, 8, 8)), 38'000);
  EXPECT_EQ(core.time_of(product_of(16, 8, 16)), 2 * 38'000);
  EXPECT_EQ(core.time_of(product_of(16, 8, 16, 1, 0, DataType::int8)), 38'000);
  EXPECT_EQ(core.time_of(product_of(16, 8, 17, 1, 0, DataType::int8)), 2 * 38'000);
}

TEST(Gemm, SharesTheFoldsOutToTheArrays) {
  const Described two = described("peak: {fp16: 256 GFLOP/s}, sram_bandwidth: 1 GB/s",
                                  "model: gemm, units: 2, array: [8, 8]");
  EXPECT_EQ(two.time_of(product_of(16, 8, 8)), 38'000);   // one fold of 16 + 16 + 8 - 2 cycles
  EXPECT_EQ(two.time_of(product_of(16, 16, 8)), 38'000);  // one each
  EXPECT_EQ(two.time_of(product_of(16, 16, 9)), 2 * 38'000);
  EXPECT_EQ(two.time_of(product_of(16, 8, 8, 3)), 2 * 38'000);
  EXPECT_EQ(two.time_of(product_of(16, 8, 8, 1, 39)), 39'000);
}

TEST(Gemm, BindsVectorWorkByItsBytesOrItsOwnPeak) {
  const Described device =
      gemm("tiles: [16x16], vector_peak: 100 GFLOP/s, memory_efficiency: 0.5", fast_memory);
  EXPECT_EQ(device.time_of(vector_work(10, 1000)), 2000);
  EXPECT_EQ(device.time_of(vector_work(1000, 1000)), 10'000);
  EXPECT_EQ(gemm("tiles: [16x16]").time_of(vector_work(10, 1'000'000)), 10);  // no limit stated
}

TEST(Gemm, IsExactWhereNothingDivides) {
  const Described device =
      described("peak: {fp16: 7 TFLOP/s}", "model: gemm, units: 3, tiles: [3x5]");
  EXPECT_EQ(device.time_of(product_of(3, 5, 1)), 13);    // 90 / 7
  EXPECT_EQ(device.time_of(product_of(10, 5, 7)), 180);  // two waves: 2 * 630 / 7
}

TEST(Gemm, SaysWhenTheWorkIsTooMuchToCount) {
  const Described device = gemm("tiles: [16x16]");
  const std::uint64_t huge = std::uint64_t{1} << 40;
  EXPECT_THROW(device.time_of({.product = {huge, huge, 16, 1}, .flops = Flops(1), .bytes = {}}),
               ModelError);
}

std::string complaint_about(const std::string& keys) {
  try {
    described(peak, "model: gemm, " + keys);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Gemm, PointsAtWhatIsWrong) {
  EXPECT_EQ(complaint_about("tiles: [256x128]"), "");
  EXPECT_THAT(complaint_about("units: 3"), HasSubstr("needs the 'tiles' of a GPU or the 'array'"));
  EXPECT_THAT(complaint_about("tiles: []"), HasSubstr("must name at least one tile"));
  for (const char* tile : {"256", "256x", "x128", "0x128", "256x128x", "256 x 128", "-1x2"}) {
    EXPECT_THAT(complaint_about("tiles: ['" + std::string(tile) + "']"),
                HasSubstr("compute.tiles: '" + std::string(tile) + "' is not a tile"))
        << tile;
  }
  EXPECT_THAT(complaint_about("array: [8]"), HasSubstr("must be two numbers"));
  EXPECT_THAT(complaint_about("array: []"), HasSubstr("must be two numbers"));
  EXPECT_THAT(complaint_about("array: [8, 0]"), HasSubstr("must be two numbers"));
  EXPECT_THAT(complaint_about("array: [8, 8], tiles: [16x16]"),
              HasSubstr("compute.tiles: is not for a device with an 'array'"));
  EXPECT_THAT(complaint_about("array: [8, 8], max_split: 2"), HasSubstr("is not for a device"));
  EXPECT_THAT(complaint_about("tiles: [16x16], units: 0"), HasSubstr("must be between 1"));
  EXPECT_THAT(complaint_about("tiles: [16x16], issue: -1 us"), HasSubstr("must not be negative"));
  EXPECT_THAT(complaint_about("tiles: [16x16], matrix_efficiency: 0"), HasSubstr("at least"));
  EXPECT_THAT(complaint_about("tiles: [16x16], lookup_serial_rows: 16"),
              HasSubstr("lookup_serial_rows: is of no effect without 'lookup_row_time'"));
  EXPECT_THAT(complaint_about("tiles: [16x16], lookup_row_time: 1 us"),
              HasSubstr("lookup_row_time: is of no effect without 'lookup_serial_rows'"));
  EXPECT_THAT(complaint_about("tiles: [16x16], lookup_row_time: -1 us"),
              HasSubstr("must not be negative"));
  EXPECT_THAT(complaint_about("tiles: [16x16], lookup_memory_efficiency: 0"),
              HasSubstr("at least"));
  EXPECT_THAT(complaint_about("tiles: [16x16], matrix_eficiency: 1"),
              HasSubstr("did you mean 'matrix_efficiency'"));
}

// A thousand bytes at 1 B/ps, of which each class reaches its share; others that of `plain`.
TEST(Gemm, KernelsReachTheShareOfTheirClass) {
  using workload::Kernel;
  const std::string shares = "vector_memory_efficiency: 0.5, norm_memory_efficiency: 0.25, ";
  const Described device =
      gemm("tiles: [16x16], " + shares + "sum_memory_efficiency: 1.0", fast_memory);
  const auto time = [&](Kernel kernel) {
    return device.time_of(of_kernel(kernel, vector_work(0, 1000)));
  };
  EXPECT_EQ(time(Kernel::plain), 2000);
  EXPECT_EQ(time(Kernel::norm), 4000);
  EXPECT_EQ(time(Kernel::activation), 2000);
  EXPECT_EQ(time(Kernel::sum), 1000);
}

TEST(Gemm, EightBitProductsReachAShareOfTheirOwn) {
  const Described device = gemm("tiles: [16x16], matrix_efficiency: 0.8, eight_bit_efficiency: 0.5",
                                "peak: {fp16: 1 TFLOP/s, fp8: 1 TFLOP/s, int8: 1 TOPS}");
  workload::Operation product = product_of(64, 16, 10);
  EXPECT_EQ(device.time_of(product), wave_ps * 10 / 8);
  for (const DataType type : {DataType::fp8, DataType::int8}) {
    product.data_type = type;
    EXPECT_EQ(device.time_of(product), wave_ps * 2) << to_string(type);
  }
  const Described same =
      gemm("tiles: [16x16], matrix_efficiency: 0.8", "peak: {fp16: 1 TFLOP/s, fp8: 1 TFLOP/s}");
  product.data_type = DataType::fp8;
  EXPECT_EQ(same.time_of(product), wave_ps * 10 / 8) << "not given";
}

// Eight elements of fp16 are 16 bytes, and four of fp32. Rows of a product are no row of memory.
TEST(Gemm, RowsThatAreNoWholeVectorsAreSlower) {
  const Described device = gemm("tiles: [16x16], unaligned_efficiency: 0.5");
  const auto flops = [](std::int64_t columns, std::int64_t depth) {
    return 2 * 64 * ((columns + 15) / 16 * 16) * depth;
  };
  EXPECT_EQ(device.time_of(product_of(64, 16, 8)), flops(16, 8));
  EXPECT_EQ(device.time_of(product_of(63, 16, 8)), flops(16, 8));
  EXPECT_EQ(device.time_of(product_of(64, 15, 8)), 2 * flops(15, 8));
  EXPECT_EQ(device.time_of(product_of(64, 16, 12)), 2 * flops(16, 12));
  workload::Operation wide = product_of(64, 16, 12);
  wide.data_type = DataType::fp32;
  EXPECT_EQ(device.time_of(wide), flops(16, 12));
  EXPECT_THROW(gemm("array: [8, 8], unaligned_efficiency: 0.5"), ConfigError);
}

TEST(Gemm, ClocksUnderPowerSlowProductsAlone) {
  const Described device = gemm("tiles: [16x16], sustained_clock: 0.5", fast_memory);
  EXPECT_EQ(device.time_of(product_of(256, 256, 100)), 2 * 2 * 256 * 256 * 100);
  EXPECT_EQ(device.time_of(vector_work(7, 1000)), 1000);
}

// Of four units a collective takes two: products take twice as long, and what streams the same.
TEST(Gemm, CollectivesTakeUnits) {
  const Described device = gemm("tiles: [16x16], collective_units: 2", fast_memory);
  const auto beside = [&](const workload::Operation& operation) {
    return device.model->duration_beside(device.machine, device.machine.tile, operation, {}).ps();
  };
  EXPECT_TRUE(device.model->slows_beside());
  EXPECT_EQ(beside(product_of(256, 256, 100)), 2 * device.time_of(product_of(256, 256, 100)));
  EXPECT_EQ(beside(product_of(16, 16, 10)), wave_ps);
  EXPECT_EQ(beside(vector_work(7, 1000)), 1000);
  EXPECT_FALSE(gemm("tiles: [16x16]").model->slows_beside());
  EXPECT_THROW(gemm("tiles: [16x16], collective_units: 4"), ConfigError);
  EXPECT_THROW(gemm("tiles: [16x16], persistent_products: true"), ConfigError);
  const Described persistent =
      gemm("tiles: [16x16], collective_units: 2, persistent_products: true", fast_memory);
  EXPECT_TRUE(persistent.model->is_persistent(product_of(16, 16, 10)));
  EXPECT_FALSE(persistent.model->is_persistent(vector_work(7, 1000)));
  EXPECT_FALSE(device.model->is_persistent(product_of(16, 16, 10)));
  // 8 blocks are 2 waves of 4 units, or 3 of 3; 9 are 3 of both, and ask less of the cache by 3.
  const Described cached =
      gemm("tiles: [16x16], collective_units: 1, cache_bandwidth: 1 GB/s", fast_memory);
  const workload::Operation blocks = product_of(16, 16 * 8, 100);
  EXPECT_EQ(cached.model->duration_beside(cached.machine, cached.machine.tile, blocks, {}).ps(),
            cached.time_of(blocks) * 9 / 8);
  const workload::Operation fewer = product_of(16, 16 * 9, 100);
  EXPECT_EQ(cached.model->duration_beside(cached.machine, cached.machine.tile, fewer, {}).ps(),
            cached.time_of(fewer));
  EXPECT_THROW(gemm("tiles: [16x16], attention_fill: 4"), ConfigError);
}

// Memory of 1000 GB/s, of which a collective that brings 200 takes three times as much: what would
// reach more than the rest gets the rest, what reaches less does not notice.
TEST(Gemm, CollectivesTakeMemory) {
  const Described device = gemm(
      "tiles: [16x16], collective_units: 2, collective_accesses: 3, norm_memory_efficiency: 0.25, "
      "sum_memory_efficiency: 0.8",
      fast_memory);
  const auto beside = [&](workload::Kernel kernel, std::uint64_t gigabytes_per_s) {
    workload::Operation operation = vector_work(0, 1000);
    operation.kernel = kernel;
    return device.model
        ->duration_beside(device.machine, device.machine.tile, operation,
                          Bandwidth::bytes_per_second(gigabytes_per_s * 1'000'000'000))
        .ps();
  };
  EXPECT_EQ(beside(workload::Kernel::norm, 0), 4000);
  EXPECT_EQ(beside(workload::Kernel::norm, 200), 4000);
  EXPECT_EQ(beside(workload::Kernel::sum, 0), 1250);
  EXPECT_EQ(beside(workload::Kernel::sum, 200), 2500);  // 1000 - 3 * 200
  EXPECT_EQ(beside(workload::Kernel::sum, 1000), 10000) << "a tenth is left";
  EXPECT_EQ(device.time_of(vector_work(0, 1000)), 1000);
  EXPECT_THROW(gemm("tiles: [16x16], collective_accesses: 3"), ConfigError);
}

}  // namespace
}  // namespace tessera::compute::gemm_test
