#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"
#include "tenants.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/serving/serving.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::tenants_test {
namespace {

using tenancy::alone;
using tenancy::as_graphs;
using tenancy::collective;
using tenancy::inference;
using tenancy::Machine;
using tenancy::machine_for;
using tenancy::npu_keys;
using tenancy::operators;
using tenancy::replaced;
using tenancy::run_it;
using tenancy::serving;
using tenancy::tenant;
using tenancy::together;
using tenancy::transformer;
using tenancy::vertices;
using tenancy::Work;
using testing::complaint_of;
using testing::Files;
using testing::read;

class Tenants : public ::testing::TestWithParam<Work> {};

TEST_P(Tenants, OneThatHasAllTilesIsTheWorkloadByItself) {
  const Machine machine = machine_for(GetParam(), 2);
  const trace::Summary expected = run_it(alone(machine, GetParam()));
  const trace::Summary summary =
      run_it(together(machine, {tenant("only", "all", GetParam().lines)}));
  ASSERT_EQ(expected.status, "finished");
  EXPECT_EQ(summary.result_digest, expected.result_digest);
  EXPECT_EQ(summary.simulated_time_ps, expected.simulated_time_ps);
  EXPECT_EQ(summary.events, expected.events);
  EXPECT_DOUBLE_EQ(summary.peak_flops_per_s, expected.peak_flops_per_s);
  ASSERT_EQ(summary.tenants.size(), 1U);
  EXPECT_EQ(summary.tenants[0].end_ps, expected.simulated_time_ps);
  EXPECT_EQ(summary.tenants[0].iteration_time_ps, expected.iteration_time_ps);
  EXPECT_DOUBLE_EQ(summary.tenants[0].throughput_samples_per_s, expected.throughput_samples_per_s);
  EXPECT_NEAR(summary.tenants[0].achieved_flops_per_s, expected.achieved_flops_per_s,
              1e-9 * expected.achieved_flops_per_s);
}

TEST_P(Tenants, OneHasTheFiguresOfAnIterationOfTheWorkloadByItself) {
  const Machine machine = machine_for(GetParam(), 2);
  const auto thrice = [&](Files files) {
    std::string& text = files.at("lab/experiment.yaml");
    text = replaced(text, "trace: none", GetParam().repeats ? "iterations: 3" : "trace: none");
    text = replaced(text, "network:", "power: {idle: 100, compute: 200, link: 10}\n  network:");
    return files;
  };
  const trace::Summary expected = run_it(thrice(alone(machine, GetParam())));
  for (const std::string start : {"", "start: 3 us\n"}) {
    const trace::Summary summary =
        run_it(thrice(together(machine, {tenant("only", "all", GetParam().lines + start)})));
    ASSERT_EQ(summary.status, "finished");
    EXPECT_EQ(summary.iterations, expected.iterations);
    EXPECT_EQ(summary.iteration_time_ps, expected.iteration_time_ps);
    EXPECT_EQ(summary.ideal_time_ps, expected.ideal_time_ps);
    EXPECT_EQ(summary.samples_per_iteration, expected.samples_per_iteration);
    EXPECT_EQ(summary.tokens_per_iteration, expected.tokens_per_iteration);
    EXPECT_DOUBLE_EQ(summary.flops_per_iteration, expected.flops_per_iteration);
    EXPECT_DOUBLE_EQ(summary.executed_flops_per_iteration, expected.executed_flops_per_iteration);
    EXPECT_DOUBLE_EQ(summary.throughput_samples_per_s, expected.throughput_samples_per_s);
    EXPECT_DOUBLE_EQ(summary.steady_throughput_samples_per_s,
                     expected.steady_throughput_samples_per_s);
    EXPECT_DOUBLE_EQ(summary.achieved_flops_per_s, expected.achieved_flops_per_s);
    EXPECT_NEAR(summary.energy_j_per_iteration, expected.energy_j_per_iteration,
                1e-9 * expected.energy_j_per_iteration);
  }
}

// Routes along rows first stay inside a rectangle.
TEST_P(Tenants, OneInACornerIsTheWorkloadOnAMachineOfThatSize) {
  const trace::Summary expected = run_it(alone(machine_for(GetParam(), 2), GetParam()));
  const trace::Summary summary =
      run_it(together(machine_for(GetParam(), 4), {tenant("low", "8-15", GetParam().lines)}));
  EXPECT_EQ(summary.tenants.at(0).end_ps, expected.simulated_time_ps);
  EXPECT_EQ(summary.events, expected.events);
  EXPECT_EQ(summary.messages, expected.messages);
}

TEST_P(Tenants, ALaterStartIsTheSameLater) {
  const trace::Summary expected = run_it(alone(machine_for(GetParam(), 2), GetParam()));
  const trace::Summary summary = run_it(together(
      machine_for(GetParam(), 2), {tenant("late", "all", GetParam().lines + "start: 3 us\n")}));
  EXPECT_EQ(summary.tenants.at(0).start_ps, 3'000'000);
  EXPECT_EQ(summary.tenants[0].end_ps, 3'000'000 + expected.simulated_time_ps);
  EXPECT_EQ(summary.tenants[0].iteration_time_ps, expected.iteration_time_ps);
}

// Nothing is shared: neither links nor memories.
TEST_P(Tenants, OnesThatShareNothingDoNotDisturbEachOther) {
  const trace::Summary expected = run_it(alone(machine_for(GetParam(), 2), GetParam()));
  for (const Work& other : {transformer, vertices}) {
    const trace::Summary summary =
        run_it(together(machine_for(GetParam(), 4), {tenant("other", "[[0, 0, 2, 4]]", other.lines),
                                                     tenant("this", "8-15", GetParam().lines)}));
    ASSERT_EQ(summary.status, "finished");
    ASSERT_EQ(summary.tenants.size(), 2U);
    EXPECT_EQ(summary.tenants[1].end_ps, expected.simulated_time_ps) << other.name;
    EXPECT_EQ(summary.simulated_time_ps,
              std::max(summary.tenants[0].end_ps, summary.tenants[1].end_ps));
  }
}

TEST_P(Tenants, ResultsDoNotDependOnTheNumberOfRanks) {
  Machine machine = machine_for(GetParam(), 4);
  machine.dram = "edge, edges: [west]";
  const std::string twice = GetParam().repeats ? "iterations: 2\n" : "";
  const Files files =
      together(machine, {tenant("a", "0-7", GetParam().lines + twice),
                         tenant("b", "[15, 14, 13, 12, 8, 9, 10, 11]", transformer.lines)});
  const trace::Summary expected = run_it(files);
  ASSERT_EQ(expected.status, "finished");
  for (int ranks = 2; ranks <= 4; ++ranks) {
    const trace::Summary summary = run_it(files, ranks);
    EXPECT_EQ(summary.result_digest, expected.result_digest) << ranks;
    EXPECT_EQ(summary.events, expected.events) << ranks;
    EXPECT_EQ(summary.tenants[0].iteration_time_ps, expected.tenants[0].iteration_time_ps);
    EXPECT_EQ(summary.tenants[1].end_ps, expected.tenants[1].end_ps);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tenants,
                         ::testing::Values(transformer, inference, as_graphs, collective, vertices,
                                           operators, serving),
                         [](const auto& parameter) {
                           std::string name = parameter.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(TenantsTogether, WaitForAMemoryThatTheyShare) {
  Machine machine;
  machine.dram = "edge, edges: [west]";
  machine.compute = npu_keys;
  // Interleaved columns: both go to the memories in the west, over the same links.
  const std::string first = tenant("first", "[[0, 0, 4, 1], [0, 2, 4, 1]]", operators.lines);
  const std::string second = tenant("second", "[[0, 1, 4, 1], [0, 3, 4, 1]]", operators.lines);
  const std::int64_t alone_first = run_it(together(machine, {first})).tenants[0].end_ps;
  const std::int64_t alone_second = run_it(together(machine, {second})).tenants[0].end_ps;
  const trace::Summary both = run_it(together(machine, {first, second}));
  EXPECT_GT(both.tenants[0].end_ps, alone_first);
  EXPECT_GT(both.tenants[1].end_ps, alone_second);
}

TEST(TenantsTogether, AreOfDifferentComputeModels) {
  const std::string types =
      "  types: {core: {peak: {fp16: 1 TFLOP/s}, compute: {model: " + npu_keys +
      "}, nodes: [0, 1, 2, 3, 4, 5, 6, 7]}}\n";
  Machine machine;
  Files files = together(machine, {tenant("chip", "core", operators.lines),
                                   tenant("steps", "8-15", transformer.lines)});
  std::string& text = files.at("lab/experiment.yaml");
  text.insert(text.find("workload:"), types);
  const trace::Summary summary = run_it(files);
  EXPECT_EQ(summary.tenants.at(0).tiles, 8U);
  EXPECT_EQ(summary.tenants[0].end_ps,
            run_it(alone(machine_for(operators, 2), operators)).simulated_time_ps);
  EXPECT_EQ(summary.tenants[1].end_ps, run_it(alone(Machine{2}, transformer)).simulated_time_ps);

  const std::string wrong = replaced(text, "tiles: core", "tiles: 0-3");
  EXPECT_EQ(complaint_of({{"lab/experiment.yaml", replaced(wrong, "8-15", "4-15")}}), "");
  EXPECT_THAT(complaint_of({{"lab/experiment.yaml", replaced(wrong, "tiles: 0-3", "tiles: 7-8")}}),
              ::testing::HasSubstr("these tiles must have one compute model, npu"));

  Files served = together(
      machine, {tenant("chat", "0-7", serving.lines), tenant("steps", "8-15", transformer.lines)});
  std::string& lines = served.at("lab/experiment.yaml");
  lines.insert(lines.find("workload:"), types);
  EXPECT_EQ(run_it(served).tenants.at(0).end_ps,
            run_it(alone(machine_for(serving, 2), serving)).simulated_time_ps);
  lines = replaced(replaced(lines, "tiles: 0-7", "tiles: 4-11"), "tiles: 8-15", "tiles: 12-15");
  EXPECT_THAT(complaint_of(served),
              ::testing::HasSubstr("served by NPU cores or by tiles of other models, not by both; "
                                   "these tiles must have one compute model"));
}

// Messages of rings that nobody disturbs are not simulated one by one: those of several tenants
// must not be taken for each other.
TEST(TenantsTogether, HaveRingsOfTheirOwn) {
  const auto files = [](const std::string& steps) {
    const std::string lines =
        "workload: {kind: collective, collective: all-reduce, size: 3 MB, repeat: 3}\n";
    Files made = together(Machine{}, {tenant("a", "0-3", lines), tenant("b", "4-7", lines)});
    std::string& text = made.at("lab/experiment.yaml");
    text =
        "machine:\n"
        "  topology:\n"
        "    kind: graph\n"
        "    nodes: [{name: xpu, count: 8}, {name: hub, kind: switch}]\n"
        "    links: [{from: xpu, to: hub, bandwidth: 100 GB/s, latency: 200 ns}]\n"
        "  network: {model: flow, pairs: in-turn, uncontended_steps: " +
        steps + "}\n" + text.substr(text.find("workload:"));
    return made;
  };
  const trace::Summary expected = run_it(files("each"));
  const trace::Summary summary = run_it(files("lumped"));
  ASSERT_EQ(summary.status, "finished");
  EXPECT_EQ(summary.result_digest, expected.result_digest);
  EXPECT_LT(summary.events, expected.events);
}

// Small traffic is not a short time: what the annealing alone finds here is 4.4 % slower than
// `linear`.
TEST(TenantsTogether, OptimizedPlacementsAreNoSlowerThanNamedOnes) {
  const auto time = [](const std::string& placement) {
    return run_it({{"lab/experiment.yaml",
                    "machine:\n"
                    "  topology: {kind: mesh, rows: 7, columns: 8, bandwidth: 50 GB/s, latency: 2 "
                    "ns}\n"
                    "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MiB}\n"
                    "  dram: {at: none}\n"
                    "workload:\n  kind: tenants\n  tenants:\n" +
                        tenant("one", "0-47",
                               "workload: {kind: transformer, layers: 4, hidden: 128, heads: 8, "
                               "sequence: 64, vocabulary: 128, batch: 8}\n"
                               "strategy: {pipeline: 2, tensor: 8, data: 2, placement: {" +
                                   placement + "}}\n") +
                        tenant("two", "48-55",
                               "workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, "
                               "sequence: 16, vocabulary: 50, batch: 4}\n"
                               "strategy: {tensor: 4, pipeline: 2}\n") +
                        "run: {trace: none}\n"}})
        .tenants[0]
        .end_ps;
  };
  const auto optimized = time("layout: optimized, moves: 200000");
  for (const std::string name : {"line", "s-shape", "linear"}) {
    EXPECT_LE(optimized, time("layout: " + name)) << name;
  }
}

TEST(TenantsTogether, AreToldApartInTheSummary) {
  const trace::Summary summary =
      run_it(together(Machine{}, {tenant("chat", "0-7", transformer.lines),
                                  tenant("sync", "8-11", collective.lines)}));
  std::vector<std::string> parts;
  for (const trace::Breakdown& row : summary.breakdown) {
    parts.push_back(row.name);
  }
  EXPECT_THAT(parts, ::testing::ElementsAre("total", "chat/stage 0", "chat/stage 1", "sync/all"));
  EXPECT_EQ(summary.tiles, 12U);
  EXPECT_EQ(summary.tenants[1].iterations, 1U);
}

TEST(TenantsTogether, SayWhichKeysHaveNoEffect) {
  const auto of = [](const std::string& mode, const std::string& strategy) {
    return "workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, "
           "vocabulary: 50, batch: 4, mode: " +
           mode + "}\nstrategy: {" + strategy + "}\n";
  };
  const Experiment experiment = read(
      together(Machine{}, {tenant("one", "0-3", of("training", "pipeline: 2, boundary: scattered")),
                           tenant("two", "4-7", of("inference", "data: 2, zero: 1"))}));
  EXPECT_THAT(
      experiment.notes,
      ::testing::ElementsAre("workload.tenants[0].strategy.boundary has no effect with tensor: 1",
                             "workload.tenants[1].strategy.zero has no effect with inference, "
                             "which shards only weights (zero: 3)"));
}

// As with a system that serves alone, its models are told apart; two systems may call them alike.
TEST(TenantsTogether, AreServedByNames) {
  Machine machine;
  machine.compute = npu_keys;
  const trace::Summary expected = run_it(alone(machine_for(serving, 2), serving));
  const Files files =
      together(machine, {tenant("first", "0-7", serving.lines),
                         tenant("second", "8-15", serving.lines + "start: 9 us\n")});
  for (const int ranks : {1, 3}) {
    const trace::Summary summary = run_it(files, ranks);
    ASSERT_EQ(summary.services.size(), 4U);
    EXPECT_EQ(summary.services[0].tenant, "first/cut");
    EXPECT_EQ(summary.services[3].tenant, "second/one");
    for (std::size_t i = 0; i < summary.services.size(); ++i) {
      const trace::Service& own = expected.services.at(i % 2);
      EXPECT_EQ(summary.services[i].served, own.served);
      EXPECT_EQ(summary.services[i].latency.mean, own.latency.mean);
      EXPECT_EQ(summary.services[i].between_tokens.p95, own.between_tokens.p95);
      EXPECT_EQ(summary.services[i].late_requests, own.late_requests);
    }
  }
}

TEST(TenantsTogether, AreServedOnce) {
  Machine machine;
  machine.compute = npu_keys;
  Files files = together(
      machine, {tenant("chat", "0-7", serving.lines), tenant("steps", "8-15", transformer.lines)});
  std::string& text = files.at("lab/experiment.yaml");
  text = replaced(text, "trace: none", "trace: none, iterations: 2");
  const Experiment experiment = read(files);
  EXPECT_EQ(experiment.jobs[0].job->iterations, 1U);
  EXPECT_EQ(experiment.jobs[1].job->iterations, 2U);
  EXPECT_THAT(
      complaint_of(together(machine, {tenant("chat", "0-7", serving.lines + "iterations: 2\n")})),
      ::testing::HasSubstr("iterations: requests are served once"));
}

TEST(TenantsTogether, WeighWhatTheyDo) {
  Machine machine;
  machine.compute = npu_keys;
  const Experiment experiment =
      read(together(machine, {tenant("chat", "0-7", transformer.lines + "iterations: 3\n"),
                              tenant("chip", "8-11", operators.lines)}));
  const std::vector<std::uint64_t> events = predicted_events(experiment);
  EXPECT_GT(events[0], events[12]);
  EXPECT_GT(events[8], events[12]);
}

}  // namespace
}  // namespace tessera::sim::tenants_test
