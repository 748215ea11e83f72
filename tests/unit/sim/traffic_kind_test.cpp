// The kind of work `traffic`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/network/traffic/traffic.hpp"
#include "tessera/sim/cuts/weights.hpp"

namespace tessera::sim::traffic_kind_test {
namespace {

using testing::complaint_of;
using ::testing::Contains;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::run_on;

Files experiment_of(const std::string& workload, const std::string& network = "packet",
                    const std::string& shape = "rows: 4, columns: 4") {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: mesh, " +
               shape +
               ", bandwidth: 32 GB/s, latency: 4 ns}\n"
               "  network: {model: " +
               network +
               "}\n"
               "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
               "workload: " +
               workload + "run: {trace: none, partition: stripes}\n"}};
}

const std::string uniform =
    "{kind: traffic, pattern: uniform, process: on-off, rate: 0.3, message: 2, cycles: 1500}\n";

double value_of(const trace::Measured& measured, const std::string& name) {
  const auto found = std::find_if(measured.measures.begin(), measured.measures.end(),
                                  [&](const trace::Measure& one) { return one.name == name; });
  EXPECT_NE(found, measured.measures.end()) << name;
  return std::visit([](auto value) { return static_cast<double>(value); }, found->value);
}

// 32 B take 1 ns, the link 4 ns, and nobody waits.
TEST(TrafficKind, MessagesTakeWhatTheNetworkSays) {
  const trace::Summary summary =
      run_on(1, experiment_of("{kind: traffic, pattern: bit-complement, rate: 0.5, cycles: 1000}\n",
                              "analytical", "rows: 1, columns: 2"));
  ASSERT_EQ(summary.measured.size(), 1U);
  for (const char* name : {"least", "mean", "p50", "p95", "p99", "most"}) {
    EXPECT_EQ(value_of(summary.measured[0], "latency_" + std::string(name) + "_ps"), 5000) << name;
  }
  EXPECT_EQ(value_of(summary.measured[0], "messages_delivered"), summary.messages);
  EXPECT_NEAR(value_of(summary.measured[0], "sent_rate"), 0.5, 0.05);
  EXPECT_EQ(value_of(summary.measured[0], "delivered_bytes") / 32, summary.messages);
  EXPECT_EQ(summary.message_bytes, 32 * summary.messages);
  // Those sent in the last five cycles come too late to count.
  const double late =
      value_of(summary.measured[0], "sent_rate") - value_of(summary.measured[0], "accepted_rate");
  EXPECT_GT(late, 0);
  EXPECT_LE(late, 5.0 / 1000);
}

// Each node's own stream, as TrafficSource of `tessera traffic` draws it.
TEST(TrafficKind, SendsWhatTheCommandSends) {
  const trace::Summary summary = run_on(1, experiment_of(uniform));
  config::Diagnostics diagnostics;
  config::Section section(config::parse("t.yaml", "{}", diagnostics), "", diagnostics);
  const auto pattern = network::traffic_patterns().at("uniform")(section, {16, 4, 4});
  const auto process = network::injection_processes().at("on-off")(section, 0.15);
  const network::TrafficStream stream{*pattern, *process, 1};
  std::uint64_t messages = 0;
  for (std::uint32_t node = 0; node < 16; ++node) {
    network::InjectionState state;
    std::uint64_t from = 0;
    for (;;) {
      from = stream.next(EntityId(node), node, state, from).cycle + 1;
      if (from > 1500) {
        break;
      }
      ++messages;
    }
  }
  EXPECT_EQ(value_of(summary.measured.at(0), "messages_sent"), messages);
}

TEST(TrafficKind, IsTheSameOnAnyRanksUnderAnyPolicy) {
  for (const std::string network : {"packet", "flit", "flow", "analytical"}) {
    for (const std::string rate : {"0.3", "0.004"}) {
      const Files files = experiment_of(uniform, network);
      const std::string offered = "workload.rate=" + rate;
      const trace::Summary one = run_on(1, read(files, {offered}));
      for (const std::string policy : {"promise", "window", "null-message"}) {
        for (int ranks = 2; ranks <= 4; ++ranks) {
          const trace::Summary other =
              run_on(ranks, read(files, {offered, "run.synchronization=" + policy}));
          EXPECT_EQ(other.result_digest, one.result_digest) << network << policy << ranks;
          EXPECT_EQ(value_of(other.measured.at(0), "latency_p99_ps"),
                    value_of(one.measured.at(0), "latency_p99_ps"));
        }
      }
      const trace::Summary drawn_anew = run_on(1, read(files, {offered, "workload.seed=2"}));
      EXPECT_NE(drawn_anew.result_digest, one.result_digest) << network;
    }
  }
}

TEST(TrafficKind, PredictionIsWhatARunHandles) {
  for (const std::string network : {"packet", "analytical"}) {
    const Experiment experiment = read(experiment_of(uniform, network));
    const std::vector<std::uint64_t> events = predicted_events(experiment);
    EXPECT_EQ(std::accumulate(events.begin(), events.end(), std::uint64_t{0}),
              run_on(1, experiment).events)
        << network;
  }
}

// The link in the middle is offered four times what it carries, so that three of four messages wait
// when the last is sent; at a fifth of that none does.
TEST(TrafficKind, PredictedMemoryHasWhatWaits) {
  const auto bytes_at = [](const std::string& rate) {
    const Forecast found =
        forecast(read(experiment_of("{kind: traffic, pattern: bit-complement, rate: " + rate +
                                        ", cycles: 100000}\n",
                                    "packet", "rows: 1, columns: 8")),
                 1);
    return static_cast<double>(found.largest_bytes - found.shared_bytes);
  };
  EXPECT_NEAR(bytes_at("1") - bytes_at("0.2"), 0.75 * 8 * 100000 * 64, 2e6);
}

TEST(TrafficKind, GoesOnFromCheckpoints) {
  for (const std::string network : {"packet", "flit"}) {
    testing::expect_goes_on(read(experiment_of(uniform, network)), "traffic_kind_" + network);
  }
}

std::string tenants_of(const std::string& tiles, const std::string& pattern,
                       const std::string& start) {
  return "\n"
         "  kind: tenants\n"
         "  tenants:\n"
         "  - name: sums\n"
         "    tiles: [[0, 0, 4, 2]]\n"
         "    workload: {kind: collective, collective: all-reduce, size: 64 kB}\n"
         "  - name: background\n"
         "    tiles: " +
         tiles + "\n    start: " + start + "\n    workload: {kind: traffic, pattern: " + pattern +
         ", rate: 0.2, message: 4, cycles: 3000}\n";
}

TEST(TrafficKind, IsATenantBesideOthers) {
  const std::string workload = tenants_of("[[0, 2, 4, 2]]", "neighbour", "2 us");
  const trace::Summary one = run_on(1, experiment_of(workload));
  ASSERT_EQ(one.measured.size(), 1U);
  EXPECT_EQ(one.measured[0].tenant, "background");
  ASSERT_EQ(one.tenants.size(), 2U);
  EXPECT_GE(one.tenants[1].end_ps, 2'000'000);
  EXPECT_LT(one.tenants[1].end_ps, 5'200'000);
  for (int ranks = 2; ranks <= 4; ++ranks) {
    EXPECT_EQ(run_on(ranks, experiment_of(workload)).result_digest, one.result_digest) << ranks;
  }
  testing::expect_goes_on(read(experiment_of(workload)), "traffic_kind_tenants");
}

// All-reduce between the outer columns of a mesh, over links that the inner ones use as well.
TEST(TrafficKind, DelaysOthersWhoseLinksItShares) {
  const auto time_beside = [](const std::string& rate) {
    const trace::Summary summary = run_on(
        1, experiment_of("\n"
                         "  kind: tenants\n"
                         "  tenants:\n"
                         "  - name: sums\n"
                         "    tiles: [[0, 0, 4, 1], [0, 3, 4, 1]]\n"
                         "    workload: {kind: collective, collective: all-reduce, size: 64 kB}\n"
                         "  - name: background\n"
                         "    tiles: [[0, 1, 4, 2]]\n"
                         "    workload: {kind: traffic, pattern: bit-complement, message: 4, "
                         "cycles: 20000, rate: " +
                         rate + "}\n"));
    return summary.tenants.at(0).iteration_time_ps;
  };
  EXPECT_GT(time_beside("0.4"), time_beside("0.0001"));
}

TEST(TrafficKind, RectanglesOfAGridAreGrids) {
  const auto complaint = [](const std::string& tiles) {
    return complaint_of(experiment_of(tenants_of(tiles, "tornado", "0 ps")));
  };
  EXPECT_EQ(complaint("[[0, 2, 4, 2]]"), "");
  EXPECT_EQ(complaint("[[1, 2, 3, 1]]"), "");
  EXPECT_THAT(complaint("[[0, 2], [0, 3], [2, 2], [2, 3]]"), HasSubstr("meshes and tori"));
  EXPECT_THAT(complaint("[[0, 3], [0, 2], [1, 2], [1, 3]]"), HasSubstr("meshes and tori"));
}

TEST(TrafficKind, SaysWhatHasNoEffect) {
  const Experiment experiment = read(experiment_of(
      "{kind: traffic, pattern: uniform, spots: [1], burst: 9, rate: 0.1, cycles: 100}\n"));
  EXPECT_THAT(experiment.notes, Contains(HasSubstr("workload.spots has no effect with uniform")));
  EXPECT_THAT(experiment.notes, Contains(HasSubstr("workload.burst has no effect with bernoulli")));
}

TEST(TrafficKind, IsSentOnce) {
  EXPECT_THAT(complaint_of(experiment_of(uniform), {"run.iterations=2"}), HasSubstr("sent once"));
}

}  // namespace
}  // namespace tessera::sim::traffic_kind_test
