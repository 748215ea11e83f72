// Roofline: Williams, Waterman, Patterson, CACM 52(4), 2009, doi:10.1145/1498765.1498785.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "describing.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/compute/messages.hpp"

namespace tessera::compute::roofline_test {
namespace {

using testing::Described;
using testing::described;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::vector_work;

std::int64_t time_of(const Described& described, std::uint64_t flops, std::uint64_t bytes,
                     DataType type = DataType::fp16) {
  return described.time_of(vector_work(flops, bytes, type));
}

TEST(Roofline, IsTheLongerOfArithmeticAndTraffic) {
  // 2 TFLOP/s of 4 at half the peak; 1 TB/s: a FLOP takes 0.5 ps, a byte 1 ps.
  const Described tile =
      described("peak: {fp16: 4 TFLOP/s}, efficiency: 0.5, sram_bandwidth: 1 TB/s");
  EXPECT_EQ(time_of(tile, 2000, 10), 1000);
  EXPECT_EQ(time_of(tile, 2000, 999), 1000);
  EXPECT_EQ(time_of(tile, 2000, 1001), 1001);
  EXPECT_EQ(time_of(tile, 0, 1'000'000), 1'000'000);
  EXPECT_EQ(time_of(tile, 0, 0), 0);
}

TEST(Roofline, RoundsUpOnce) {
  const Described tile = described("peak: {fp16: 3 TFLOP/s}, sram_bandwidth: 7 TB/s");
  EXPECT_EQ(time_of(tile, 1, 0), 1);
  EXPECT_EQ(time_of(tile, 3, 0), 1);
  EXPECT_EQ(time_of(tile, 4, 0), 2);
  EXPECT_EQ(time_of(tile, 0, 7), 1);
  EXPECT_EQ(time_of(tile, 0, 8), 2);
  EXPECT_EQ(time_of(tile, 3'000'000'000'001, 0), 1'000'000'000'001);
}

TEST(Roofline, WithoutABandwidthTrafficIsFree) {
  EXPECT_EQ(time_of(described("peak: {fp16: 1 TFLOP/s}"), 5, 1'000'000'000), 5);
}

TEST(Roofline, OperandsInDramMoveAtTheirChannelsBandwidth) {
  const Described tile =
      described("peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 1 TB/s, operands: dram", "",
                "at: each, bandwidth: 500 GB/s, latency: 100 ns");
  EXPECT_EQ(time_of(tile, 100, 1000), 2000);
  EXPECT_EQ(time_of(tile, 3000, 1000), 3000);
}

TEST(Roofline, EachDataTypeHasItsRate) {
  const Described tile = described("peak: {fp16: 1 TFLOP/s, int8: 2 TOPS}");
  EXPECT_EQ(time_of(tile, 100, 0, DataType::fp16), 100);
  EXPECT_EQ(time_of(tile, 100, 0, DataType::int8), 50);
  EXPECT_THROW(time_of(tile, 100, 0, DataType::fp32), ConfigError);
}

// Executes an operation on each of two tiles through the component and notes when each is done.
class Driver final : public pdes::Component {
 public:
  void start(pdes::Context& context) override {
    execute(context, 1, context.self().value(), pdes::Port(0, 2), 7);
  }
  void handle(pdes::Context& context, const pdes::Event& event) override {
    EXPECT_EQ(event.port, pdes::Port(0, 2));
    EXPECT_EQ(event.tag, 7);
    done.push_back(context.now().ps());
  }
  std::vector<std::int64_t> done;
};

TEST(Roofline, TheComponentTakesAsLongAsPlanned) {
  const Described tile = described("peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 1 TB/s");
  const auto communicator = comm::make_in_process();
  const std::vector<EntityId> members{EntityId(0), EntityId(1)};
  pdes::Engine engine(*communicator,
                      {{0, 0}, members, {{SimTime::never()}, {SimTime::never()}, {}}},
                      SimTime::from_ps(1000));
  Driver driver;
  const std::vector<workload::Operation> operations{vector_work(400, 500), vector_work(900, 500)};
  const auto model = tile.model->build({tile.machine, members, operations, 1});
  engine.attach(driver);
  engine.attach(*model);
  EXPECT_TRUE(engine.run());
  EXPECT_THAT(driver.done, ElementsAre(time_of(tile, 400, 500), time_of(tile, 900, 500)));
}

TEST(Roofline, TakesTheTypeOfEachTile) {
  config::Diagnostics diagnostics;
  config::Section section(
      config::parse("m.yaml",
                    "topology: {kind: graph, nodes: {a: {type: slow}, b: {type: fast}}, links: "
                    "[{from: a, to: b, bandwidth: 1 GB/s, latency: 1 ns}]}\n"
                    "types: {fast: {peak: {fp16: 4 TFLOP/s, fp32: 2 TFLOP/s}}, slow: {peak: {fp16: "
                    "1 TFLOP/s, fp32: 1 TFLOP/s}, operands: dram}}\n"
                    "dram: {at: each, bandwidth: 1 TB/s, latency: 1 ns}\n",
                    diagnostics),
      "", diagnostics);
  const std::optional<machine::Machine> machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  const auto model = read_compute(section.section("compute"));
  const std::vector<EntityId> members{EntityId(0), EntityId(1)};
  const auto communicator = comm::make_in_process();
  pdes::Engine engine(*communicator,
                      {{0, 0}, members, {{SimTime::never()}, {SimTime::never()}, {}}},
                      SimTime::from_ps(1000));
  Driver driver;
  // Tile 0 is slow, and its bytes count; tile 1 is fast, and computes fp32 at half its rate.
  const std::vector<workload::Operation> operations{vector_work(400, 500),
                                                    vector_work(800, 5000, DataType::fp32)};
  const auto component = model->build({*machine, members, operations, 1});
  engine.attach(driver);
  engine.attach(*component);
  EXPECT_TRUE(engine.run());
  std::sort(driver.done.begin(), driver.done.end());
  EXPECT_THAT(driver.done, ElementsAre(400, 500));
}

TEST(ReadCompute, KnowsItsModelsAndPointsAtAMisspeltOne) {
  EXPECT_THAT(compute_models().names(),
              ElementsAre("gemm", "roofline", "systolic", "systolic-cycle"));
  try {
    described("peak: {fp16: 1 TFLOP/s}", "model: rooflin");
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'roofline'"));
  }
}

}  // namespace
}  // namespace tessera::compute::roofline_test
