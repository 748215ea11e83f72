// Caches of attention and rows that stream in types of few bits: what is loaded and stored, and
// where it lies.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

#include "making.hpp"
#include "tessera/npu/idle_time.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu::packed_operands_test {
namespace {

using testing::core_from;

AttentionSpec generating() {
  AttentionSpec spec;
  spec.batch = 3;
  spec.heads = 8;
  spec.kv_heads = 2;
  spec.keys = 40;
  spec.width = spec.value_width = 64;
  spec.append = 1;
  return spec;
}

// Every access is inside of its operand, and tiles fit.
void expect_to_lie_right(const TiledOperator& op) {
  for (std::uint64_t place = 0; place < op.groups() * op.steps(); ++place) {
    const OperatorTile tile = op.tile(place / op.steps(), place % op.steps());
    const TileProgram program = op.program(tile.shape);
    EXPECT_LE(std::accumulate(program.scratchpad.begin(), program.scratchpad.end(), Bytes()),
              op.core().scratchpad_half());
    for (const CoreInstruction& one : program.code) {
      if (one.opcode == Opcode::mvin || one.opcode == Opcode::mvout) {
        EXPECT_LE(tile.origins[one.operand] + one.region.offset +
                      (one.region.rows - 1) * one.region.pitch + one.region.row_bytes,
                  op.operands()[one.operand].bytes.count());
      }
    }
  }
}

// New tokens are read as they were made, and lie in the cache as it keeps them.
TEST(PackedCache, IsLoadedAndStoredAsItLies) {
  const CoreConfig core = core_from(testing::server);
  AttentionSpec spec = generating();
  spec.stored_keys = StoredWeights(1, 1);
  spec.stored_values = StoredWeights(9, 16);  // 4 bits, and two bytes for 32 of them
  const auto op = lower(spec, {core, 2});
  const IdleRun alone = run_alone(core, {op.get()}, {});
  const std::uint64_t of_queries = std::uint64_t{3} * 8 * 64 * 2;
  const std::uint64_t numbers = std::uint64_t{3} * 2 * 64;  // of a token's keys
  EXPECT_EQ(alone.use.loaded, of_queries + 40 * (numbers + numbers * 9 / 16) + 2 * numbers * 2);
  EXPECT_EQ(alone.use.stored, of_queries + numbers + numbers * 9 / 16);
  expect_to_lie_right(*op);
}

TEST(PackedCache, OfElementsIsAnyCache) {
  const CoreConfig core = core_from(testing::mobile);
  AttentionSpec spec = generating();
  spec.keys = 3000;
  const auto plain = lower(spec, {core, 2});
  spec.stored_keys = spec.stored_values = StoredWeights::plain(Bytes(2));
  const auto same = lower(spec, {core, 2});
  EXPECT_EQ(plain->steps(), same->steps());
  EXPECT_EQ(run_alone(core, {plain.get()}, {}).cycles, run_alone(core, {same.get()}, {}).cycles);
}

// More keys fit in a step.
TEST(PackedCache, TakesLessOfTheScratchpad) {
  const CoreConfig core = core_from(testing::mobile);
  AttentionSpec spec = generating();
  spec.keys = 3000;
  const auto plain = lower(spec, {core, 2});
  for (const StoredWeights stored :
       {StoredWeights(1, 1), StoredWeights(3, 8), StoredWeights(7, 9)}) {
    spec.stored_keys = spec.stored_values = stored;
    const auto packed = lower(spec, {core, 2});
    EXPECT_LT(packed->steps(), plain->steps());
    expect_to_lie_right(*packed);
  }
}

StreamSpec rows_of(std::uint64_t columns, const StoredWeights& stored) {
  StreamSpec spec;
  spec.rows = 7;
  spec.columns = columns;
  spec.inputs = {{"table", 0, columns, 1, 1, false, stored}};
  spec.work = vector_work("copy");
  return spec;
}

TEST(PackedRows, HaveWholeBytesEach) {
  const CoreConfig core = core_from(testing::server);
  const auto op = lower(rows_of(100, StoredWeights(3, 8)), {core, 2});
  const IdleRun alone = run_alone(core, {op.get()}, {});
  EXPECT_EQ(alone.use.loaded, 7U * 38);
  EXPECT_EQ(alone.use.stored, 7U * 100 * 2);
  expect_to_lie_right(*op);
}

TEST(PackedRows, AreCutInPartsOfWholeBytes) {
  const CoreConfig core = core_from(testing::mobile);
  for (const std::uint64_t columns : {9'999U, 20'000U, 77'777U}) {
    const auto op = lower(rows_of(columns, StoredWeights(3, 8)), {core, 2});
    EXPECT_GT(op->groups(), 7U);
    expect_to_lie_right(*op);
    const std::uint64_t loaded = run_alone(core, {op.get()}, {}).use.loaded;
    EXPECT_GE(loaded, op->operands().front().bytes.count());
    EXPECT_LE(loaded, op->operands().front().bytes.count() + op->groups());
  }
}

}  // namespace
}  // namespace tessera::npu::packed_operands_test
