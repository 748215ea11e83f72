// Requests from arrival to the summary: on any number of ranks, across checkpoints, and beside the
// same work as a list of operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/serving/serving.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::sim::serving_test {
namespace {

using testing::complaint_of;
using testing::expect_goes_on_from_eighths;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::run_on;

const std::string machine =
    "name: serving\n"
    "machine:\n"
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
    "  dram: {at: edge, edges: [west], bandwidth: 32 GB/s, latency: 100 ns, capacity: 1 MiB}\n"
    "  memory: {model: channel}\n"
    "  compute: {model: npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, accumulator: 16 "
    "KiB}\n"
    "run: {trace: none}\n";
const std::string small_model =
    "{layers: 2, hidden: 32, heads: 4, kv_heads: 2, sequence: 64, vocabulary: 50}";

Files experiment_of(const std::string& workload) {
  return {{"lab/experiment.yaml", machine + "workload:\n  kind: serving\n" + workload}};
}

// Two models, one over four NPUs.
const std::string two_tenants =
    "  npu_cores: 2\n"
    "  tenants:\n"
    "    - name: cut\n"
    "      language_model: " +
    small_model +
    "\n"
    "      tensor: 2\n"
    "      pipeline: 2\n"
    "      requests: {arrivals: poisson, rate: 100000, count: 6, prompt: [4, 20], generate: [1, "
    "5]}\n"
    "      target: {first_token: 20 us}\n"
    "    - name: one\n"
    "      language_model: " +
    small_model +
    "\n"
    "      npus: [1]\n"
    "      batching: {chunk: 8, block: 4, cache: 16 KiB}\n"
    "      requests: {arrivals: closed, clients: 3, count: 5, prompt: 20, generate: 6}\n";

TEST(Serving, ServesEveryRequestAndToken) {
  const Experiment experiment = read(experiment_of(two_tenants));
  const trace::Summary summary = run_on(1, experiment);
  EXPECT_EQ(summary.status, "finished");
  ASSERT_EQ(summary.services.size(), 2U);
  EXPECT_EQ(summary.services[0].tenant, "cut");
  EXPECT_EQ(summary.services[0].served, 6U);
  EXPECT_EQ(summary.services[0].first_token.count, 6U);
  const trace::Service& one = summary.services[1];
  EXPECT_EQ(one.served, 5U);
  EXPECT_EQ(one.tokens, 30U);
  EXPECT_EQ(one.between_tokens.count, 25U);
  EXPECT_GE(one.latency.p50, one.first_token.p50);
  EXPECT_LE(one.latency.p50, one.latency.p90);
  EXPECT_LE(one.latency.p90, one.latency.p95);
  EXPECT_GT(one.between_tokens.p90, 0U);
  EXPECT_LE(one.latency.p99, one.latency.most);
  EXPECT_LE(one.cache_blocks,
            served_by(*experiment.only_job())->tenants[1].batching.blocks.value());
}

TEST(Serving, IsTheSameOnAnyNumberOfRanks) {
  const Experiment experiment = read(experiment_of(two_tenants));
  const trace::Summary expected = run_on(1, experiment);
  for (const int ranks : {2, 3, 4}) {
    const trace::Summary summary = run_on(ranks, experiment);
    EXPECT_EQ(summary.result_digest, expected.result_digest) << ranks;
    EXPECT_EQ(summary.services[1].between_tokens.p95, expected.services[1].between_tokens.p95);
  }
}

// Products of layers are loaded packed, on any number of ranks; what did not fit the memory does.
TEST(Serving, LoadsWeightsOfFewBits) {
  std::string packed = two_tenants;
  const std::string place = "      npus: [1]\n";
  packed.insert(packed.find(place), "      weights: {type: int4, group_size: 16}\n");
  const Experiment experiment = read(experiment_of(packed));
  const trace::Summary summary = run_on(1, experiment);
  const trace::Summary plain = run_on(1, read(experiment_of(two_tenants)));
  EXPECT_EQ(summary.services[1].tokens, plain.services[1].tokens);
  EXPECT_LT(summary.services[1].between_tokens.p50, plain.services[1].between_tokens.p50);
  EXPECT_EQ(run_on(3, experiment).result_digest, summary.result_digest);
  const std::string large =
      "  tenants:\n"
      "    - language_model: {layers: 30, hidden: 64, heads: 4, sequence: 64, vocabulary: 50}\n"
      "      requests: {arrivals: fixed, count: 1, prompt: 8, generate: 2}\n";
  EXPECT_THAT(complaint_of(experiment_of(large)), HasSubstr("its memory has"));
  EXPECT_NO_THROW(read(experiment_of(large + "      weights: {type: int4}\n")));
}

TEST(Serving, GoesOnFromACheckpoint) {
  const Experiment experiment = read(experiment_of(two_tenants));
  expect_goes_on_from_eighths(
      experiment, "tessera_serving_checkpoint",
      [](const trace::Summary& summary, const trace::Summary& expected) {
        EXPECT_EQ(summary.services[0].late_requests, expected.services[0].late_requests);
        EXPECT_EQ(summary.services[1].latency.p95, expected.services[1].latency.p95);
      });
}

std::vector<trace::ServiceLoadRow> loads_of(const std::string& folder) {
  std::vector<trace::ServiceLoadRow> rows;
  for (const trace::TracePart& part : trace::trace_parts(1)) {
    const trace::TraceReader reader(folder + "/" + part.name);
    if (reader.committed_rows("service_load") > 0) {
      const trace::ReadTable table = reader.read("service_load");
      for (std::uint64_t row = 0; row < table.rows; ++row) {
        rows.push_back(table.record<trace::ServiceLoadRow>(row));
      }
    }
  }
  return rows;
}

// What the windows of the summary have means of, change by change.
TEST(Serving, TracesWhatServicesHold) {
  Files files = experiment_of(two_tenants);
  std::string& text = files.at("lab/experiment.yaml");
  text.replace(text.find("trace: none"), 11, "trace: summary");
  const std::string folder =
      (std::filesystem::path(::testing::TempDir()) / "tessera_service_load").string();
  std::filesystem::remove_all(folder);
  const trace::Summary summary = run(read(files), *comm::make_in_process(), {folder, {}});
  const std::vector<trace::ServiceLoadRow> rows = loads_of(folder);
  std::filesystem::remove_all(folder);
  for (std::uint16_t tenant = 0; tenant < 2; ++tenant) {
    trace::ServiceLoadRow last;
    double running_ps = 0;
    double blocks_ps = 0;
    std::uint64_t most = 0;
    for (const trace::ServiceLoadRow& row : rows) {
      if (row.tenant == tenant) {
        const auto time = static_cast<double>(row.time_ps - last.time_ps);
        running_ps += time * static_cast<double>(last.running);
        blocks_ps += time * static_cast<double>(last.cache_blocks);
        most = std::max(most, row.cache_blocks);
        last = row;
      }
    }
    EXPECT_EQ(last.running + last.waiting, 0U);
    const trace::Service& service = summary.services[tenant];
    EXPECT_GT(most, 0U);
    EXPECT_LE(most, service.cache_blocks);
    double expected_running = 0;
    double expected_blocks = 0;
    for (const trace::ServiceWindow& window : service.windows) {
      expected_running += window.running * static_cast<double>(service.window_ps);
      expected_blocks += window.cache_blocks * static_cast<double>(service.window_ps);
      EXPECT_EQ(window.latency.count, window.served);
    }
    EXPECT_NEAR(running_ps, expected_running, 1e-9 * expected_running);
    EXPECT_NEAR(blocks_ps, expected_blocks, 1e-9 * expected_blocks);
  }
}

// Nodes weigh by what is asked of them: those that serve more, and the host.
TEST(Serving, WeighsNodesByWhatTheyServe) {
  const std::vector<std::uint64_t> events = predicted_events(read(experiment_of(two_tenants)));
  const auto of_npu = [&](std::size_t npu) { return events[2 * npu] + events[2 * npu + 1]; };
  EXPECT_GT(of_npu(1), of_npu(2));  // two models
  EXPECT_GT(of_npu(2), 0U);
  EXPECT_GT(events[0], events[1]);

  const std::string more =
      std::string(two_tenants).replace(two_tenants.find("count: 6"), 8, "count: 60");
  EXPECT_GT(predicted_events(read(experiment_of(more)))[7], 5 * events[7]);
  // A tenant in the background keeps its NPU busy as long as the others theirs.
  const std::string beside = two_tenants +
                             "    - name: beside\n      npus: [2]\n      background: true\n" +
                             "      language_model: " + small_model +
                             "\n      requests: {arrivals: closed, prompt: 20, generate: 6}\n";
  const std::vector<std::uint64_t> with = predicted_events(read(experiment_of(beside)));
  EXPECT_GT(with[4], 3 * events[4] / 2);
}

// Shorter prompts, more room or fewer requests cannot make a request wait longer here.
TEST(Serving, WaitsAsItIsLoaded) {
  const auto first_token = [](const std::string& requests, const std::string& more = "") {
    const trace::Summary summary =
        run_on(1, read(experiment_of("  tenants:\n    - language_model: " + small_model +
                                     "\n      requests: " + requests + "\n" + more)));
    return summary.services[0].first_token;
  };
  const auto alone = first_token("{arrivals: fixed, count: 1, prompt: 40, generate: 2}");
  const auto shorter = first_token("{arrivals: fixed, count: 1, prompt: 8, generate: 2}");
  const auto crowd = first_token("{arrivals: fixed, count: 8, prompt: 40, generate: 2}");
  const auto apart =
      first_token("{arrivals: fixed, count: 8, interval: 10 ms, prompt: 40, generate: 2}");
  EXPECT_LT(shorter.p50, alone.p50);
  EXPECT_GT(crowd.p99, alone.p99);
  EXPECT_EQ(apart.p50, alone.p50);  // each has the machine to itself
  EXPECT_EQ(apart.p99, alone.p99);
  const auto shared = first_token(
      "{arrivals: fixed, count: 8, interval: 10 ms, prompt: 8, generate: 2, prefix: {tokens: 32}}");
  EXPECT_EQ(shared.most, alone.most);  // the first has to compute it all
  EXPECT_LT(shared.p50, alone.p50);
}

std::string complaint(const std::string& tenant, const std::string& above = "") {
  return complaint_of(experiment_of(above + "  tenants:\n    - " + tenant + "\n"));
}

TEST(Serving, RefusesWhatCannotBeServed) {
  const std::string model = "language_model: " + small_model;
  const std::string requests =
      "\n      requests: {arrivals: fixed, count: 1, prompt: 8, generate: 2}";
  EXPECT_THAT(complaint("name: 'a,b'\n      " + model + requests), HasSubstr("no comma"));
  EXPECT_THAT(complaint("name: x" + requests), HasSubstr("language_model"));
  EXPECT_THAT(complaint(model + requests + "\n      tensor: 3"), HasSubstr("4 heads"));
  EXPECT_THAT(complaint(model + requests + "\n      tensor: 2"), HasSubstr("takes 2 NPUs"));
  EXPECT_THAT(complaint(model + requests + "\n      npus: [1]"), HasSubstr("from 0 to 0"));
  EXPECT_THAT(complaint(model + requests + "\n      cores: 2-9"), HasSubstr("FIRST-LAST"));
  EXPECT_THAT(complaint(model + requests + "\n      background: true"),
              HasSubstr("in the background"));
  EXPECT_THAT(complaint(model + requests, "  npu_cores: 3\n"), HasSubstr("no whole number"));
  EXPECT_THAT(complaint(model + requests, "  scheduler: {policy: deadline}\n"),
              HasSubstr("none has one"));
  EXPECT_THAT(complaint(model + requests, "  scheduler: {policy: spatail}\n"),
              HasSubstr("spatial"));
  EXPECT_THAT(complaint(model + requests + "\n      targets: {latency: 1 ms}"),
              HasSubstr("target"));
  EXPECT_THAT(
      complaint(model + "\n      requests: {arrivals: fixed, count: 1, prompt: 60, generate: 9}"),
      HasSubstr("the model takes 64"));
  EXPECT_THAT(complaint(model + requests + "\n      batching: {cache: 1 KiB}"),
              HasSubstr("does not fit the cache"));
  EXPECT_THAT(complaint("language_model: {layers: 400, hidden: 320, heads: 4, sequence: 64, "
                        "vocabulary: 50}" +
                        requests),
              HasSubstr("its memory has"));
  EXPECT_THAT(
      complaint("onnx: {model: missing.onnx}\n      requests: {arrivals: closed, count: 1}"),
      HasSubstr("missing.onnx"));
}

// Batches of an ONNX model are of 1 to 3 samples, as requests come; each is read when it comes.
TEST(Serving, PutsSamplesTogether) {
  const std::string model =
      "onnx: {model: " TESSERA_ONNX_MODELS
      "/pp_ocr_v2_cls.onnx, dimensions: {x.2: 48, x.3: 48}, "
      "batch: x.0, optimize: extended, data_type: fp16}\n      batching: {samples: 300}\n";
  const auto with = [&](const std::string& requests) {
    return read(experiment_of("  tenants:\n    - " + model + "      requests: " + requests + "\n"));
  };
  const Experiment experiment =
      with("{arrivals: list, list: [{at: 0 us}, {at: 1 us, samples: 2}, {at: 1 us}]}");
  const trace::Summary expected = run_on(1, experiment);
  EXPECT_EQ(expected.services.at(0).samples, 4U);
  EXPECT_EQ(run_on(3, experiment).result_digest, expected.result_digest);
  EXPECT_LT(expected.services[0].latency.most,
            run_on(1, with("{arrivals: closed, count: 4}")).services[0].latency.p50 * 4);
  EXPECT_THAT(complaint(model + "      requests: {arrivals: fixed, count: 999}"),
              HasSubstr("more than 256"));
}

TEST(Serving, RefusesIterations) {
  EXPECT_THAT(complaint_of(experiment_of(two_tenants), {"run.iterations=2"}),
              HasSubstr("served once"));
}

}  // namespace
}  // namespace tessera::sim::serving_test
