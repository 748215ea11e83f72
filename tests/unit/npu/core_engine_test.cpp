#include <gtest/gtest.h>

#include "making.hpp"
#include "tessera/npu/idle_time.hpp"

namespace tessera::npu {
namespace {

using testing::core_from;
using testing::operator_from;

TEST(A, B) {
  for (const auto& [name, cfg, text] : std::vector<std::tuple<const char*, std::string, std::string>>{
           {"s128", testing::with(testing::server, "tiling: onnxim, timing: onnxim, queue: 128"), "{kind: gemm, rows: 128, columns: 128, depth: 128}"},
           {"s2048", testing::with(testing::server, "tiling: onnxim, timing: onnxim, queue: 128"), "{kind: gemm, rows: 2048, columns: 2048, depth: 2048}"},
           {"s2048 own", testing::server, "{kind: gemm, rows: 2048, columns: 2048, depth: 2048}"},
           {"sgemv", testing::with(testing::server, "tiling: onnxim, timing: onnxim, queue: 128"), "{kind: gemm, rows: 1, columns: 4096, depth: 4096}"},
           {"s512_2048", testing::with(testing::server, "tiling: onnxim, timing: onnxim, queue: 128"), "{kind: gemm, rows: 512, columns: 2048, depth: 128}"},
           {"sconv64", testing::with(testing::server, "tiling: onnxim, timing: onnxim, queue: 128"), "{kind: convolution, input: 56, channels: 64, outputs: 64, kernel: 3, padding: 1}"},
           {"sconv128", testing::with(testing::server, "tiling: onnxim, timing: onnxim, queue: 128"), "{kind: convolution, input: 28, channels: 128, outputs: 128, kernel: 3, padding: 1}"},
           {"mconv128", testing::with(testing::mobile, "tiling: onnxim, timing: onnxim, queue: 8"), "{kind: convolution, input: 28, channels: 128, outputs: 128, kernel: 3, padding: 1}"},
           {"m512", testing::with(testing::mobile, "tiling: onnxim, timing: onnxim, queue: 8"), "{kind: gemm, rows: 512, columns: 512, depth: 512}"},
           {"m1024", testing::with(testing::mobile, "tiling: onnxim, timing: onnxim, queue: 8"), "{kind: gemm, rows: 1024, columns: 1024, depth: 1024}"},
           {"m100", testing::with(testing::mobile, "tiling: onnxim, timing: onnxim, queue: 8"), "{kind: gemm, rows: 100, columns: 300, depth: 200}"}}) {
    const CoreConfig core = core_from(cfg);
    const auto op = operator_from(text, core, 4);
    std::printf("%s: groups %lu steps %lu:", name, op->groups(), op->steps());
    for (int c = 0; c < 4; ++c) {
      const IdleRun run = run_alone(core, {op.get()}, {Bandwidth::bytes_per_second(150'000'000'000), SimTime::from_ps(100'000)}, c, 4);
      std::printf(" [%lu cycles active %lu busy %lu tiles %lu]", run.cycles, run.use.matrix_active, run.use.matrix_busy, run.use.tiles);
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace tessera::npu
