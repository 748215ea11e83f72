// Tiles of operators: every element of the output is made once, every sum is complete, and no
// half of a memory of the core overflows, for any shape on any number of cores.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "making.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu::tiling_test {
namespace {

using testing::core_from;
using testing::operator_from;

struct Totals {
  std::uint64_t macs = 0;
  std::uint64_t loaded = 0;
  std::uint64_t stored = 0;
  std::map<std::uint64_t, std::uint64_t> macs_of_core;
};

// Whether buffers are used in order: read after they were written, by what is in range.
void expect_sound(const TileProgram& program) {
  std::vector<bool> written(program.scratchpad.size());
  for (const CoreInstruction& instruction : program.code) {
    for (const BufferId read : {instruction.a, instruction.b}) {
      if (read.valid() && !read.in_accumulator()) {
        ASSERT_LT(read.number(), written.size());
        ASSERT_TRUE(written[read.number()]);
      } else if (read.valid()) {
        ASSERT_LT(read.number(), program.accumulator.size());
      }
    }
    if (instruction.out.valid() && !instruction.out.in_accumulator()) {
      ASSERT_LT(instruction.out.number(), written.size());
      written[instruction.out.number()] = true;
    }
  }
}

// Goes through all tiles.
Totals look_at(const TiledOperator& op, std::uint64_t cores) {
  Totals totals;
  const auto extents = op.output();
  std::uint64_t volume = 1;
  for (const std::uint64_t extent : extents) {
    volume *= extent;
  }
  constexpr std::uint64_t most_marks = 1 << 16;
  std::vector<std::uint8_t> marks(volume <= most_marks ? volume : 0);
  std::uint64_t covered = 0;
  std::map<std::uint64_t, TileProgram> programs;
  for (std::uint64_t group = 0; group < op.groups(); ++group) {
    std::uint64_t depth = 0;
    std::array<Range, output_dimensions> box{};
    for (std::uint64_t step = 0; step < op.steps(); ++step) {
      const OperatorTile tile = op.tile(group, step);
      EXPECT_EQ(tile.depth.begin, depth);
      depth = tile.depth.end;
      if (step == 0) {
        box = tile.output;
      } else {
        EXPECT_EQ(tile.output, box);
      }
      auto found = programs.find(tile.shape);
      if (found == programs.end()) {
        found = programs.emplace(tile.shape, op.program(tile.shape)).first;
        expect_sound(found->second);
        const std::vector<Bytes>& buffers = found->second.scratchpad;
        EXPECT_LE(std::accumulate(buffers.begin(), buffers.end(), Bytes()),
                  op.core().scratchpad_half());
        EXPECT_LE(found->second.accumulator_bytes(), op.core().accumulator_half());
      }
      for (const CoreInstruction& instruction : found->second.code) {
        if (instruction.opcode != Opcode::mvin && instruction.opcode != Opcode::mvout) {
          continue;
        }
        // Inside of its operand.
        const Region& region = instruction.region;
        const std::uint64_t last = tile.origins[instruction.operand] + region.offset +
                                   (region.rows - 1) * region.pitch + region.row_bytes;
        EXPECT_LE(last, op.operands()[instruction.operand].bytes.count())
            << op.operands()[instruction.operand].name;
      }
      totals.macs += found->second.macs();
      totals.macs_of_core[group % cores] += found->second.macs();
      totals.loaded += found->second.loaded().count();
      totals.stored += found->second.stored().count();
    }
    EXPECT_EQ(depth, op.depth());
    std::uint64_t size = 1;
    for (std::size_t i = 0; i < box.size(); ++i) {
      EXPECT_LE(box[i].end, extents[i]);
      EXPECT_LT(box[i].begin, box[i].end);
      size *= box[i].size();
    }
    covered += size;
    if (!marks.empty()) {
      for (std::uint64_t a = box[0].begin; a < box[0].end; ++a) {
        for (std::uint64_t b = box[1].begin; b < box[1].end; ++b) {
          for (std::uint64_t c = box[2].begin; c < box[2].end; ++c) {
            for (std::uint64_t d = box[3].begin; d < box[3].end; ++d) {
              ++marks[((a * extents[1] + b) * extents[2] + c) * extents[3] + d];
            }
          }
        }
      }
    }
  }
  EXPECT_GE(totals.loaded + totals.stored, op.least_traffic().count());
  EXPECT_EQ(covered, volume);
  EXPECT_TRUE(std::all_of(marks.begin(), marks.end(), [](std::uint8_t mark) { return mark == 1; }));
  return totals;
}

// Numbers of many magnitudes.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t to(std::uint64_t most) {
    const double share = std::uniform_real_distribution<double>(0, 1)(engine_);
    return std::clamp<std::uint64_t>(
        static_cast<std::uint64_t>(std::pow(static_cast<double>(most) + 0.99, share)), 1, most);
  }
  bool coin() { return to(2) == 2; }

 private:
  std::mt19937_64 engine_;
};

std::string n(std::uint64_t number) {
  return std::to_string(number);
}

class AnyShape : public ::testing::TestWithParam<const char*> {};

TEST_P(AnyShape, ProductsAreCoveredOnceAndFit) {
  const CoreConfig core = core_from(GetParam());
  Numbers numbers(1);
  const std::uint64_t most = core.rows * 40;
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t rows = numbers.to(most);
    const std::uint64_t columns = numbers.to(most);
    const std::uint64_t depth = numbers.to(most);
    const std::uint64_t count = numbers.to(4);
    const std::uint64_t cores = numbers.to(20);
    const auto op = operator_from("{kind: gemm, rows: " + n(rows) + ", columns: " + n(columns) +
                                      ", depth: " + n(depth) + ", count: " + n(count) +
                                      ", bias: " + (numbers.coin() ? "true" : "false") + "}",
                                  core, cores);
    SCOPED_TRACE(n(rows) + " x " + n(columns) + " x " + n(depth) + " on " + n(cores));
    const Totals totals = look_at(*op, cores);
    ASSERT_EQ(totals.macs, rows * columns * depth * count);
    ASSERT_EQ(totals.stored, rows * columns * count * 2);
    ASSERT_FALSE(HasFailure());
  }
}

// Weights of all widths, with groups that share a scale, on arrays of one and of several MACs a
// processing element.
std::string packed(Numbers& numbers) {
  const std::array<std::string, 4> types{"int3", "int4", "fp6", "int8"};
  std::string text = ", weights: {type: " + types[numbers.to(types.size()) - 1];
  if (numbers.coin()) {
    text += ", group_size: " + n(numbers.to(200)) + ", scale: " + n(numbers.to(4)) + " B";
  }
  return text + "}";
}

TEST_P(AnyShape, PackedWeightsAreCoveredOnceAndFit) {
  for (const char* const macs : {"{}", "{fp16: 2}", "{fp16: 3}"}) {
    const std::string keys = "macs_per_pe: " + std::string(macs);
    const CoreConfig core = core_from(testing::with(GetParam(), keys));
    Numbers numbers(5);
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t rows = numbers.to(core.rows * 10);
      const std::uint64_t columns = numbers.to(core.rows * 30);
      const std::uint64_t depth = numbers.to(core.rows * 30);
      const std::uint64_t cores = numbers.to(20);
      const std::string text = "{kind: gemm, rows: " + n(rows) + ", columns: " + n(columns) +
                               ", depth: " + n(depth) + ", count: 2" + packed(numbers) + "}";
      SCOPED_TRACE(text);
      const auto op = operator_from(text, core, cores);
      const Totals totals = look_at(*op, cores);
      ASSERT_EQ(totals.macs, 2 * rows * columns * depth);
      ASSERT_GE(totals.loaded, 2 * (rows * depth * 2 + columns * depth * 3 / 8));
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(AnyShape, PackedWeightsOfConvolutionsAreCoveredOnceAndFit) {
  for (const char* const macs : {"{}", "{fp16: 2}"}) {
    const std::string keys = "macs_per_pe: " + std::string(macs);
    const CoreConfig core = core_from(testing::with(GetParam(), keys));
    Numbers numbers(6);
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t side = numbers.to(30);
      const std::uint64_t kernel = numbers.to(std::min<std::uint64_t>(side, 5));
      const std::uint64_t groups = numbers.coin() ? 1 : numbers.to(core.rows * 2);
      const std::uint64_t channels = groups * numbers.to(groups > 1 ? 4 : core.rows * 3);
      const std::uint64_t outputs = groups * numbers.to(groups > 1 ? 4 : core.rows * 3);
      const std::uint64_t cores = numbers.to(8);
      const std::string text = "{kind: convolution, input: " + n(side) +
                               ", channels: " + n(channels) + ", outputs: " + n(outputs) +
                               ", kernel: " + n(kernel) + ", groups: " + n(groups) +
                               packed(numbers) + "}";
      SCOPED_TRACE(text);
      const auto op = operator_from(text, core, cores);
      const Totals totals = look_at(*op, cores);
      ASSERT_EQ(totals.macs, op->macs());
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(AnyShape, ConvolutionsAreCoveredOnceAndFit) {
  const CoreConfig core = core_from(GetParam());
  Numbers numbers(2);
  for (int i = 0; i < 250; ++i) {
    const std::uint64_t side = numbers.to(40);
    const std::uint64_t kernel = numbers.to(std::min<std::uint64_t>(side, 7));
    const std::uint64_t stride = numbers.to(5);
    const std::uint64_t padding = numbers.to(3) - 1;
    const std::uint64_t groups = numbers.coin() ? numbers.to(6) : numbers.to(60);
    const std::uint64_t channels = numbers.to(groups > 6 ? 6 : core.rows * 3) * groups;
    const std::uint64_t outputs = numbers.to(groups > 6 ? 6 : core.columns * 3) * groups;
    const std::uint64_t images = numbers.to(3);
    const std::uint64_t cores = numbers.to(9);
    const std::string text = "{kind: convolution, images: " + n(images) + ", input: " + n(side) +
                             ", channels: " + n(channels) + ", outputs: " + n(outputs) +
                             ", kernel: " + n(kernel) + ", stride: " + n(stride) +
                             ", padding: " + n(padding) + ", groups: " + n(groups) +
                             (numbers.to(8) == 8 ? ", im2col: explicit" : "") + "}";
    SCOPED_TRACE(text + " on " + n(cores));
    const auto op = operator_from(text, core, cores);
    const Totals totals = look_at(*op, cores);
    const std::uint64_t positions = (side + 2 * padding - kernel) / stride + 1;
    ASSERT_EQ(totals.macs,
              images * positions * positions * outputs * kernel * kernel * (channels / groups));
    ASSERT_EQ(totals.stored, images * positions * positions * outputs * 2);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(AnyShape, AttentionIsCoveredOnceAndFits) {
  const CoreConfig core = core_from(GetParam());
  Numbers numbers(3);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t kv_heads = numbers.to(8);
    const std::uint64_t sharing = numbers.to(8);
    const std::uint64_t queries = numbers.to(200);
    const std::uint64_t keys = numbers.to(2000);
    const std::uint64_t width = numbers.to(128);
    const std::uint64_t batch = numbers.to(3);
    const std::uint64_t cores = numbers.to(9);
    const std::string text =
        "{kind: attention, batch: " + n(batch) + ", heads: " + n(kv_heads * sharing) +
        ", kv_heads: " + n(kv_heads) + ", queries: " + n(queries) + ", keys: " + n(keys) +
        ", head_width: " + n(width) + ", append: " + n(std::min<std::uint64_t>(keys, i % 2)) + "}";
    SCOPED_TRACE(text + " on " + n(cores));
    const auto op = operator_from(text, core, cores);
    const Totals totals = look_at(*op, cores);
    ASSERT_EQ(totals.macs, 2 * batch * kv_heads * sharing * queries * keys * width);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(AnyShape, WhatStreamsIsCoveredOnceAndFits) {
  const CoreConfig core = core_from(GetParam());
  Numbers numbers(4);
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t rows = numbers.to(3000);
    const std::uint64_t columns = numbers.to(60000);
    const std::uint64_t cores = numbers.to(9);
    const std::string shape = ", rows: " + n(rows) + ", columns: " + n(columns);
    const std::vector<std::string> texts{
        "{kind: norm, skip: true" + shape + "}",
        "{kind: norm, type: rms" + shape + "}",
        "{kind: softmax" + shape + "}",
        "{kind: transpose" + shape + "}",
        "{kind: concat, rows: " + n(rows) + ", columns: [" + n(columns) + ", 7, " + n(rows) + "]}",
        "{kind: elementwise, operation: add, inputs: 3, elements: " + n(rows * columns) + "}",
        "{kind: embedding, positions: true, tokens: " + n(rows) + ", width: " + n(columns) + "}",
        "{kind: reshape, elements: " + n(columns) + "}",
        "{kind: pool, kernel: 3, stride: 2, padding: 1, height: " + n(rows) +
            ", width: 30, channels: " + n(numbers.to(300)) + "}"};
    const std::string& text = texts[static_cast<std::size_t>(i) % texts.size()];
    SCOPED_TRACE(text + " on " + n(cores));
    const auto op = operator_from(text, core, cores);
    const Totals totals = look_at(*op, cores);
    std::uint64_t volume = 2;
    for (const std::uint64_t extent : op->output()) {
      volume *= extent;
    }
    ASSERT_EQ(totals.stored, volume);
    ASSERT_FALSE(HasFailure());
  }
}

// What has one row or one column lies in memory as it does when it is turned.
TEST_P(AnyShape, TurningAVectorMovesNothing) {
  const CoreConfig core = core_from(GetParam());
  for (const std::string shape : {"rows: 1, columns: 60000", "rows: 60000, columns: 1"}) {
    EXPECT_EQ(operator_from("{kind: transpose, " + shape + "}", core, 4)->groups(), 0U) << shape;
  }
  EXPECT_GT(operator_from("{kind: transpose, rows: 2, columns: 30000}", core, 4)->groups(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Cores, AnyShape,
    ::testing::Values(testing::mobile, testing::server,
                      "{array: [16, 32], scratchpad: 96 KiB, accumulator: 24 KiB}",
                      "{array: [8, 8], scratchpad: 64 KiB, accumulator: 16 KiB, tiling: onnxim}",
                      "{array: [128, 128], tiling: onnxim}"));

TEST(Tiles, KeepAllCoresBusyWhereThereIsWork) {
  const CoreConfig core = core_from(testing::server);
  for (const std::uint64_t cores : {1U, 2U, 3U, 4U, 6U, 16U}) {
    const auto op =
        operator_from("{kind: gemm, rows: 2048, columns: 2048, depth: 2048}", core, cores);
    const Totals totals = look_at(*op, cores);
    ASSERT_EQ(totals.macs_of_core.size(), cores);
    std::uint64_t busiest = 0;
    for (const auto& [number, macs] : totals.macs_of_core) {
      busiest = std::max(busiest, macs);
    }
    EXPECT_LE(busiest * cores, totals.macs + totals.macs / 4) << cores;
  }
}

// Tiles are of some size where they can be, and as large as the scratchpad allows where it is
// smaller.
TEST(Tiles, OfVectorWorkFillASmallScratchpad) {
  const CoreConfig core =
      core_from("{array: [16, 16], vector_width: 256, scratchpad: 16 KiB, accumulator: 4 KiB}");
  for (const std::string text :
       {"{kind: elementwise, operation: add, inputs: 2, elements: 100000}",
        "{kind: elementwise, operation: add, inputs: 3, elements: 70000}"}) {
    SCOPED_TRACE(text);
    const auto op = operator_from(text, core, 16);
    look_at(*op, 16);
    const TileProgram first = op->program(op->tile(0, 0).shape);
    const Bytes taken = std::accumulate(first.scratchpad.begin(), first.scratchpad.end(), Bytes());
    EXPECT_LE(taken, core.scratchpad_half());
    EXPECT_GT(taken * 4, core.scratchpad_half() * 3);
  }
}

// Of a convolution, the array's for all tiles.
std::uint64_t cycles_of_array(const std::string& keys, const CoreConfig& core) {
  const auto op = operator_from("{kind: convolution, " + keys + "}", core, 1);
  look_at(*op, 1);
  std::uint64_t cycles = 0;
  for (std::uint64_t group = 0; group < op->groups(); ++group) {
    for (std::uint64_t step = 0; step < op->steps(); ++step) {
      for (const CoreInstruction& one : op->program(op->tile(group, step).shape).code) {
        cycles += one.opcode == Opcode::gemm || one.opcode == Opcode::gemm_preload ? one.cycles : 0;
      }
    }
  }
  return cycles;
}

TEST(Convolutions, SeeWhatAnyWindowLooksAt) {
  Numbers numbers(7);
  std::size_t stepped_over = 0;
  for (int i = 0; i < 2000; ++i) {
    ConvolutionShape shape;
    shape.input = {numbers.to(60), 1};
    shape.kernel = {numbers.to(9), 1};
    shape.stride = {numbers.to(9), 1};
    shape.padding = {numbers.to(9) - 1, 0};
    shape.dilation = {numbers.to(9), 1};
    std::vector<bool> seen(shape.input[0]);
    for (std::uint64_t window = 0; window < shape.positions()[0]; ++window) {
      for (std::uint64_t place = 0; place < shape.kernel[0]; ++place) {
        const std::uint64_t row = window * shape.stride[0] + place * shape.dilation[0];
        if (row >= shape.padding[0] && row - shape.padding[0] < seen.size()) {
          seen[row - shape.padding[0]] = true;
        }
      }
    }
    const auto rows = static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), true));
    ASSERT_EQ(shape.seen(0), rows) << i;
    stepped_over += rows < shape.input[0] ? 1 : 0;
  }
  EXPECT_GT(stepped_over, 500U);
}

// As many neighbours in a row of the kernel as the array has room for.
TEST(Convolutions, PixelsOfFewChannelsEnterTogether) {
  const CoreConfig server = core_from(testing::server);
  const std::string first =
      "input: 224, channels: 3, outputs: 64, kernel: 7, stride: 2, padding: 3";
  const std::uint64_t positions = 112 * 112;
  EXPECT_EQ(cycles_of_array(first, server), positions * 7);
  EXPECT_EQ(cycles_of_array("input: 56, channels: 64, outputs: 64, kernel: 3, padding: 1", server),
            56U * 56 * 3 * 2);
  EXPECT_EQ(cycles_of_array("input: 56, channels: 65, outputs: 64, kernel: 3, padding: 1", server),
            56U * 56 * 9);
  // They are no neighbours, or it is as ONNXim has it.
  EXPECT_EQ(cycles_of_array("input: 32, channels: 3, outputs: 8, kernel: 3, dilation: 2", server),
            28U * 28 * 9);
  const CoreConfig onnxim = core_from(testing::with(testing::server, "tiling: onnxim"));
  EXPECT_EQ(cycles_of_array(first, onnxim), positions * 49);
  const CoreConfig mobile = core_from(testing::mobile);  // two at a time
  EXPECT_EQ(cycles_of_array("input: 32, channels: 4, outputs: 8, kernel: 3", mobile), 30U * 30 * 6);
}

TEST(Convolutions, ManyImagesAreSharedOutEvenly) {
  const CoreConfig core = core_from(testing::server);
  for (const std::uint64_t cores : {2U, 3U, 4U}) {
    for (const char* const keys :
         {"input: 224, channels: 3, outputs: 64, kernel: 7, stride: 2, padding: 3",
          "input: 56, channels: 64, outputs: 256, kernel: 1",
          "input: 28, channels: 128, outputs: 128, kernel: 3, padding: 1",
          "input: 7, channels: 512, outputs: 512, kernel: 3, padding: 1"}) {
      const auto op =
          operator_from(std::string("{kind: convolution, images: 32, ") + keys + "}", core, cores);
      const Totals totals = look_at(*op, cores);
      for (const auto& [number, macs] : totals.macs_of_core) {
        EXPECT_LE(macs * cores, totals.macs + totals.macs / 16) << keys << " on " << cores;
      }
    }
  }
}

TEST(Tiles, ReadOperandsOnceWhereTheyFit) {
  const CoreConfig core = core_from(testing::server);
  const auto op = operator_from("{kind: gemm, rows: 512, columns: 512, depth: 512}", core, 1);
  EXPECT_EQ(look_at(*op, 1).loaded, 2U * 512 * 512 * 2);
}

TEST(WholeHeads, AreATileEachThatMovesItsOperandsOnce) {
  const CoreConfig core = core_from(testing::server);
  Numbers numbers(5);
  for (int i = 0; i < 30; ++i) {
    const std::uint64_t heads = numbers.to(12);
    const std::uint64_t queries = numbers.to(512);
    const std::uint64_t keys = numbers.to(512);
    const std::string text = "{kind: attention, batch: 2, heads: " + n(heads) +
                             ", queries: " + n(queries) + ", keys: " + n(keys) +
                             ", head_width: 64, whole_heads: true}";
    SCOPED_TRACE(text);
    const auto op = operator_from(text, core, 4);
    ASSERT_EQ(op->groups(), 2 * heads);
    const Totals totals = look_at(*op, 4);
    ASSERT_EQ(totals.macs, 2 * 2 * heads * queries * keys * 64);
    ASSERT_EQ(totals.loaded, 2 * heads * (queries + 2 * keys) * 64 * 2);
    ASSERT_EQ(totals.stored, 2 * heads * queries * 64 * 2);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(WholeHeads, AreRefusedWhereTheyDoNotFitOrShareKeys) {
  const CoreConfig core = core_from(testing::server);
  const std::string begin = "{kind: attention, heads: 8, keys: 2048, head_width: 64, ";
  EXPECT_NO_THROW(operator_from(begin + "queries: 1, whole_heads: true}", core, 4));
  EXPECT_NO_THROW(operator_from(begin + "queries: 2048}", core, 4));
  EXPECT_THROW(operator_from(begin + "queries: 2048, whole_heads: true}", core, 4), ConfigError);
  EXPECT_THROW(operator_from(begin + "queries: 1, kv_heads: 4, whole_heads: true}", core, 4),
               ConfigError);
}

// What its code asks for: pixels that a stride meets, of a block's weights those of one output.
TEST(LikeOnnxim, ConvolutionsLoadNeitherSkipNorWhatNoStrideMeets) {
  const CoreConfig core = core_from(testing::with(testing::server, "tiling: onnxim"));
  const auto loaded = [&](const std::string& keys) {
    return look_at(*operator_from("{kind: convolution, " + keys + "}", core, 1), 1).loaded;
  };
  const std::uint64_t block = 128 * 2;  // channels of one output [B]
  EXPECT_EQ(loaded("input: 28, channels: 128, outputs: 128, kernel: 3, padding: 1, bias: true, "
                   "residual: true, then: relu"),
            28 * 28 * 128 * 2 + 9 * block);
  EXPECT_EQ(loaded("input: 56, channels: 256, outputs: 512, kernel: 1, stride: 2"),
            28 * 28 * 256 * 2 + 4 * 2 * block);
  // From -1 on every other one: 1, 3, …, 27.
  EXPECT_EQ(loaded("input: 28, channels: 128, outputs: 128, kernel: 3, stride: 2, padding: 1"),
            14 * 14 * 128 * 2 + 9 * block);
  // Requests of 32 bytes leave no gaps between pixels of 6 that are 12 apart: 16 rows, of columns 1
  // to 31; of weights whole requests.
  EXPECT_EQ(loaded("input: 32, channels: 3, outputs: 64, kernel: 7, stride: 2, padding: 3"),
            16 * (15 * 12 + 6) + 49 * 32U);
}

}  // namespace
}  // namespace tessera::npu::tiling_test
