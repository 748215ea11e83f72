// Models whose experts are spread over tiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_experts_test {
namespace {

using testing::complaint_of;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::run_on;

Files experiment_of(const std::string& network, const std::string& bandwidth,
                    const std::string& tenant) {
  return {
      {"lab/experiment.yaml",
       "name: experts\nmachine:\n  name: mesh\n  topology: {kind: mesh, rows: 2, columns: 4, "
       "bandwidth: " +
           bandwidth +
           ", latency: 10 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
           "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 500 kB}\n"
           "  network: {model: " +
           network +
           "}\n  compute: {model: roofline}\n"
           "run: {trace: none}\nworkload:\n  kind: serving\n  tenants:\n    - name: chat\n"
           "      language_model: {layers: 2, hidden: 64, heads: 4, sequence: 512, vocabulary: 64, "
           "biases: false, normalisation: rms_norm, positions: rotary, experts: {count: 8, top_k: "
           "2, ffn: 128}}\n" +
           tenant}};
}

// A step of one sequence on two tiles, of which the first is the host: it is told, and tells, over
// one link, and each of four all-to-alls takes a link's latency and half a token's two copies.
TEST(ServedExperts, ExchangeTokensInClosedForm) {
  const auto step_ps = [](const std::string& bandwidth) {
    const trace::Summary summary = run_on(
        1, experiment_of("analytical", bandwidth,
                         "      expert: 2\n      requests: {arrivals: list, list: [{at: 0 us, "
                         "prompt: 8, generate: 4}]}\n"));
    EXPECT_EQ(summary.status, "finished");
    return static_cast<std::int64_t>(summary.service_totals.empty()
                                         ? summary.services.at(0).between_tokens.most
                                         : summary.service_totals.at(0).between_tokens.most);
  };
  constexpr std::int64_t exchanges = 4;
  constexpr std::int64_t chunk = 64 * 2 * 2 / 2;
  constexpr std::int64_t message = 32;
  EXPECT_EQ(step_ps("32 GB/s") - step_ps("64 GB/s"), (exchanges * chunk + 2 * message) * 1000 / 64);
}

// What a sequence has in the cache is on one tile: two layers with 2 * 64 numbers of 2 B a token,
// at 64 GB/s. A step with one sequence waits for it as one with a sequence on each tile.
TEST(ServedExperts, ReadAllOfASequenceWhereItIs) {
  const auto step_ps = [](std::uint32_t expert, std::uint32_t sequences, std::uint32_t prompt) {
    const std::string count = std::to_string(sequences);
    return run_on(1, experiment_of("analytical", "4 GB/s",
                                   "      expert: " + std::to_string(expert) +
                                       "\n      requests: {arrivals: closed, clients: " + count +
                                       ", count: " + count + ", prompt: " + std::to_string(prompt) +
                                       ", generate: 2}\n"))
        .services.at(0)
        .between_tokens.most;
  };
  constexpr std::uint64_t token = 2 * 2 * 64 * 2;
  for (const std::uint32_t expert : {2U, 4U, 8U}) {
    for (const std::uint32_t sequences : {1U, expert}) {
      EXPECT_EQ(step_ps(expert, sequences, 144) - step_ps(expert, sequences, 16),
                128 * token * 1000 / 64)
          << expert << sequences;
    }
    EXPECT_EQ(step_ps(expert, expert + 1, 144) - step_ps(expert, expert + 1, 16),
              2 * 128 * token * 1000 / 64);
  }
}

// All of it leaves over one tile's links.
TEST(ServedExperts, HandOverASequenceFromWhereItIs) {
  const auto second_ps = [](const std::string& bandwidth, std::uint32_t prompt) {
    const trace::Summary summary = run_on(
        1, experiment_of("analytical", bandwidth,
                         "      expert: 2\n      replicas: 2\n      prefill: 1\n      requests: "
                         "{arrivals: list, list: [{at: 0 us, prompt: " +
                             std::to_string(prompt) + ", generate: 2}]}\n"));
    return static_cast<std::int64_t>(summary.service_totals.at(0).between_tokens.most);
  };
  const auto slower = [&](std::uint32_t prompt) {
    return second_ps("32 GB/s", prompt) - second_ps("64 GB/s", prompt);
  };
  constexpr std::int64_t token = 2 * 2 * 64 * 2;
  EXPECT_EQ(slower(144) - slower(16), 128 * token * 1000 / 64);
}

// Of two tiles with room for 128 tokens each there is none for a sequence of 144. The last token is
// not kept.
TEST(ServedExperts, RefuseWhatIsTooLongForATile) {
  const auto served = [](const std::string& generate) {
    return experiment_of(
        "packet", "4 GB/s",
        "      expert: 2\n      batching: {cache: 64 KiB, block: 16}\n      requests: {arrivals: "
        "closed, count: 1, prompt: 100, generate: " +
            generate + "}\n");
  };
  EXPECT_EQ(run_on(1, served("29")).services.at(0).served, 1U);
  EXPECT_THAT(complaint_of(served("30")),
              HasSubstr("a request of 130 tokens does not fit the cache of 65536 B "
                        "(it may hold 73728 B at a time, all on one of 2 NPUs)"));
}

// 16 experts' weights are too much for a tile; with the experts spread they fit.
TEST(ServedExperts, FitWhereOneTileIsTooSmall) {
  const std::string requests =
      "      requests: {arrivals: closed, clients: 6, count: 20, prompt: [4, 60], generate: [1, "
      "6]}\n";
  EXPECT_THAT(complaint_of(experiment_of("packet", "4 GB/s", requests)), HasSubstr("memory"));
  for (const std::string& tenant :
       {"      expert: 4\n" + requests, "      expert: 8\n      batching: {chunk: 64}\n" + requests,
        "      expert: 4\n      replicas: 2\n      prefill: 1\n      handover: layers\n" +
            requests}) {
    const Files files = experiment_of("packet", "4 GB/s", tenant);
    const trace::Summary summary = run_on(1, files);
    ASSERT_EQ(summary.status, "finished");
    std::uint64_t served = 0;
    for (const trace::Service& service : summary.services) {
      served += service.latency.count;
    }
    EXPECT_EQ(served, 20U);
    for (const int ranks : {2, 3, 4}) {
      EXPECT_EQ(run_on(ranks, files).result_digest, summary.result_digest) << ranks;
    }
  }
}

TEST(ServedExperts, AreRefusedWhereTheyCannotBeSpread) {
  const std::string requests =
      "      requests: {arrivals: closed, count: 2, prompt: 8, generate: 2}\n";
  const auto said = [&](const std::string& tenant) {
    return complaint_of(experiment_of("packet", "4 GB/s", tenant + requests));
  };
  EXPECT_THAT(said("      expert: 3\n"), HasSubstr("8 experts cannot be spread over 3 NPUs"));
  EXPECT_THAT(said("      expert: 2\n      tensor: 2\n"), HasSubstr("neither tensor nor pipeline"));
  const auto drafted = [&](const char* sequences) {
    return said(
        "      expert: 4\n      speculation: {tokens: 5, acceptance: 0.8}\n      batching: "
        "{sequences: " +
        std::string(sequences) + "}\n");
  };
  EXPECT_EQ(drafted("682"), "");
  EXPECT_THAT(drafted("683"), HasSubstr("more than 4096 tokens that come out of a step"));
  EXPECT_THAT(said("      expert: 2\n      batching: {sequences: 3000}\n"),
              HasSubstr("at most 1024 on an NPU"));
}

}  // namespace
}  // namespace tessera::sim::serving_experts_test
