// Operations of programs as tiles of a core.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "making.hpp"
#include "tessera/npu/idle_time.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::npu::operations_test {
namespace {

using testing::core_from;
using workload::Operation;

IdleRun run(const Operation& operation, const CoreConfig& core) {
  const auto op = lower(operation, {core, 1, operation.data_type});
  return run_alone(core, {op.get()}, {});
}

// What a core does on the results of a product, which it still has: no operand says how much it is.
TEST(Operations, BehindAProductUseAllLanes) {
  const CoreConfig core = core_from(testing::server);
  constexpr std::uint64_t elements = 32 * 3072;
  Operation gelu;
  gelu.flops = Flops(6 * elements);
  gelu.elements = elements;
  const IdleRun alone = run(gelu, core);
  EXPECT_EQ(alone.use.loaded, 0U);
  EXPECT_EQ(alone.use.stored, 0U);
  EXPECT_GE(alone.cycles, 6 * elements / core.vector_width);
  EXPECT_LE(alone.cycles, 6 * elements / core.vector_width + 32);

  gelu.elements = 0;  // not known
  EXPECT_GE(run(gelu, core).cycles, 6 * elements / core.vector_width);
  EXPECT_LE(run(gelu, core).cycles, 6 * elements / core.vector_width + 64);
}

TEST(Operations, BehindAProductReadWhatTheyAdd) {
  const CoreConfig core = core_from(testing::mobile);
  for (const std::uint64_t read : {1U, 100U, 999U, 4096U}) {
    Operation sum;
    sum.flops = Flops(999);
    sum.elements = 999;
    sum.bytes = Bytes(2 * read);
    const IdleRun alone = run(sum, core);
    EXPECT_EQ(alone.use.loaded, 2 * read);
    EXPECT_EQ(alone.use.stored, 0U);
  }
}

// Several inputs were joined by one operation, however many they are.
TEST(Operations, JoinTheirInputsOneAfterTheOther) {
  const CoreConfig core = core_from(testing::mobile);
  const auto flops = [&](const std::string& keys) {
    return testing::operator_from("{kind: elementwise, elements: 1000, " + keys + "}", core, 1)
        ->vector_flops();
  };
  for (const std::string name : {"add", "mul", "div"}) {
    EXPECT_EQ(flops("operation: " + name), 1000) << name;
    EXPECT_EQ(flops("operation: " + name + ", inputs: 2"), 1000) << name;
    EXPECT_EQ(flops("operation: " + name + ", inputs: 5"), 4000) << name;
  }
  const auto cycles = [&](const std::string& inputs) {
    const auto op = testing::operator_from(
        "{kind: elementwise, elements: 128000, operation: add, inputs: " + inputs + "}", core, 1);
    return run_alone(core, {op.get()}, {}).use.vector_busy;
  };
  EXPECT_GE(cycles("2"), 1000U);
  EXPECT_GE(cycles("4"), 3000U);
  EXPECT_LE(cycles("4"), 3100U);
  EXPECT_THROW(flops("operation: relu, inputs: 2"), ConfigError);
}

TEST(Operations, WithOperandsInMemoryReadAndWriteHalf) {
  const CoreConfig core = core_from(testing::mobile);
  Operation copy;
  copy.flops = Flops(5000);
  copy.bytes = Bytes(4 * 5000);
  const IdleRun alone = run(copy, core);
  EXPECT_EQ(alone.use.loaded, 10'000U);
  EXPECT_EQ(alone.use.stored, 10'000U);
}

}  // namespace
}  // namespace tessera::npu::operations_test
