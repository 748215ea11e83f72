// Roofline: Williams, Waterman, Patterson, CACM 52(4), 2009, doi:10.1145/1498765.1498785.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/compute/messages.hpp"

namespace tessera::compute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Described {
  machine::Machine machine;
  std::unique_ptr<ComputeModel> model;
};

Described described(const std::string& tile, const std::string& compute = "") {
  config::Diagnostics diagnostics;
  const std::string text =
      "topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}\n"
      "tile: {" +
      tile + "}\ncompute: {" + compute + "}\n";
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  std::optional<machine::Machine> machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  Described result{*std::move(machine), read_compute(section.section("compute"))};
  section.finish();
  diagnostics.throw_if_any();
  return result;
}

std::int64_t time_of(const Described& described, std::uint64_t flops, std::uint64_t bytes,
                     DataType type = DataType::fp16) {
  return described.model->duration(described.machine, Flops(flops), Bytes(bytes), type).ps();
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

TEST(Roofline, EachDataTypeHasItsRate) {
  const Described tile = described("peak: {fp16: 1 TFLOP/s, int8: 2 TOPS}");
  EXPECT_EQ(time_of(tile, 100, 0, DataType::fp16), 100);
  EXPECT_EQ(time_of(tile, 100, 0, DataType::int8), 50);
  EXPECT_THROW(time_of(tile, 100, 0, DataType::fp32), ConfigError);
}

// Executes operators on both tiles through the component and notes when each is done.
class Driver final : public pdes::Component {
 public:
  void start(pdes::Context& context) override {
    const std::uint64_t flops = context.self() == EntityId(0) ? 400 : 900;
    execute(context, 1, Flops(flops), Bytes(500), DataType::fp16, pdes::Port(0, 2), 7);
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
  pdes::Engine engine(*communicator, {{0, 0}, members, {SimTime::never()}}, SimTime::from_ps(1000));
  Driver driver;
  const auto model = tile.model->build({tile.machine, members, 1});
  engine.attach(driver);
  engine.attach(*model);
  EXPECT_TRUE(engine.run());
  EXPECT_THAT(driver.done, ElementsAre(time_of(tile, 400, 500), time_of(tile, 900, 500)));
}

TEST(ReadCompute, KnowsItsModelsAndPointsAtAMisspeltOne) {
  EXPECT_THAT(compute_models().names(), ElementsAre("roofline"));
  try {
    described("peak: {fp16: 1 TFLOP/s}", "model: rooflin");
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'roofline'"));
  }
}

}  // namespace
}  // namespace tessera::compute
