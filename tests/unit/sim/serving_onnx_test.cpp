// ONNX models served by tiles whose compute model gives times of operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/work.hpp"
#include "tessera/sim/serving/serving.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_onnx_test {
namespace {

using testing::complaint_of;
using testing::expect_goes_on_from_eighths;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::run_on;

const std::string folder = TESSERA_ONNX_MODELS;
const std::string images = "onnx: {model: " + folder +
                           "/resnet50.onnx, batch: batch, optimize: extended, data_type: fp16}";
const std::string words = "onnx: {model: " + folder +
                          "/bert_base.onnx, dimensions: {sequence: 8}, batch: batch, optimize: "
                          "extended, data_type: fp16}";

const std::string mesh =
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n";
const std::string in_dram =
    mesh +
    "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
    "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 1 GB}\n";
const std::string in_sram =
    mesh + "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 40 MB, sram_bandwidth: 64 GB/s}\n";

Files experiment_of(const std::string& workload, const std::string& machine = in_dram) {
  return {{"lab/experiment.yaml", "name: models\nmachine:\n  name: tiles\n" + machine +
                                      "run: {trace: none}\nworkload:\n  kind: serving\n"
                                      "  tenants:\n" +
                                      workload}};
}

std::string tenant(const std::string& model, const std::string& requests,
                   const std::string& more = "") {
  return "    - " + model + "\n      requests: " + requests + "\n" + more;
}

const std::string once = "{arrivals: closed, count: 1}";

// In stages, and cut over two tiles, one of which has a stage of the other.
const std::string both =
    tenant(images, "{arrivals: closed, clients: 4, count: 6, samples: [1, 3]}",
           "      pipeline: 3\n      batching: {samples: 4}\n      target: {latency: 1 ms}\n") +
    tenant(words, "{arrivals: closed, clients: 2, count: 3}",
           "      tensor: 2\n      npus: [4, 2]\n      batching: {samples: 2}\n");

TEST(ServedModels, AreTheSameOnAnyNumberOfRanks) {
  for (const char* const compute :
       {"{model: roofline}", "{model: gemm, tiles: [16x16], launch_overhead: 1 us}",
        "{model: systolic, array: [8, 8]}"}) {
    const Experiment experiment =
        read(experiment_of(both, in_dram + "  compute: " + compute + "\n"));
    const trace::Summary expected = run_on(1, experiment);
    EXPECT_EQ(expected.services.at(0).served, 6U);
    EXPECT_EQ(expected.services.at(1).samples, 3U);
    for (const int ranks : {2, 3, 4}) {
      EXPECT_EQ(run_on(ranks, experiment).result_digest, expected.result_digest) << compute;
    }
  }
}

// The program that a strategy makes of the same model, in every cut that both know. Messages of the
// host to itself take no time.
TEST(ServedModels, TakeTheTimeOfTheirPrograms) {
  for (const char* const compute : {"{model: roofline}", "{model: gemm, tiles: [16x16]}"}) {
    const std::string machine = in_dram + "  compute: " + compute + "\n";
    const trace::Summary served = run_on(1, read(experiment_of(tenant(images, once), machine)));
    Files program = experiment_of("", machine);
    std::string& text = program.at("lab/experiment.yaml");
    text.resize(text.find("workload:"));
    text += "workload: {kind: onnx, " + images.substr(images.find('{') + 1) + "\nstrategy: {}\n";
    const trace::Summary planned = run_on(1, read(program));
    EXPECT_EQ(served.services.at(0).latency.mean,
              static_cast<std::uint64_t>(planned.simulated_time_ps))
        << compute;
    EXPECT_GT(planned.simulated_time_ps, 0);
  }
}

TEST(ServedModels, CountTheirWeightsAndFlops) {
  onnx::ImportOptions options;
  options.dimensions = {{"batch", 2}};
  const onnx::Cost cost =
      onnx::total_cost(onnx::import_model(folder + "/resnet50.onnx", options).graph);
  std::string plain = images;
  plain.replace(plain.find("extended"), 8, "none");
  const Experiment experiment = read(experiment_of(
      tenant(plain, "{arrivals: closed, count: 1, samples: 2}", "      batching: {samples: 2}\n")));
  const serving::ServedModel& model = *served_by(*experiment.only_job())->tenants[0].model;
  EXPECT_EQ(model.weights(), Bytes(2 * cost.parameters));
  const Wide flops = model.flops({{}, 0, 2});
  EXPECT_EQ(static_cast<std::uint64_t>(flops), cost.matrix.count() + cost.vector.count());
  const trace::Summary summary = run_on(1, experiment);
  EXPECT_DOUBLE_EQ(
      summary.achieved_flops_per_s * static_cast<double>(summary.simulated_time_ps) * 1e-12,
      static_cast<double>(flops));
  EXPECT_EQ(summary.peak_flops_per_s, 1e12);
}

TEST(ServedModels, GoTogetherInBatches) {
  const auto time = [](const std::string& samples) {
    return run_on(1, read(experiment_of(tenant(images, "{arrivals: closed, clients: 8, count: 8}",
                                               "      batching: {samples: " + samples + "}\n"))))
        .simulated_time_ps;
  };
  EXPECT_LT(time("8"), time("2"));  // weights are read for each batch
  EXPECT_LT(time("2"), time("1"));
}

// 51 MB of weights: of one tile they do not fit, of stages with 36 MB at most they do, or come from
// DRAM.
TEST(ServedModels, NeedRoomForTheirWeights) {
  EXPECT_THAT(complaint_of(experiment_of(tenant(images, once), in_sram)),
              HasSubstr("workload.tenants[0].onnx: the weights on NPU 0 take"));
  EXPECT_EQ(complaint_of(experiment_of(tenant(images, once, "      pipeline: 4\n"), in_sram)), "");
  const std::string dram =
      "  dram: {at: each, bandwidth: 32 GB/s, latency: 100 ns, capacity: 60 MB}\n";
  const Experiment streams = read(experiment_of(tenant(images, once), in_sram + dram));
  const trace::Summary summary = run_on(1, streams);
  EXPECT_EQ(summary.memory_read_bytes,
            served_by(*streams.only_job())->tenants[0].model->weights().count());
  EXPECT_GT(static_cast<double>(summary.simulated_time_ps), 50e6 / 32e9 * 1e12);
  EXPECT_THAT(
      complaint_of(experiment_of(tenant(images, once) + tenant(images, once), in_sram + dram)),
      HasSubstr("its memory has 60000000 B"));
}

TEST(ServedModels, GoOnFromACheckpoint) {
  const Experiment experiment = read(experiment_of(both));
  expect_goes_on_from_eighths(experiment, "tessera_models_checkpoint");
}

std::string complaint(const std::string& model, const std::string& more = "") {
  return complaint_of(experiment_of(tenant(model, once, more)));
}

TEST(ServedModels, RefuseWhatCannotBe) {
  EXPECT_THAT(complaint(words, "      tensor: 5\n"), HasSubstr("tenants[0].tensor: the heads of"));
  EXPECT_THAT(complaint(images, "      pipeline: 8\n      npus: [0]\n"),
              HasSubstr("the model takes 8 NPUs"));
  EXPECT_THAT(complaint(images, "      pipeline: 4096\n"), HasSubstr("more stages than the model"));
  std::string dynamic = words;
  dynamic.replace(dynamic.find("dimensions: {sequence: 8}, "), 27, "");
  EXPECT_THAT(complaint(dynamic), HasSubstr("'sequence' of input 'ids' is dynamic"));
  std::string twice = images;
  twice.replace(twice.find("batch: batch"), 12, "batch: batch, dimensions: {batch: 2}");
  EXPECT_THAT(complaint(twice), HasSubstr("onnx.batch: 'batch' is one of the dimensions"));
  std::string wide = images;
  wide.replace(wide.find("fp16"), 4, "fp32");
  EXPECT_THAT(complaint(wide), HasSubstr("gives no peak (machine.tile.peak)"));
  std::string quantised = words;
  quantised.replace(quantised.find("bert_base"), 9, "encoder_qdq");
  EXPECT_THAT(complaint(quantised), HasSubstr("computes in int8, of which the machine gives no"));
  EXPECT_THAT(complaint(words, "      batching: {samples: 4}\n      cores: 0\n"),
              HasSubstr("without cores"));
}

}  // namespace
}  // namespace tessera::sim::serving_onnx_test
