// How a service is laid over its machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/service_plan.hpp"

namespace tessera::explore::service_plan_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A token reads all weights, 200 kB at 64 GB/s, whoever else is in the step: more NPUs to a model
// halve that and add sums over 10 ns links.
std::string experiment(const std::string& more = "") {
  return "name: service\nmachine:\n"
         "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 64 GB/s, latency: 10 ns}\n"
         "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
         "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 4 MB}\n"
         "  network: {model: analytical}\n  compute: {model: roofline}\n"
         "workload:\n  kind: serving\n  steps: whole\n  tenants:\n    - name: chat\n"
         "      language_model: {layers: 2, hidden: 64, heads: 4, sequence: 256, vocabulary: 64}\n"
         "      batching: {sequences: 2, chunk: 16}\n"
         "      target: {latency: 300 us}\n" +
         more +
         "      requests: {arrivals: poisson, rate: 5000, count: 40, prompt: 8, generate: 16}\n";
}

ServicePlanRequest request_for(bool all = false, std::uint64_t devices = 0) {
  ServicePlanRequest request;
  request.capacity.experiment = "e.yaml";
  request.capacity.within = 0.1;
  request.all = all;
  request.devices = devices;
  return request;
}

ServicePlan plan_of(const std::string& text, bool all = false, std::uint64_t devices = 0) {
  const ServicePlanRequest request = request_for(all, devices);
  const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
  return plan_service(request, *alone, [&](const std::string&) { return text; });
}

TEST(ServicePlan, FindsWhatSearchingEachToItsEndFinds) {
  const ServicePlan fast = plan_of(experiment());
  const ServicePlan every = plan_of(experiment(), true);
  ASSERT_FALSE(every.found.rows.empty());
  EXPECT_EQ(fast.candidates, every.candidates);
  const double best = every.found.rows.front().rate;
  EXPECT_GT(best, 0);
  EXPECT_GE(fast.found.rows.front().rate * 1.1, best);
  EXPECT_LE(fast.found.rows.front().rate, every.found.rows.front().beyond);
  std::uint32_t fast_runs = 0;
  std::uint32_t all_runs = 0;
  for (const CapacityRow& row : fast.found.rows) {
    fast_runs += row.runs;
  }
  for (const CapacityRow& row : every.found.rows) {
    EXPECT_NE(row.status, "beaten");
    all_runs += row.runs;
  }
  EXPECT_LT(fast_runs, all_runs);
}

// While it went on, or after it was killed, it said "complete": true.
TEST(ServicePlan, SaysThatItHasNotEnded) {
  ServicePlanRequest request = request_for();
  request.folder = ::testing::TempDir() + "service_plan_that_is_killed";
  std::filesystem::remove_all(request.folder);
  request.capacity.on_note = [](const std::string& text) {
    if (text.find(" candidates, best rate") != std::string::npos) {
      throw InternalError("killed");
    }
  };
  const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
  const auto load = [](const std::string&) { return experiment(); };
  EXPECT_THROW(plan_service(request, *alone, load), InternalError);
  const std::string path = request.folder + "/plan.json";
  EXPECT_THAT(config::load_text_file(path), HasSubstr("\"complete\": false"));
  request.capacity.on_note = nullptr;
  EXPECT_TRUE(plan_service(request, *alone, load).found.complete);
  EXPECT_THAT(config::load_text_file(path), HasSubstr("\"complete\": true"));
}

TEST(ServicePlan, UsesAllNpusOrAsManyAsItMay) {
  const ServicePlan all = plan_of(experiment());
  EXPECT_THAT(all.best_settings, Contains(HasSubstr("workload.tenants.0.replicas=")));
  EXPECT_THAT(all.found.rows.front().values, ::testing::SizeIs(5));
  const ServicePlan one = plan_of(experiment(), false, 1);
  EXPECT_THAT(one.best_settings, Contains("workload.tenants.0.tensor=1"));
  EXPECT_THAT(one.best_settings, Contains("workload.tenants.0.replicas=1"));
  EXPECT_LT(one.found.rows.front().rate, all.found.rows.front().rate);
}

TEST(ServicePlan, IsNoWorseThanTheExperimentsOwn) {
  // Three replicas, which are no power of two.
  const ServicePlan plan = plan_of(experiment("      replicas: 3\n"), true);
  const auto own = std::find_if(plan.found.rows.begin(), plan.found.rows.end(),
                                [](const CapacityRow& row) { return row.values[2] == "3"; });
  ASSERT_NE(own, plan.found.rows.end());
  EXPECT_EQ(own->values, (std::vector<std::string>{"1", "1", "3", "0", "16"}));
  EXPECT_EQ(own->status, "met");
  EXPECT_EQ(plan.candidates, plan_of(experiment()).candidates);  // its own uses one NPU
  // One that may not be used is left out.
  EXPECT_EQ(plan_of(experiment("      replicas: 3\n"), true, 2).found.rows.front().services[0].npus,
            2U);
}

// No target is missed: what is searched is the rate that is kept up.
TEST(ServicePlan, RanksLayoutsByTheRateThatTheyKeepUp) {
  std::string text = experiment();
  text.replace(text.find("300 us"), 6, "1 s");
  const ServicePlan fast = plan_of(text);
  const ServicePlan every = plan_of(text, true);
  const CapacityRow& best = every.found.rows.front();
  EXPECT_EQ(best.status, "met");
  EXPECT_GT(best.beyond, best.rate);
  EXPECT_GE(fast.found.rows.front().rate * 1.1, best.rate);
  EXPECT_THAT(fast.best_yaml, HasSubstr("# Meets its targets up to "));
  for (std::size_t row = 1; row < fast.found.rows.size(); ++row) {
    EXPECT_FALSE(is_better(fast.found.rows[row], fast.found.rows[row - 1]));
  }
}

TEST(ServicePlan, IsTheSameOnAnyNumberOfRanks) {
  const ServicePlan expected = plan_of(experiment());
  const ServicePlanRequest request = request_for();
  for (const int ranks : {2, 3}) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      const ServicePlan plan =
          plan_service(request, communicator, [](const std::string&) { return experiment(); });
      EXPECT_EQ(to_json(plan.found), to_json(expected.found));
      EXPECT_EQ(plan.best_settings, expected.best_settings);
    });
  }
}

TEST(ServicePlan, StopsWithWhatItHas) {
  ServicePlanRequest request = request_for();
  std::uint32_t notes = 0;
  request.capacity.on_note = [&](const std::string&) { ++notes; };
  request.capacity.stop_requested = [&] { return notes == 2; };
  const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
  const ServicePlan plan =
      plan_service(request, *alone, [](const std::string&) { return experiment(); });
  EXPECT_FALSE(plan.found.complete);
  EXPECT_EQ(plan.found.rows.size(), 3U);  // one, and then two
}

TEST(ServicePlan, KnowsServices) {
  const auto is_planned_here = [](const std::string& text) {
    return is_service("e.yaml", {}, [&](const std::string&) { return text; });
  };
  EXPECT_TRUE(is_planned_here(experiment()));
  EXPECT_TRUE(is_planned_here("workload: {kind: serving, tenants: [{name: a}]}\n"));
  EXPECT_TRUE(
      is_planned_here("workload: {kind: tenants, tenants: [{workload: {}}, {target: {}}]}\n"));
  EXPECT_FALSE(is_planned_here("workload: {kind: tenants, tenants: [{workload: {}}]}\n"));
  EXPECT_FALSE(is_planned_here("workload: {kind: transformer}\n"));
}

TEST(ServicePlan, RefusesWhatItCannotPlan) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      plan_of(text);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing is refused";
  };
  EXPECT_THAT(message(experiment("      npus: [0]\n")), HasSubstr("NPUs are what is planned"));
  const std::string one = experiment();
  const std::size_t tenant = one.find("    - name: chat");
  std::string second = one.substr(tenant);
  second.replace(second.find("chat"), 4, "talk");
  EXPECT_THAT(message(one + second), HasSubstr("one tenant, and there are 2"));
  std::string timeless = one;
  const std::string target = "      target: {latency: 300 us}\n";
  timeless.erase(timeless.find(target), target.size());
  EXPECT_THAT(message(timeless), HasSubstr("has a 'target' that could be met"));
}

}  // namespace
}  // namespace tessera::explore::service_plan_test
