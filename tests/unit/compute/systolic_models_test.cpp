// Times of `systolic` and `systolic-cycle`, by hand and against each other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "describing.hpp"
#include "tessera/compute/systolic.hpp"
#include "tessera/core/random.hpp"

namespace tessera::compute::systolic_models_test {
namespace {

using testing::Described;
using testing::described;
using ::testing::HasSubstr;
using testing::product_of;
using testing::vector_work;

const std::string tile =
    "peak: {fp16: 1 TFLOP/s, int8: 2 TFLOP/s}, sram_bandwidth: 1 TB/s";  // a byte takes 1 ps

Described systolic(const std::string& keys, const std::string& model = "systolic") {
  return described(tile, "model: " + model + ", " + keys);
}

TEST(SystolicModel, TakesTheCyclesOfTheArray) {
  const Described core = systolic("array: [8, 4], clock: 1 GHz");
  EXPECT_EQ(core.time_of(product_of(20, 4, 8)), 1000 * (20 + 4 + 8 - 2));
  EXPECT_EQ(core.time_of(product_of(20, 5, 9)), 1000 * (4 * 20 + 1 + 8 - 2));
  EXPECT_EQ(core.time_of(product_of(20, 4, 8, 3)), 1000 * (3 * 20 + 4 + 8 - 2));
  const Described folded = systolic("array: [8, 4], clock: 1 GHz, dataflow: os");
  EXPECT_EQ(folded.time_of(product_of(20, 5, 9)), 1000 * 6 * (8 + 4 + 9 - 2));
}

// Of fused attention backward, which multiplies more than its shape says.
TEST(SystolicModel, TakesAllFlopsOfAProduct) {
  workload::Operation attention = product_of(20, 4, 8);
  attention.kernel = workload::Kernel::fused_attention;
  attention.flops = Flops(attention.flops.count() / 4 * 5);
  for (const char* const model : {"systolic", "systolic-cycle"}) {
    const Described core = systolic("array: [8, 4], clock: 1 GHz, dataflow: os", model);
    EXPECT_EQ(core.time_of(attention), core.time_of(product_of(20, 4, 10))) << model;
  }
}

TEST(SystolicModel, RoundsTheTimeUpOnce) {
  const Described core = systolic("array: [8, 4], clock: 700 MHz");
  EXPECT_EQ(core.time_of(product_of(20, 4, 8)), 42'858);  // 30 / 0.7 = 42.857… ns
}

// 2 * 8 * 4 FLOPs a cycle.
TEST(SystolicModel, HasThePeakOfTheTileWithoutAClock) {
  const Described core = systolic("array: [8, 4]");
  EXPECT_EQ(core.time_of(product_of(20, 4, 8)), 30 * 64);
  EXPECT_EQ(core.time_of(product_of(20, 4, 8, 1, 0, DataType::int8)), 30 * 32);
}

TEST(SystolicModel, IsBoundByMemoryAndAddsAfterwards) {
  const Described core = systolic("array: [8, 4]");
  workload::Operation product = product_of(20, 4, 8, 1, 5000);
  EXPECT_EQ(core.time_of(product), 5000);
  product.added = Bytes(300);
  EXPECT_EQ(core.time_of(product), 5300);
  EXPECT_EQ(core.time_of(product_of(20, 0, 8, 1, 5000)), 5000);
}

TEST(SystolicModel, BindsVectorWorkByItsBytesOrItsOwnPeak) {
  EXPECT_EQ(systolic("array: [8, 4]").time_of(vector_work(10, 700)), 700);
  EXPECT_EQ(systolic("array: [8, 4]").time_of(vector_work(900, 700)), 900);
  EXPECT_EQ(systolic("array: [8, 4], vector_peak: 1 GFLOP/s").time_of(vector_work(10, 700)),
            10'000);
  EXPECT_EQ(systolic("array: [8, 4]").time_of(vector_work(0, 0)), 0);
}

TEST(SystolicModel, HasThePapersEquations) {
  const Described core = systolic("array: [8, 8], clock: 1 GHz, variant: paper");
  EXPECT_EQ(core.time_of(product_of(20, 4, 8)), 1000 * (8 + 4 + 8 - 2));
}

TEST(SystolicModel, TakesTheSameTimeSteppedAsInClosedForm) {
  RandomStream random(3, EntityId(0), 0);
  const auto side = [&](std::uint64_t most) { return 1 + random.next_below(most); };
  for (const std::string& dataflow : dataflows().names()) {
    const std::string keys = "array: [8, 6], clock: 940 MHz, dataflow: " + dataflow;
    const Described formula = systolic(keys);
    const Described stepped = systolic(keys, "systolic-cycle");
    for (int round = 0; round < 40; ++round) {
      const auto operation = product_of(side(50), side(50), side(50), side(3), side(90'000),
                                        round % 2 == 0 ? DataType::int8 : DataType::fp16);
      EXPECT_EQ(stepped.time_of(operation), formula.time_of(operation)) << dataflow;
      EXPECT_EQ(stepped.time_of(operation), formula.time_of(operation)) << "kept";
    }
    EXPECT_EQ(stepped.time_of(vector_work(50, 90)), formula.time_of(vector_work(50, 90)));
  }
}

// Two MACs a processing element take two of the depth at a time.
TEST(SystolicModel, FoldsTheDepthWithMoreMacsAProcessingElement) {
  const Described core = systolic("array: [8, 4], clock: 1 GHz, macs_per_pe: {int8: 2}");
  EXPECT_EQ(core.time_of(product_of(20, 4, 16, 1, 0, DataType::int8)), 1000 * (20 + 4 + 8 - 2));
  EXPECT_EQ(core.time_of(product_of(20, 4, 17, 1, 0, DataType::int8)), 1000 * (40 + 4 + 8 - 2));
  EXPECT_EQ(core.time_of(product_of(20, 4, 16)), 1000 * (40 + 4 + 8 - 2));
  // Without a clock that at which all MACs have the tile's peak: half as fast, for half as long.
  const Described peak = systolic("array: [8, 4], macs_per_pe: {int8: 2}");
  EXPECT_EQ(peak.time_of(product_of(20, 4, 16, 1, 0, DataType::int8)), 30 * 64);
  const Described paper =
      systolic("array: [8, 8], clock: 1 GHz, variant: paper, macs_per_pe: {int8: 2}");
  EXPECT_EQ(paper.time_of(product_of(20, 4, 16, 1, 0, DataType::int8)), 1000 * (8 + 4 + 8 - 2));
}

TEST(SystolicModel, TakesTheSameTimeSteppedWithMoreMacsAProcessingElement) {
  RandomStream random(4, EntityId(0), 0);
  const auto side = [&](std::uint64_t most) { return 1 + random.next_below(most); };
  for (const std::string& dataflow : dataflows().names()) {
    const std::string keys =
        "array: [8, 6], clock: 940 MHz, macs_per_pe: {int8: 3, fp16: 2}, dataflow: " + dataflow;
    const Described formula = systolic(keys);
    const Described stepped = systolic(keys, "systolic-cycle");
    for (int round = 0; round < 20; ++round) {
      const auto operation = product_of(side(50), side(50), side(50), side(3), 0,
                                        round % 2 == 0 ? DataType::int8 : DataType::fp16);
      EXPECT_EQ(stepped.time_of(operation), formula.time_of(operation)) << dataflow;
    }
  }
}

std::string complaint_about(const std::string& keys, const std::string& model = "systolic") {
  try {
    systolic(keys, model);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(SystolicModel, PointsAtWhatIsWrong) {
  EXPECT_EQ(complaint_about("array: [8, 4], variant: exact"), "");
  EXPECT_EQ(complaint_about("array: [8, 4], seed: 3", "systolic-cycle"), "");
  EXPECT_THAT(complaint_about("clock: 1 GHz"), HasSubstr("needs an 'array'"));
  EXPECT_THAT(complaint_about("array: [8]"), HasSubstr("must be two numbers"));
  EXPECT_THAT(complaint_about("array: [8, 4], dataflow: tpv"), HasSubstr("did you mean 'tpu'"));
  EXPECT_THAT(complaint_about("array: [8, 4], dataflow: ws, variant: paper"),
              HasSubstr("there is no paper for this dataflow"));
  EXPECT_THAT(complaint_about("array: [8, 4], clock: 3"), HasSubstr("no unit"));
  EXPECT_THAT(complaint_about("array: [8, 4], macs_per_pe: {int9: 2}"),
              HasSubstr("unknown data type 'int9'; did you mean 'int8'"));
  EXPECT_THAT(complaint_about("array: [8, 4], macs_per_pe: {int8: 0}"),
              HasSubstr("must be between 1 and 64"));
}

}  // namespace
}  // namespace tessera::compute::systolic_models_test
