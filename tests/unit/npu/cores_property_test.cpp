// Whatever a chip is given, in whatever order its memory answers, it comes to an end and has done
// every tile.

#include <gtest/gtest.h>

#include <array>

#include "driving.hpp"
#include "making.hpp"
#include "tessera/core/random.hpp"

namespace tessera::npu::cores_property_test {
namespace {

using testing::core_from;
using testing::Outcome;
using testing::simulate;
using testing::with;

constexpr const char* core_text =
    "{array: [4, 4], vector_width: 8, scratchpad: 8 KiB, accumulator: 2 KiB}";

// One row of four cores with a memory that knows rows and banks, or one that does not.
std::string machine_with(bool dram) {
  return std::string(
             "topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 64 GB/s, latency: 5 ns}\n"
             "tile: {peak: {fp16: 1 TFLOP/s}}\n"
             "dram: {at: edge, edges: [west], bandwidth: 8 GB/s, latency: 60 ns}\n") +
         (dram ? "memory: {model: dram, preset: DDR4, transfer: 64 B, window: 1 KiB}\n" : "");
}

class Operators {
 public:
  explicit Operators(std::uint64_t number) : random_(number, EntityId(0), 0) {}

  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + random_.next_below(most - least + 1);
  }
  std::string key(const char* name, std::uint64_t least, std::uint64_t most) {
    return std::string(", ") + name + ": " + std::to_string(between(least, most));
  }

  std::string next() {
    switch (between(0, 6)) {
      case 0:
        return "{kind: gemm" + key("rows", 1, 30) + key("columns", 1, 30) + key("depth", 1, 40) +
               "}";
      case 1:
        return convolution(1);
      case 2:
        return convolution(between(2, 6));
      case 3:
        return "{kind: softmax" + key("rows", 1, 20) + key("columns", 1, 40) + "}";
      case 4:
        return "{kind: elementwise, operation: add, inputs: 2" + key("elements", 1, 900) + "}";
      case 5:
        return "{kind: attention, heads: 2" + key("queries", 1, 9) + key("keys", 1, 20) +
               key("head_width", 1, 9) + "}";
      default:
        return "{kind: transpose" + key("rows", 1, 20) + key("columns", 1, 20) + "}";
    }
  }

 private:
  std::string convolution(std::uint64_t groups) {
    const std::string in_all = std::to_string(groups * between(1, 3));
    const std::string out = std::to_string(groups * between(1, 2));
    return "{kind: convolution" + key("input", 3, 9) + ", channels: " + in_all +
           ", outputs: " + out + ", kernel: 3" + key("padding", 0, 2) + key("stride", 1, 2) +
           ", groups: " + std::to_string(groups) + "}";
  }

  RandomStream random_;
};

TEST(CoresOfRandomOperators, ComeToAnEndAndDoEveryTile) {
  constexpr std::array like{"timing: deterministic, tiling: fitted",
                            "timing: onnxim, tiling: onnxim"};
  constexpr std::array moves{"dma: {access: block}", "dma: {access: row, open: 3}",
                             "dma: {access: row, request: 16 B, open: 40}"};
  for (std::uint64_t number = 0; number < 384; ++number) {
    Operators operators(number);
    const CoreConfig core =
        core_from(with(with(core_text, like[number % 2]), moves[number / 2 % moves.size()]));
    const auto cores = static_cast<std::uint32_t>(number / 6 % 4 + 1);
    std::vector<std::string> texts;
    const std::uint64_t most = operators.between(1, 4);
    for (std::uint64_t i = 0; i < most; ++i) {
      texts.push_back(operators.next());
    }
    const Outcome outcome = simulate(machine_with(number / 24 % 2 == 0), core, texts, cores);
    const std::string what = std::to_string(number) + ": " + texts.front();
    EXPECT_EQ(outcome.shares, texts.size() * cores) << what;
    EXPECT_TRUE(outcome.waiting.empty()) << what << ": " << outcome.waiting.front();
    std::uint64_t tiles = 0;
    for (const compute::CoreUse& use : outcome.uses) {
      tiles += use.tiles;
    }
    EXPECT_EQ(tiles, outcome.tiles) << what;
  }
}

}  // namespace
}  // namespace tessera::npu::cores_property_test
