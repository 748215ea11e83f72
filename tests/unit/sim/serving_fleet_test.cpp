// Classes of requests, and memories behind caches, in whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "files.hpp"
#include "fleet.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_fleet_test {
namespace {

using fleet::experiment_of;
using fleet::mesh;
using fleet::remote;
using fleet::with_pool;
using testing::complaint_of;
using ::testing::ElementsAre;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read;
using testing::run_on;

// Room for the prompts of both and not for what they generate: four blocks of the second one go out
// before the first token of the other, and come back when that is served.
const std::string two_requests =
    "      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, generate: 3}, {at: 0 us, "
    "prompt: 64, generate: 3}]}\n";
const std::string swapping =
    two_requests + "      batching: {cache: 64 KiB, block: 16, tier: {capacity: 32 KiB}}\n";

std::int64_t time_of(const std::string& machine, const std::string& steps = "walked") {
  const trace::Summary summary = run_on(1, experiment_of(machine, swapping, steps));
  EXPECT_EQ(summary.status, "finished");
  EXPECT_EQ(summary.services.at(0).again, 1U);
  EXPECT_EQ(summary.services.at(0).tokens, 6U);
  return summary.simulated_time_ps;
}

// 32 KiB each way: a latency and bytes by bandwidth, and a step that waits for them.
TEST(Tiers, TakeTheTimeOfRemoteMemory) {
  // 32768 B at 10 GB/s: 3.2768 us.
  const std::int64_t at_10 = time_of(mesh + remote("10 GB/s", "1 us"));
  EXPECT_EQ(time_of(mesh + remote("5 GB/s", "1 us")) - at_10, 2 * 3'276'800);
  EXPECT_EQ(time_of(mesh + remote("10 GB/s", "3 us")) - at_10, 2 * 2'000'000);
  // 32768 B at 1 PB/s: 33 ps, rounded up.
  const std::int64_t at_once = time_of(mesh + remote("1000 TB/s", "1 ns"));
  EXPECT_EQ(at_10 - at_once, 2 * (1'000'000 + 3'276'800 - 1'000 - 33));
  EXPECT_EQ(time_of(mesh + remote("10 GB/s", "1 us"), "whole"), at_10);
}

// A node that is a memory: what is asked goes one way and what is answered the other, each by the
// network's time of a message (docs/methods/network-analytical.md), of which one is of 32 B.
TEST(Tiers, TakeTheTimeOfMessagesToAMemory) {
  const std::int64_t at_once = time_of(with_pool + remote("1000 TB/s", "1 ns"));
  const std::int64_t message = 1'000'000 + 3'200;  // 32 B at 10 GB/s
  const std::int64_t data = 1'000'000 + 3'276'800;
  EXPECT_EQ(time_of(with_pool) - at_once, 2 * (message + data - 1'000 - 33));
}

std::string host(const std::string& bandwidth, const std::string& rest) {
  return "  host: {bandwidth: " + bandwidth + ", latency: 1 us" + rest + "}\n";
}

// A copy at the bandwidth of the link, or of the device's part of the host's memory, each way.
TEST(Tiers, TakeTheTimeOfCopiesToHosts) {
  const std::int64_t at_10 = time_of(mesh + remote("10 GB/s", "1 us"));
  EXPECT_EQ(time_of(mesh + host("10 GB/s", "")), at_10);
  EXPECT_EQ(time_of(mesh + host("10 GB/s", ""), "whole"), at_10);
  EXPECT_EQ(time_of(mesh + host("5 GB/s", "")), at_10 + 2 * 3'276'800);
  EXPECT_EQ(time_of(mesh + host("10 GB/s", ", devices: 4, memory_bandwidth: 40 GB/s")),
            at_10 + 2 * 3'276'800);
  // Where something else is behind, that is the tier, and a note says that the host is none.
  EXPECT_EQ(time_of(mesh + remote("10 GB/s", "1 us") + host("1 GB/s", "")), at_10);
  const auto notes = [](const std::string& machine) {
    return read(experiment_of(machine, swapping)).notes;
  };
  EXPECT_THAT(notes(mesh + host("10 GB/s", "")), IsEmpty());
  EXPECT_THAT(notes(mesh + remote("10 GB/s", "1 us") + host("1 GB/s", "")),
              ElementsAre(HasSubstr("machine.host has no effect")));
}

// Both ways of keeping what a sequence has computed are slower than to have room for it; here the
// memory is far, so that it is faster to compute again.
TEST(Tiers, AreNotAlwaysWorthIt) {
  const auto time_with = [](const std::string& tier) {
    return run_on(1, experiment_of(
                         mesh + remote("10 MB/s", "1 us"),
                         two_requests + "      batching: {cache: 64 KiB, block: 16" + tier + "}\n"))
        .simulated_time_ps;
  };
  EXPECT_GT(time_with(", tier: {capacity: 32 KiB}"), time_with(""));
  EXPECT_EQ(time_with(", tier: {capacity: 32 KiB, swap: false}"), time_with(""));
  EXPECT_EQ(time_with(", tier: {capacity: 16 KiB}"), time_with(""));  // two blocks: no room
}

const std::string busy =
    "      replicas: 2\n      tensor: 2\n      router: least-work\n"
    "      scaling: {requests: 8, start_up: 20 us, idle: 100 us}\n"
    "      batching: {cache: 48 KiB, block: 16, chunk: 64, order: priority, tier: {capacity: 64 "
    "KiB}}\n"
    "      requests: {arrivals: poisson, rate: 90000, count: 60, prompt: [4, 60], generate: [1, "
    "40], prefix: {tokens: 32, count: 4}}\n"
    "      classes: [{name: urgent, priority: -1, share: 1, target: {first_token: 200 us}}, {name: "
    "batch, share: 3}]\n";

// Everything at once: conservation is checked at the end of each run.
TEST(Tiers, AreTheSameOnRanks) {
  for (const char* const steps : {"walked", "whole"}) {
    const Files files = experiment_of(mesh + remote("20 GB/s", "2 us"), busy, steps);
    const trace::Summary one = run_on(1, files);
    ASSERT_EQ(one.status, "finished");
    EXPECT_GT(one.services.at(0).again + one.services.at(1).again, 0U);
    for (const int ranks : {2, 3, 4}) {
      EXPECT_EQ(run_on(ranks, files).result_digest, one.result_digest);
    }
  }
  const Files hosts = experiment_of(mesh + host("20 GB/s", ", devices: 4"), busy);
  const std::string of_hosts = run_on(1, hosts).result_digest;
  EXPECT_EQ(run_on(3, hosts).result_digest, of_hosts);
  const std::string alone = "      tensor: 2\n" + busy.substr(busy.find("      batching"));
  const Files pool = experiment_of(with_pool, alone);
  const std::string digest = run_on(1, pool).result_digest;
  EXPECT_EQ(run_on(2, pool).result_digest, digest);
}

TEST(Classes, AreToldOneByOne) {
  const trace::Summary summary = run_on(1, experiment_of(mesh + remote("20 GB/s", "2 us"), busy));
  ASSERT_EQ(summary.service_totals.size(), 3U);
  const trace::Service& all = summary.service_totals[0];
  const trace::Service& urgent = summary.service_totals[1];
  const trace::Service& batch = summary.service_totals[2];
  EXPECT_EQ(all.tenant, "chat");
  EXPECT_EQ(urgent.tenant, "chat [urgent]");
  EXPECT_EQ(batch.tenant, "chat [batch]");
  EXPECT_GT(urgent.served, 0U);
  EXPECT_EQ(urgent.served + batch.served, all.served);
  EXPECT_EQ(urgent.tokens + batch.tokens, all.tokens);
  EXPECT_EQ(urgent.again + batch.again, all.again);
  EXPECT_EQ(urgent.met + batch.met, all.met);
  EXPECT_EQ(batch.met, batch.served);  // without targets
  EXPECT_EQ(urgent.npus, 4U);
  double spent = 0;
  std::uint64_t arrived = 0;
  for (const trace::ServiceWindow& window : urgent.windows) {
    arrived += window.arrived;
    spent += (window.running + window.waiting) * static_cast<double>(urgent.window_ps);
  }
  EXPECT_EQ(arrived, urgent.served);
  // Little's law, of a class.
  const double latencies =
      static_cast<double>(urgent.latency.mean) * static_cast<double>(urgent.served);
  EXPECT_NEAR(spent, latencies, 1e-3 * latencies);
}

// More than can be served: who is urgent waits less, where batches go by priority.
TEST(Classes, AreServedByPriority) {
  const auto wait_of = [](const std::string& order, std::size_t number) {
    const std::string tenant = "      batching: {sequences: 4, order: " + order +
                               "}\n      requests: {arrivals: poisson, rate: 300000, count: 80, "
                               "prompt: [4, 60], generate: "
                               "[4, 20]}\n"
                               "      classes: [{name: urgent}, {name: batch, priority: 3}]\n";
    const trace::Summary summary = run_on(1, experiment_of(mesh, tenant));
    return summary.service_totals.at(number).first_token.mean;
  };
  EXPECT_LT(2 * wait_of("priority", 0), wait_of("priority", 1));
  EXPECT_LT(wait_of("priority", 0), wait_of("first-come", 0));
  EXPECT_GT(wait_of("priority", 1), wait_of("first-come", 1));
}

// Prompts apart from tokens, by priority too.
TEST(Classes, GoWithRequestsThatAreHandedOver) {
  const std::string tenant =
      "      replicas: 4\n      prefill: 2\n      batching: {chunk: 128, order: priority}\n"
      "      requests: {arrivals: poisson, rate: 30000, count: 30, prompt: [4, 300], generate: [1, "
      "5]}\n      classes: [{name: urgent}, {name: batch, priority: 3}]\n";
  const trace::Summary summary = run_on(1, experiment_of(mesh, tenant));
  ASSERT_EQ(summary.status, "finished");
  const trace::Service& urgent = summary.service_totals.at(1);
  const trace::Service& batch = summary.service_totals.at(2);
  EXPECT_EQ(urgent.served + batch.served, 30U);
  EXPECT_EQ(urgent.first_token.count, urgent.served);
  EXPECT_EQ(batch.first_token.count, batch.served);
}

// Beside other work: keys and values that are handed over, and totals of replicas and classes.
TEST(Fleets, AreServedBesideOtherWork) {
  const std::string model =
      "language_model: {layers: 2, hidden: 64, heads: 4, sequence: 512, vocabulary: 64}";
  const Files files{
      {"lab/experiment.yaml",
       "name: beside\nmachine:\n  name: tiles\n" + mesh +
           "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
           "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 2 MB}\n"
           "  network: {model: analytical}\n  compute: {model: roofline}\n"
           "run: {trace: none}\nworkload:\n  kind: tenants\n  tenants:\n"
           "    - name: left\n      tiles: 0-1\n      workload:\n        kind: serving\n"
           "        tenants:\n          - name: chat\n            " +
           model +
           "\n            replicas: 2\n            prefill: 1\n"
           "            classes: [{name: urgent}, {name: batch}]\n"
           "            requests: {arrivals: closed, clients: 2, count: 8, prompt: 40, generate: "
           "3}\n"
           "    - name: right\n      tiles: 2-3\n      workload:\n        kind: serving\n"
           "        tenants:\n          - name: chat\n            " +
           model +
           "\n            requests: {arrivals: closed, count: 3, prompt: 40, generate: 3}\n"}};
  const trace::Summary summary = run_on(1, files);
  ASSERT_EQ(summary.status, "finished");
  ASSERT_EQ(summary.service_totals.size(), 3U);
  EXPECT_EQ(summary.service_totals[0].tenant, "left/chat");
  EXPECT_EQ(summary.service_totals[0].served, 8U);
  EXPECT_EQ(summary.service_totals[1].tenant, "left/chat [urgent]");
  EXPECT_EQ(summary.service_totals[1].served + summary.service_totals[2].served, 8U);
  EXPECT_EQ(summary.services.back().served, 3U);
  EXPECT_EQ(run_on(3, files).result_digest, summary.result_digest);
}

// A burst, and much later a request by itself: replicas come for the burst, go again, and cost only
// while they are on.
TEST(Scaling, FollowsRequests) {
  const auto tenant = [](const std::string& scaling) {
    std::string list;
    for (int request = 0; request < 24; ++request) {
      list += "{at: 0 us, prompt: 60, generate: 20}, ";
    }
    return "      replicas: 4\n      router: least-work\n      price: 3\n" + scaling +
           "      batching: {cache: 128 KiB}\n      requests: {arrivals: list, list: [" + list +
           "{at: 20 ms, prompt: 60, generate: 20}]}\n";
  };
  const std::string rule = "      scaling: {requests: 6, start_up: 100 us, idle: 500 us}\n";
  const trace::Summary fixed = run_on(1, experiment_of(mesh, tenant("")));
  const trace::Summary scaled = run_on(1, experiment_of(mesh, tenant(rule)));
  const trace::Service& all = fixed.service_totals.at(0);
  const trace::Service& some = scaled.service_totals.at(0);
  EXPECT_EQ(some.served, 25U);
  const double end = static_cast<double>(scaled.simulated_time_ps) * 1e-12;
  EXPECT_NEAR(all.on_s, 4 * static_cast<double>(fixed.simulated_time_ps) * 1e-12, 1e-12);
  EXPECT_GT(some.on_s, end);  // the first one is on all the time
  EXPECT_LT(some.on_s, 2 * end);
  EXPECT_NEAR(scaled.services[0].on_s, end, 1e-12);
  double on = 0;
  double most = 0;
  for (const trace::Service& replica : scaled.services) {
    on += replica.on_s;
  }
  EXPECT_NEAR(on, some.on_s, 1e-12);
  // An NPU for an hour costs 3.
  ASSERT_TRUE(some.cost_a_million_tokens && all.cost_a_million_tokens);
  EXPECT_NEAR(*some.cost_a_million_tokens,
              3 * some.on_s / 3600 / static_cast<double>(some.tokens) * 1e6,
              1e-9 * *some.cost_a_million_tokens);
  EXPECT_LT(*some.cost_a_million_tokens, *all.cost_a_million_tokens);
  on = 0;
  for (const trace::ServiceWindow& window : some.windows) {
    on += window.replicas * static_cast<double>(some.window_ps) * 1e-12;
    most = std::max(most, window.replicas);
  }
  EXPECT_NEAR(on, some.on_s, 1e-6 * on + 1e-9);
  EXPECT_DOUBLE_EQ(most, 4);
  EXPECT_DOUBLE_EQ(all.windows.front().replicas, 4);
  // Requests of the burst went to the only replica that was there.
  EXPECT_EQ(scaled.services[0].served, 25U);
  for (const int ranks : {2, 4}) {
    EXPECT_EQ(run_on(ranks, experiment_of(mesh, tenant(rule))).result_digest, scaled.result_digest);
  }
  const trace::Summary whole = run_on(1, experiment_of(mesh, tenant(rule), "whole"));
  EXPECT_EQ(whole.simulated_time_ps, scaled.simulated_time_ps);
  EXPECT_DOUBLE_EQ(whole.service_totals.at(0).on_s, some.on_s);
}

// Under a load that lasts, new replicas take their part, and waits are shorter than with one.
TEST(Scaling, SharesOutWhatLasts) {
  const auto wait_with = [](const std::string& scaling, std::size_t& helped) {
    const trace::Summary summary = run_on(
        1,
        experiment_of(mesh, "      replicas: 4\n      router: round-robin\n" + scaling +
                                "      batching: {cache: 128 KiB, sequences: 2}\n      requests: "
                                "{arrivals: poisson, rate: 40000, count: 200, prompt: [4, 60], "
                                "generate: [4, 20]}\n"));
    EXPECT_EQ(summary.service_totals.at(0).served, 200U);
    helped = 0;
    for (const trace::Service& replica : summary.services) {
      helped += replica.served > 0 ? 1 : 0;
    }
    return summary.service_totals[0].first_token.mean;
  };
  std::size_t helped = 0;
  const auto one = wait_with("      scaling: {requests: 1000}\n", helped);
  EXPECT_EQ(helped, 1U);
  const auto several =
      wait_with("      scaling: {requests: 2, start_up: 50 us, idle: 1 ms}\n", helped);
  EXPECT_GT(helped, 1U);
  EXPECT_LT(several, one);
}

TEST(Fleets, GoOnFromCheckpoints) {
  for (const char* const steps : {"walked", "whole"}) {
    testing::expect_goes_on(read(experiment_of(mesh + remote("20 GB/s", "2 us"), busy, steps)),
                            std::string("tessera_fleet_") + steps);
  }
}

// 36 864 B of an adapter: 8 numbers for each of 1152 rows and columns, in two layers, two bytes
// each.
TEST(Adapters, AreLoadedFromRemoteMemory) {
  const auto time_with = [](const std::string& memory, const std::string& adapters) {
    const trace::Summary summary = run_on(
        1, experiment_of(mesh + memory,
                         "      adapters: {count: 3, rank: 8, loaded: " + adapters +
                             "}\n      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, "
                             "generate: 3, adapter: 1}, {at: 50 us, prompt: 64, generate: 3, "
                             "adapter: 2}, {at: 100 us, prompt: 64, generate: 3, adapter: 1}]}\n"));
    EXPECT_EQ(summary.services.at(0).served, 3U);
    return summary.services[0].first_token.mean * 3;
  };
  // 36 864 B at 10 GB/s: 3.6864 us. With room for one all of the three are loaded, else two.
  const auto one = time_with(remote("10 GB/s", "1 us"), "1");
  const auto two = time_with(remote("10 GB/s", "1 us"), "2");
  EXPECT_NEAR(static_cast<double>(one - two), 1'000'000 + 3'686'400, 3);
  const auto slow = time_with(remote("5 GB/s", "1 us"), "2");
  EXPECT_NEAR(static_cast<double>(slow - two), 2 * 3'686'400, 3);
}

// All are loaded and nothing is behind: they were there before the first request.
TEST(Adapters, ThatAreAllLoadedTakeNoTimeToCome) {
  const auto time_with = [](const std::string& memory) {
    return run_on(1, experiment_of(mesh + memory,
                                   "      adapters: {count: 3, rank: 8}\n" + two_requests))
        .simulated_time_ps;
  };
  // 36 864 B by each of the two requests, or once where both draw the same.
  const std::int64_t there = time_with("");
  const std::int64_t from_host = time_with(host("36864 GB/s", ""));
  EXPECT_GE(from_host - there, 1'000'001);
  EXPECT_LE(from_host - there, 2 * 1'000'001);
}

TEST(Adapters, AreTheSameOnRanks) {
  const std::string tenant =
      "      replicas: 2\n      tensor: 2\n      batching: {chunk: 64}\n"
      "      adapters: {count: 6, rank: 8, loaded: 3, share: 0.8}\n"
      "      requests: {arrivals: poisson, rate: 90000, count: 40, prompt: [4, 60], generate: [1, "
      "20]}\n";
  const Files files = experiment_of(mesh + remote("20 GB/s", "2 us"), tenant);
  const trace::Summary one = run_on(1, files);
  for (const int ranks : {2, 4}) {
    EXPECT_EQ(run_on(ranks, files).result_digest, one.result_digest);
  }
  const trace::Summary whole =
      run_on(1, experiment_of(mesh + remote("20 GB/s", "2 us"), tenant, "whole"));
  EXPECT_EQ(whole.simulated_time_ps, one.simulated_time_ps);
  testing::expect_goes_on(read(files), "tessera_fleet_adapters");
}

TEST(Fleets, SayWhatIsWrong) {
  const std::string requests =
      "      requests: {arrivals: closed, count: 1, prompt: 8, generate: 2}\n";
  const auto complaint = [&](const std::string& lines, const std::string& machine = mesh) {
    return complaint_of(experiment_of(machine, requests + lines));
  };
  EXPECT_THAT(complaint("      batching: {order: priority}\n"),
              HasSubstr("batching.order: the tenant has no 'classes' with priorities"));
  EXPECT_THAT(complaint("      scaling: {requests: 4}\n"),
              HasSubstr("scaling: is of several replicas"));
  EXPECT_THAT(complaint("      replicas: 2\n      scaling: {requests: 4, least: 3}\n"),
              HasSubstr("scaling.least: more than the 2 replicas"));
  EXPECT_THAT(complaint("      replicas: 2\n      prefill: 1\n      scaling: {requests: 4}\n"),
              HasSubstr("scaling: is of several replicas that generate"));
  EXPECT_THAT(complaint("      adapters: {count: 3, rank: 8, loaded: 2}\n"),
              HasSubstr("adapters: the machine has no memory behind all of its NPUs"));
  EXPECT_THAT(complaint("      classes: [{name: a}, {name: a}]\n"),
              HasSubstr("classes[1].name: two classes are called 'a'"));
  EXPECT_THAT(complaint("      classes: []\n"), HasSubstr("expected a list of 1 to 64 classes"));
  EXPECT_THAT(complaint("      batching: {tier: {capacity: 1 MB}}\n"),
              HasSubstr("batching.tier: the machine has no memory behind all of its NPUs"));
  EXPECT_THAT(
      complaint("      batching: {tier: {capacity: 1 kB}}\n", mesh + remote("1 GB/s", "1 us")),
      HasSubstr("batching.tier.capacity: a block of the cache takes 8192 B"));
  EXPECT_THAT(complaint("      batching: {tier: {swap: true}}\n", mesh + remote("1 GB/s", "1 us")),
              HasSubstr("batching.tier.capacity"));
  EXPECT_THAT(complaint("      batching: {tier: {capacity: 2 MB}}\n", with_pool),
              HasSubstr("tiers of caches take 2000000 B at pool"));
  EXPECT_THAT(complaint("      replicas: 2\n      batching: {tier: {capacity: 2 MB}}\n",
                        mesh + host("10 GB/s", ", devices: 2, memory: 3 MB")),
              HasSubstr("tiers of caches take 4000000 B at host 0"));
}

}  // namespace
}  // namespace tessera::sim::serving_fleet_test
