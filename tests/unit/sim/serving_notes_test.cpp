// What runs of served models say of what bends their results, and where there is no figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_notes_test {
namespace {

using ::testing::Contains;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_on;

const std::string two_tiles =
    "  topology:\n    kind: graph\n    nodes:\n      - {name: xpu, count: 2}\n"
    "      - {name: pool, kind: memory, capacity: 1 MB}\n    links:\n"
    "      - {from: xpu, to: pool, bandwidth: 10 GB/s, latency: 1 us}\n"
    "      - {from: \"xpu[0]\", to: \"xpu[1]\", bandwidth: 10 GB/s, latency: 1 us}\n";
const std::string four_tiles =
    "  topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n";

std::string machine_of(const std::string& topology) {
  return "name: notes\nmachine:\n" + topology +
         "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
         "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 2 MB}\n"
         "  network: {model: analytical}\n  compute: {model: roofline}\n";
}

std::string tenant(const std::string& name, const std::string& keys) {
  return "    - name: " + name +
         "\n      language_model: {layers: 2, hidden: 64, heads: 4, sequence: 512, vocabulary: "
         "64}\n" +
         keys;
}

trace::Summary run_of(const std::string& machine, const std::string& tenants) {
  return run_on(1, Files{{"lab/experiment.yaml",
                          machine + "run: {trace: none}\nworkload:\n  kind: serving\n  tenants:\n" +
                              tenants}});
}

const std::string requests =
    "      requests: {arrivals: poisson, rate: 20000, count: 10, prompt: [8, 100], generate: [2, "
    "5]}\n";
const std::string coherence = "  coherence: {line: 64 B, device_latency: 500 us}\n";

// It had been read without a word, also where a tier is behind nodes of kind memory.
TEST(Coherence, IsNotedWhereNothingGoesByLines) {
  const std::string with_tier =
      tenant("chat", requests + "      batching: {cache: 100 KiB, tier: {capacity: 512 KiB}}\n");
  const std::string machine = machine_of(two_tiles);
  const trace::Summary without = run_of(machine, with_tier);
  const trace::Summary with = run_of(machine + coherence, with_tier);
  EXPECT_EQ(with.result_digest, without.result_digest);
  EXPECT_THAT(with.notes, Contains(HasSubstr("machine.coherence has no effect")));
  EXPECT_THAT(without.notes, Not(Contains(HasSubstr("coherence"))));
  const auto plan_of = [&](const std::string& text) {
    return run_on(
        1,
        Files{{"lab/experiment.yaml",
               text + "run: {trace: none}\nworkload: {kind: transformer, layers: 2, hidden: 32, "
                      "heads: 4, sequence: 64, batch: 2, vocabulary: 64}\nstrategy: {data: 2}\n"}});
  };
  const trace::Summary plan = plan_of(machine + coherence);
  EXPECT_EQ(plan.result_digest, plan_of(machine).result_digest);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("machine.coherence has no effect")));
}

TEST(ServedNpus, SayWhatIsSharedAndIdle) {
  const std::string priced = "      price: 3\n" + requests;
  const trace::Summary both =
      run_of(machine_of(four_tiles), tenant("a", "      replicas: 2\n" + priced) +
                                         tenant("b", "      tensor: 2\n" + priced));
  EXPECT_THAT(both.notes, Contains("a and b share 2 tiles: each model's cost of a million tokens "
                                   "counts its share of the time in which these have work"));
  EXPECT_THAT(both.notes, Contains(HasSubstr("2 of 4 tiles are idle")));
  const trace::Summary apart = run_of(
      machine_of(four_tiles), tenant("a", "      replicas: 2\n" + priced) +
                                  tenant("b", "      tensor: 2\n      npus: [2, 3]\n" + priced));
  EXPECT_THAT(apart.notes, Not(Contains(HasSubstr("a million tokens"))));
  EXPECT_THAT(apart.notes, Not(Contains(HasSubstr("tiles are idle"))));
}

// It had been the whole of the tiles for each of them.
TEST(ServiceCost, OfModelsThatShareTilesIsThatOfTheTiles) {
  const std::string priced = "      price: 3\n" + requests;
  const auto paid = [](const trace::Summary& summary) {
    double sum = 0;
    for (const trace::Service& service : summary.services) {
      sum += service.cost_a_million_tokens.value() * static_cast<double>(service.tokens) / 1e6;
    }
    return sum * 3600 / (SimTime::from_ps(summary.simulated_time_ps).seconds() * 3);
  };
  const std::string a = tenant("a", "      replicas: 2\n" + priced);
  const trace::Summary both =
      run_of(machine_of(four_tiles), a + tenant("b", "      tensor: 2\n" + priced));
  EXPECT_NEAR(paid(both), 2, 1e-9);
  const trace::Summary partly = run_of(
      machine_of(four_tiles), a + tenant("b", "      tensor: 2\n      npus: [1, 2]\n" + priced));
  EXPECT_NEAR(paid(partly), 3, 1e-9);
  // The same tokens one after the other: steps of the larger model take longer.
  const auto at = [](const std::string& time) {
    return "      price: 3\n      requests: {arrivals: list, list: [{at: " + time +
           ", prompt: 64, generate: 20}]}\n";
  };
  const std::string small =
      "    - name: small\n      language_model: {layers: 1, hidden: 64, heads: 4, sequence: 512, "
      "vocabulary: 64}\n";
  const trace::Summary unlike =
      run_of(machine_of(four_tiles), tenant("large", at("0 ms")) + small + at("100 ms"));
  EXPECT_NEAR(paid(unlike), 1, 1e-9);
  EXPECT_GT(*unlike.services.at(0).cost_a_million_tokens,
            1.3 * *unlike.services.at(1).cost_a_million_tokens);
}

TEST(ServiceCost, IsNoneWhereThereIsNone) {
  const std::string keys =
      "      replicas: 4\n      price: 3\n      classes: [{name: hi}, {name: lo}]\n"
      "      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, generate: 3}]}\n";
  const trace::Summary summary = run_of(machine_of(four_tiles), tenant("chat", keys));
  EXPECT_TRUE(summary.services.at(0).cost_a_million_tokens);
  EXPECT_FALSE(summary.services.at(1).cost_a_million_tokens);       // without requests
  EXPECT_TRUE(summary.service_totals.at(0).cost_a_million_tokens);  // all
  EXPECT_FALSE(summary.service_totals.at(1).cost_a_million_tokens);
  const std::string text = trace::to_table(summary);
  EXPECT_THAT(text, Not(HasSubstr("samples/s")));
  EXPECT_THAT(trace::to_json(summary), HasSubstr("\"cost_a_million_tokens\": null"));
}

// The replica that computes prompts alone had met the targets of those requests only that end
// there.
TEST(PrefillReplicas, MeetTheTargetOfTheFirstToken) {
  const std::string keys =
      "      replicas: 2\n      prefill: 1\n      target: {first_token: 1 s, between_tokens: 1 "
      "s}\n";
  const trace::Summary good = run_of(machine_of(four_tiles), tenant("chat", keys + requests));
  EXPECT_EQ(good.services.at(0).served, 10U);
  EXPECT_EQ(good.services.at(0).met, 10U);
  EXPECT_EQ(good.service_totals.at(0).met, 10U);
  const std::string tight =
      "      replicas: 2\n      prefill: 1\n      target: {first_token: 1 ns}\n";
  EXPECT_EQ(run_of(machine_of(four_tiles), tenant("chat", tight + requests)).services.at(0).met,
            0U);
}

}  // namespace
}  // namespace tessera::sim::serving_notes_test
